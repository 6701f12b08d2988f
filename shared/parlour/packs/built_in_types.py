"""The kinds of record that every tenant has: a pack may have records of one without saying what it is. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from parlour.packs.file_order import restore_file_order
from parlour.packs.format import EntityType, Pack
from parlour.records.built_in_types import BUILT_IN_TYPES
from parlour.records.record_type import RecordType


def list_built_in_types() -> dict[str, EntityType]:
    """Each as a pack would define it, by its key."""
    return {key: _to_pack_type(kind) for key, kind in BUILT_IN_TYPES.items()}


def add_built_in_types(pack: Pack, defined: Mapping[str, RecordType]) -> Pack:
    """Return the pack with the definitions of the built-in types that it has records of and does not define itself.

    A type that an earlier pack `defined` keeps that definition.
    """
    used = {reference.partition("/")[0] for reference in pack.records} - pack.entity_types.keys()
    own = {key: _to_pack_type(defined.get(key, kind)) for key, kind in BUILT_IN_TYPES.items() if key in used}
    return replace(pack, entity_types={**pack.entity_types, **own})


def _to_pack_type(kind: RecordType) -> EntityType:
    return EntityType.model_validate(restore_file_order("entity_type", kind.config), strict=False)
