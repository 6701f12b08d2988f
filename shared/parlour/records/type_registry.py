"""The kinds of record that a tenant has: its packs' own, and those that everybody has."""

from dataclasses import replace
from uuid import UUID

from parlour.infra.errors import InvalidRequest
from parlour.infra.postgres import Transaction
from parlour.records import store
from parlour.records.built_in_types import BUILT_IN_TYPES
from parlour.records.record import printable_reference
from parlour.records.record_type import RecordType
from parlour.text.spelling_suggestions import did_you_mean, list_options


def list_record_types(tx: Transaction) -> dict[str, RecordType]:
    """Every kind by its key, in order."""
    known = {**BUILT_IN_TYPES, **{kind.key: _as_current_version(kind) for kind in store.list_record_types(tx)}}
    return dict(sorted(known.items()))


def get_record_type(tx: Transaction, type_key: str) -> RecordType:
    """One kind; InvalidRequest when there is none of that key, with the one that is spelt like it."""
    if found := store.find_record_type(tx, type_key[:100].replace("\0", "").encode(errors="ignore").decode()):
        return _as_current_version(found)
    if type_key in BUILT_IN_TYPES:
        return BUILT_IN_TYPES[type_key]
    kinds = list_record_types(tx)
    raise InvalidRequest(
        f"type: unknown type '{printable_reference(type_key)}'{did_you_mean(type_key, kinds)}"
        f" (available: {list_options(kinds, 30)})"
    )


def find_record_type_by_id(tx: Transaction, type_id: UUID) -> RecordType | None:
    """Return the type whose row that is."""
    found = store.find_record_type_by_id(tx, type_id)
    return _as_current_version(found) if found else None


def list_used_types(tx: Transaction) -> frozenset[str]:
    """Return the keys of the types that have records, deleted ones included."""
    return store.list_used_types(tx)


def list_pack_record_types(tx: Transaction) -> dict[str, RecordType]:
    """Return the types that the tenant's packs define, by key; Parlour never changes those."""
    return {kind.key: kind for kind in store.list_record_types(tx) if not kind.is_built_in}


def _as_current_version(kind: RecordType) -> RecordType:
    """Return a built-in type as this release defines it, whatever an older release wrote into its row."""
    said = BUILT_IN_TYPES.get(kind.key) if kind.is_built_in else None
    if said is None:
        return kind
    return replace(said, version=kind.version, id=kind.id, is_built_in=True, is_outdated=kind.config != said.config)
