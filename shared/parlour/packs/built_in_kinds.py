"""The kinds of record that every tenant has: a pack may have records of one without saying what it is. Pure."""

from dataclasses import replace

from parlour.knowledge.records.definition import Definition
from parlour.knowledge.records.kinds import KINDS
from parlour.packs.format import EntityType, Pack


def kinds() -> dict[str, EntityType]:
    """Each as a pack would define it, by its key."""
    return {key: _part(kind) for key, kind in KINDS.items()}


def added(pack: Pack) -> Pack:
    """The pack with the definitions of those kinds that it has records of and does not define itself."""
    used = {reference.partition("/")[0] for reference in pack.records} - pack.entity_types.keys()
    own = {key: kind for key, kind in kinds().items() if key in used}
    return replace(pack, entity_types={**pack.entity_types, **own})


def _part(kind: Definition) -> EntityType:
    config = {"display_name": kind.display_name, "properties": kind.properties, "rag": kind.rag}
    return EntityType.model_validate(config, strict=False)
