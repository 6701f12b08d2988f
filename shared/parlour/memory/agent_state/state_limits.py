"""Notes with one more among them, within their bounds: what is settled makes room, what is open never does. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from parlour.memory.agent_state.agent_state import (
    MAX_DEPENDENCIES,
    MAX_ENTITIES,
    MAX_ITEMS,
    AgentState,
    Dependency,
    Entity,
    StateItem,
    Understanding,
)


def set_entities(state: AgentState, entities: Iterable[Entity]) -> AgentState:
    """With these records, the latest last; a name that is not given stays."""
    known = {one.id: one for one in state.current_understanding.entities}
    for one in entities:
        before = known.pop(one.id, one)
        known[one.id] = one if one.name else replace(one, name=before.name)
    kept = tuple(known.values())[-MAX_ENTITIES:]
    return _set_understanding(state, kept, state.current_understanding.dependencies)


def add_dependencies(state: AgentState, links: Iterable[Dependency]) -> AgentState:
    """With these links, the latest last."""
    kept = tuple({**dict.fromkeys(state.current_understanding.dependencies), **dict.fromkeys(links)})
    return _set_understanding(state, state.current_understanding.entities, kept[-MAX_DEPENDENCIES:])


def remove_dependencies(state: AgentState, links: Sequence[Dependency]) -> AgentState:
    """Without these links."""
    kept = tuple(one for one in state.current_understanding.dependencies if one not in links)
    return _set_understanding(state, state.current_understanding.entities, kept)


def add_item(state: AgentState, item: StateItem) -> AgentState | None:
    """With a new item; where there is no room, the one that was settled longest ago goes, and None when all are
    open."""
    items = state.items
    if len(items) >= MAX_ITEMS:
        settled = [one for one in items if one.status != "active"]
        if not settled:
            return None
        oldest = min(settled, key=lambda one: one.updated_at)
        items = tuple(one for one in items if one is not oldest)
    return replace(state, items=(*items, item))


def next_item_id(state: AgentState) -> str:
    """Return an id that no item has."""
    taken = {one.id for one in state.items}
    return next(name for number in range(1, len(taken) + 2) if (name := f"i{number}") not in taken)


def _set_understanding(state: AgentState, entities: tuple[Entity, ...], links: tuple[Dependency, ...]) -> AgentState:
    return replace(state, current_understanding=Understanding(entities, links))
