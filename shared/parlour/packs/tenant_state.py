"""The tenant as it is, in the form that a pack is compared with."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from parlour.documents.pack_import import list_pack_documents, read_documents
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.models import spend
from parlour.packs import store
from parlour.packs.drafts import DAILY_CAP_FIELD, TENANT_SETTINGS
from parlour.packs.items import (
    ConfigKind,
    ItemId,
    Items,
    document_item,
    level_of,
    of_kind,
    parse_record_key,
    record_item,
    to_link_draft,
)
from parlour.packs.merge import TenantState
from parlour.packs.plan import ConfigItem
from parlour.principal import Principal
from parlour.records import type_registry
from parlour.records.pack_import import list_pack_records, list_records_with_additions, read_records
from parlour.records.record_links import find_links
from parlour.tenancy import tenants
from parlour.tenancy.tenants import Tenant


@dataclass(frozen=True, slots=True)
class StoredTenant:
    """The tenant's rows; `tenant` is None before its first pack."""

    tenant: Tenant | None
    configuration: Mapping[tuple[ConfigKind, str], ConfigItem]
    record_ids: Mapping[ItemId, UUID]
    state: TenantState


def read_tenant(principal: Principal, tx: Transaction, wanted: Items, others: Collection[ItemId] = ()) -> StoredTenant:
    """Return the tenant's configuration, and those records, links and documents that are wanted or came with a pack."""
    tenant, configuration = tenants.find_own_tenant(tx), store.read_configuration(tx)
    rows = store.list_applied_items(tx)
    applied = {row.item: row.applied for row in rows}
    made = {ItemId("entity", str(key)) for key in list_pack_records(tx)}
    made |= {ItemId("document", key) for key in list_pack_documents(tx)}
    ids = sorted({*wanted, *others, *applied, *made})
    current: dict[ItemId, JsonObject] = {ItemId(part.kind, part.name): part.config for part in configuration.values()}
    if tenant is not None:
        current[ItemId("tenant", "tenant")] = _tenant_fields(tx, tenant, wanted)
    found = read_records(tx, [parse_record_key(item.name) for item in of_kind(ids, "entity")])
    records = {ItemId("entity", str(one.draft.key)): one for one in found}
    current |= dict(record_item(one.draft) for one in found)
    drafts = {to_link_draft(item): item for item in of_kind(ids, "edge")}
    current |= {drafts[link]: {} for link in find_links(tx, list(drafts))}
    current |= dict(map(document_item, read_documents(tx, [item.name for item in of_kind(ids, "document")])))
    unchanged = {item for item, one in records.items() if one.version == 1 and item in made}
    untouched = {item for item in current.keys() - applied.keys() if item.kind != "entity" or item in unchanged}
    record_ids = {item: one.id for item, one in records.items()}
    left_ids = {one: item for item, one in record_ids.items() if item not in wanted}
    state = TenantState(
        current,
        applied,
        left_pack=frozenset(row.item for row in rows if not row.is_in_pack),
        pack_made=frozenset(made - applied.keys()),
        untouched=frozenset(untouched),
        extended=frozenset(left_ids[one] for one in list_records_with_additions(tx, list(left_ids))),
        hidden=_find_hidden(ids, current, principal.clearance),
        in_use=dict(_find_in_use(tx, wanted, current)),
    )
    return StoredTenant(tenant, configuration, record_ids, state)


def _tenant_fields(tx: Transaction, tenant: Tenant, wanted: Items) -> JsonObject:
    """Return the tenant's fields; the daily cap only where the pack says one."""
    fields: JsonObject = {"slug": tenant.slug, "display_name": tenant.display_name}
    fields |= {name: tenant.settings.get(name, default) for name, default in TENANT_SETTINGS.items()}
    cap = spend.read_own_cap(tx)
    says_cap = DAILY_CAP_FIELD in wanted.get(ItemId("tenant", "tenant"), {})
    return {**fields, DAILY_CAP_FIELD: float(cap)} if says_cap and cap is not None else fields


def _find_in_use(tx: Transaction, wanted: Items, current: Items) -> Iterator[tuple[ItemId, str]]:
    """Yield what a prune cannot delete, with the reason."""
    agents = [config for item, config in {**current, **wanted}.items() if item.kind == "agent"]
    tools = {str(name) for config in agents if isinstance(names := config["tools"], list) for name in names}
    yield from ((ItemId("tool", name), "an agent uses it") for name in sorted(tools))
    for key in sorted(type_registry.list_used_types(tx)):
        yield ItemId("entity_type", key), "it has records, or deleted ones whose history needs it"


def _find_hidden(ids: Collection[ItemId], current: Items, clearance: int) -> frozenset[ItemId]:
    """Return the items above a clearance; a link is as high as its ends."""
    high = {item for item, fields in current.items() if level_of(fields) > clearance and item.kind != "binding"}
    names = {item.name for item in high if item.kind == "entity"}
    return frozenset(high) | {one for one in of_kind(ids, "edge") if names & {*one.name.split(" ")}}
