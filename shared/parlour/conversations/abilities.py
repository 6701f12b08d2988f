"""What an agent can do for the user of a turn, as its prompt has rules for it. Pure."""

from collections.abc import Mapping, Sequence

from parlour.prompts.assembly.tiers import Abilities, HandoffTarget
from parlour.records.type_lines import KnownTypes, render_type_lines
from parlour.tools.builtin.definitions import CREATE_ENTITY, LINK_ENTITIES, LIST_ENTITIES, UPDATE_ENTITY

_TYPED_TOOLS = frozenset({CREATE_ENTITY.name, LIST_ENTITIES.name, UPDATE_ENTITY.name})
"""The tools whose arguments name types and properties."""


def abilities_of(
    tools: Mapping[str, bool],
    types: KnownTypes,
    *,
    is_unverified: bool,
    refused_tools: Sequence[str] = (),
    handoff_targets: Sequence[HandoffTarget] = (),
) -> Abilities:
    """Return the abilities that come with the tools: whether each changes something, by its name."""
    can_link = not tools.keys().isdisjoint({CREATE_ENTITY.name, LINK_ENTITIES.name})
    has_types = can_link or not tools.keys().isdisjoint(_TYPED_TOOLS)
    lines = render_type_lines(types, can_link=can_link) if has_types else []
    return Abilities(
        tools=frozenset(tools),
        writing_tools=frozenset(name for name, writes in tools.items() if writes),
        refused_tools=tuple(refused_tools),
        is_unverified=is_unverified,
        type_lines=lines,
        handoff_targets=tuple(handoff_targets),
    )
