"""The kinds of record that a tenant has: its packs' own, and those that everybody has."""

from dataclasses import replace
from uuid import UUID

from parlour.infra.errors import InvalidRequest
from parlour.infra.postgres import Transaction
from parlour.knowledge.records import store
from parlour.knowledge.records.definition import Definition
from parlour.knowledge.records.kinds import KINDS
from parlour.knowledge.records.record import shown
from parlour.text.suggestions import listed, meant


def definitions(tx: Transaction) -> dict[str, Definition]:
    """Every kind by its key, in order."""
    known = {**KINDS, **{kind.key: _in_force(kind) for kind in store.entity_types(tx)}}
    return dict(sorted(known.items()))


def definition(tx: Transaction, key: str) -> Definition:
    """One kind; InvalidRequest when there is none of that key, with the one that is spelt like it."""
    if found := store.entity_type(tx, key[:100].replace("\0", "").encode(errors="ignore").decode()):
        return _in_force(found)
    if key in KINDS:
        return KINDS[key]
    kinds = definitions(tx)
    raise InvalidRequest(f"type: there is no kind '{shown(key)}'{meant(key, kinds)} (there are: {listed(kinds, 30)})")


def by_id(tx: Transaction, type_id: UUID) -> Definition | None:
    """The kind whose row that is."""
    found = store.entity_type_by_id(tx, type_id)
    return _in_force(found) if found else None


def defined(tx: Transaction) -> dict[str, Definition]:
    """The kinds that the tenant's packs say themselves, by key: Parlour never changes those."""
    return {kind.key: kind for kind in store.entity_types(tx) if not kind.ours}


def _in_force(kind: Definition) -> Definition:
    """A kind of everybody's is what this Parlour says, whatever an older one has put into its row."""
    said = KINDS.get(kind.key) if kind.ours else None
    if said is None:
        return kind
    return replace(said, version=kind.version, id=kind.id, ours=True, behind=kind.config != said.config)
