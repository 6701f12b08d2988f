"""The console's addresses of what replies and Pulses cite."""

from collections.abc import Collection

from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.records import store


def find_citation_links(principal: Principal, tx: Transaction, source_ids: Collection[str]) -> dict[str, str]:
    """Return the console's addresses of sources, by `table/id`; one that was deleted or is restricted has none.

    Only who may read records has such pages: a visitor and a member without a role get no address.
    """
    if not source_ids or not (principal.has_role("viewer") or principal.has_role("editor")):
        return {}
    found = store.find_citation_targets(tx, sorted(source_ids), principal.clearance)
    return {target.source_id: target.link for target in found if target.link}
