"""The kinds of record that a tenant has: its packs' own, and those that everybody has."""

from datetime import datetime
from uuid import UUID

from parlour.infra.errors import InvalidRequest
from parlour.infra.ids import NewId
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.records import store
from parlour.knowledge.records.definition import Definition
from parlour.knowledge.records.kinds import KINDS
from parlour.knowledge.records.record import shown
from parlour.knowledge.text.nearest import listed, meant
from parlour.principal import Principal, system
from parlour.tenancy import versions


def definitions(tx: Transaction) -> dict[str, Definition]:
    """Every kind by its key, in order."""
    known = {**KINDS, **{kind.key: kind for kind in store.entity_types(tx)}}
    return dict(sorted(known.items()))


def definition(tx: Transaction, key: str) -> Definition:
    """One kind; InvalidRequest when there is none of that key, with the one that is spelt like it."""
    if found := store.entity_type(tx, key[:100].replace("\0", "").encode(errors="ignore").decode()) or KINDS.get(key):
        return found
    kinds = definitions(tx)
    raise InvalidRequest(f"type: there is no kind '{shown(key)}'{meant(key, kinds)} (there are: {listed(kinds, 30)})")


def by_id(tx: Transaction, type_id: UUID) -> Definition | None:
    """The kind whose row that is."""
    return store.entity_type_by_id(tx, type_id)


def in_use(principal: Principal, tx: Transaction, key: str, now: datetime, new_id: NewId) -> Definition:
    """One kind, with a row of its own: one of everybody's kinds gets it with the first record. Errors as above."""
    found = definition(tx, key)
    if found.id is not None:
        return found
    type_id = new_id(now)
    if store.add_entity_type(tx, found, type_id, now):
        config: JsonObject = {"display_name": found.display_name, "properties": found.properties, "rag": found.rag}
        versions.record(system(principal.tenant_id), tx, "entity_type", type_id, 1, config, now, new_id)
    return definition(tx, key)
