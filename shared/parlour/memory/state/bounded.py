"""Notes with one more among them, within their bounds: what is settled makes room, what is open never does. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from parlour.memory.state.shape import (
    MOST_ASSUMPTIONS,
    MOST_DEPENDENCIES,
    MOST_ENTITIES,
    MOST_EXPECTATIONS,
    MOST_HYPOTHESES,
    MOST_ITEMS,
    Assumption,
    Dependency,
    Entity,
    Expectation,
    Hypothesis,
    State,
    StateItem,
    Understanding,
    words_of,
)


def with_entities(state: State, entities: Iterable[Entity]) -> State:
    """With these records, the latest last; a name that is not given stays."""
    known = {one.id: one for one in state.current_understanding.entities}
    for one in entities:
        before = known.pop(one.id, one)
        known[one.id] = one if one.name else replace(one, name=before.name)
    kept = tuple(known.values())[-MOST_ENTITIES:]
    return _understood(state, kept, state.current_understanding.dependencies)


def with_dependencies(state: State, links: Iterable[Dependency]) -> State:
    """With these links, the latest last."""
    kept = tuple({**dict.fromkeys(state.current_understanding.dependencies), **dict.fromkeys(links)})
    return _understood(state, state.current_understanding.entities, kept[-MOST_DEPENDENCIES:])


def without_dependencies(state: State, links: Sequence[Dependency]) -> State:
    """Without these links."""
    kept = tuple(one for one in state.current_understanding.dependencies if one not in links)
    return _understood(state, state.current_understanding.entities, kept)


def with_assumption(state: State, one: Assumption) -> State | None:
    """With it, in the place of the one of its id; where there is no room, the oldest that is refuted gives way to it,
    and None when none is."""
    if any(other.id == one.id for other in state.assumptions):
        kept = tuple(one if other.id == one.id else other for other in state.assumptions)
        return replace(state, assumptions=kept)
    others = state.assumptions
    if len(others) >= MOST_ASSUMPTIONS:
        refuted = next((other for other in others if not other.confidence), None)
        if refuted is None:
            return None
        others = tuple(other for other in others if other is not refuted)
    tentative = tuple(
        other for other in state.tentative_hypotheses if words_of(other.hypothesis) != words_of(one.hypothesis)
    )
    return replace(state, assumptions=(*others, one), tentative_hypotheses=tentative)


def with_expectation(state: State, one: Expectation) -> State:
    """With it, in the place of what was expected of the same action; nothing is expected any more of one without an
    outcome."""
    others = tuple(other for other in state.expectations if words_of(other.action) != words_of(one.action))
    kept = (*others, one) if one.expected_outcome else others
    return replace(state, expectations=kept[-MOST_EXPECTATIONS:])


def with_hypothesis(state: State, one: Hypothesis) -> State:
    """With it, in the place of the one of its id; one without words is given up."""
    others = tuple(other for other in state.tentative_hypotheses if other.id != one.id)
    kept = (*others, one) if one.hypothesis else others
    return replace(state, tentative_hypotheses=kept[-MOST_HYPOTHESES:])


def with_item(state: State, item: StateItem) -> State | None:
    """With a new item; where there is no room, the one that was settled longest ago goes, and None when all are
    open."""
    items = state.items
    if len(items) >= MOST_ITEMS:
        settled = [one for one in items if one.status != "active"]
        if not settled:
            return None
        oldest = min(settled, key=lambda one: one.updated_at)
        items = tuple(one for one in items if one is not oldest)
    return replace(state, items=(*items, item))


def free_id(state: State) -> str:
    """An id that no item has."""
    taken = {one.id for one in state.items}
    return next(name for number in range(1, len(taken) + 2) if (name := f"i{number}") not in taken)


def _understood(state: State, entities: tuple[Entity, ...], links: tuple[Dependency, ...]) -> State:
    return replace(state, current_understanding=Understanding(entities, links))
