"""Notes with one more among them, within their bounds: what is settled makes room, what is open never does. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from parlour.memory.agent_state.agent_state import (
    MAX_ASSUMPTIONS,
    MAX_DEPENDENCIES,
    MAX_ENTITIES,
    MAX_EXPECTATIONS,
    MAX_HYPOTHESES,
    MAX_ITEMS,
    AgentState,
    Assumption,
    Dependency,
    Entity,
    Expectation,
    Hypothesis,
    StateItem,
    Understanding,
    title_words,
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


def set_assumption(state: AgentState, assumption: Assumption) -> AgentState | None:
    """With it, in the place of the one of its id; where there is no room, the oldest that is refuted gives way to it,
    and None when none is."""
    if any(other.id == assumption.id for other in state.assumptions):
        kept = tuple(assumption if other.id == assumption.id else other for other in state.assumptions)
        return replace(state, assumptions=kept)
    others = state.assumptions
    if len(others) >= MAX_ASSUMPTIONS:
        refuted = next((other for other in others if not other.confidence), None)
        if refuted is None:
            return None
        others = tuple(other for other in others if other is not refuted)
    tentative = tuple(
        other
        for other in state.tentative_hypotheses
        if title_words(other.hypothesis) != title_words(assumption.hypothesis)
    )
    return replace(state, assumptions=(*others, assumption), tentative_hypotheses=tentative)


def set_expectation(state: AgentState, expectation: Expectation) -> AgentState:
    """With it, in the place of what was expected of the same action; nothing is expected any more of one without an
    outcome."""
    others = tuple(
        other for other in state.expectations if title_words(other.action) != title_words(expectation.action)
    )
    kept = (*others, expectation) if expectation.expected_outcome else others
    return replace(state, expectations=kept[-MAX_EXPECTATIONS:])


def set_hypothesis(state: AgentState, hypothesis: Hypothesis) -> AgentState:
    """With it, in the place of the one of its id; one without words is given up."""
    others = tuple(other for other in state.tentative_hypotheses if other.id != hypothesis.id)
    kept = (*others, hypothesis) if hypothesis.hypothesis else others
    return replace(state, tentative_hypotheses=kept[-MAX_HYPOTHESES:])


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
