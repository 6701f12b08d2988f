"""The notes as candidates for a prompt: one line each, what is open first, what is settled last. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from parlour.memory.agent_state.agent_state import AgentState, ItemStatus
from parlour.prompts.assembly.segment import Item, Source, SourceKind

_STATUS_LABELS: Mapping[ItemStatus, str] = {"active": "open", "resolved": "done", "discarded": "given up"}

(
    _OPEN_SCORE,
    _ASSUMPTION_SCORE,
    _EXPECTATION_SCORE,
    _RECORDS_SCORE,
    _HYPOTHESIS_SCORE,
    _LINKS_SCORE,
    _REFUTED_SCORE,
    _SETTLED_SCORE,
) = 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.2, 0.1
"""The lower a line's score, the earlier it gives way: resolved items first (design section 7, layer 8)."""

_MAX_NAMED = 12
"""Records and links that are named, the latest."""

_POSITION_WEIGHT = 0.001
"""By how much a line is worth more than the one of its kind before it."""


@dataclass(frozen=True, slots=True)
class _StateLine:
    """name: of the note within the state; handles: of the records that it names; summaries: that it came with."""

    path: str
    text: str
    score: float
    handles: Iterable[str] = ()
    summaries: Iterable[int] = ()


def render_items(state: AgentState, session_id: UUID, version: int) -> list[Item]:
    """Return the notes as items of layer 8.

    Each names its summary versions and its records, so that it is withheld together with them.
    """
    told = [
        *_item_lines(state),
        *_assumption_lines(state),
        *_expectation_lines(state),
        *_hypothesis_lines(state),
        *_understanding_lines(state),
    ]
    items: list[Item] = []
    for place, line in enumerate(told):
        records = [Source("handles", one) for one in line.handles]
        summaries = [Source("summaries", str(one)) for one in line.summaries]
        items.append(
            Item(
                SourceKind.STATE,
                line.text,
                Source("agent_states", f"{session_id}/{line.path}", version),
                score=line.score + place * _POSITION_WEIGHT,
                title=f"note: {line.path}",
                further_sources=(*records, *summaries),
            )
        )
    return items


def _item_lines(state: AgentState) -> Iterator[_StateLine]:
    for item in sorted(state.items, key=lambda one: one.status != "active"):
        score = _OPEN_SCORE if item.status == "active" else _SETTLED_SCORE
        details = f": {item.details}" if item.details else ""
        became = f" -> {item.promoted}" if item.promoted else ""
        others = [one for one in item.related_entity_ids if one != item.promoted]
        named = f" ({', '.join(others)})" if others else ""
        item_text = f"- {_STATUS_LABELS[item.status]} {item.kind} {item.id}: {item.title}{details}{named}{became}"
        yield _StateLine(
            f"items/{item.id}",
            item_text,
            score,
            list(dict.fromkeys((*item.related_entity_ids, *([item.promoted] if item.promoted else [])))),
            item.summaries,
        )


def _assumption_lines(state: AgentState) -> Iterator[_StateLine]:
    for one in state.assumptions:
        if one.confidence:
            because = f" (since {'; '.join(one.evidence)})" if one.evidence else ""
            text, score = f"- assumed {one.id}, {one.confidence:.0%}: {one.hypothesis}{because}", _ASSUMPTION_SCORE
        else:
            text, score = f"- refuted {one.id}: {one.hypothesis}", _REFUTED_SCORE
        yield _StateLine(f"assumptions/{one.id}", text, score, summaries=one.summaries)


def _expectation_lines(state: AgentState) -> Iterator[_StateLine]:
    for place, one in enumerate(state.expectations):
        always = f"; always: {one.invariant}" if one.invariant else ""
        text = f"- expected of {one.action}: {one.expected_outcome}{always}"
        yield _StateLine(f"expectations/{place}", text, _EXPECTATION_SCORE, summaries=one.summaries)


def _hypothesis_lines(state: AgentState) -> Iterator[_StateLine]:
    for one in state.tentative_hypotheses:
        because = f" ({one.reason})" if one.reason else ""
        text = f"- possible {one.id}: {one.hypothesis}{because}"
        yield _StateLine(f"tentative_hypotheses/{one.id}", text, _HYPOTHESIS_SCORE, summaries=one.summaries)


def _understanding_lines(state: AgentState) -> Iterator[_StateLine]:
    known = state.current_understanding
    if entities := known.entities[-_MAX_NAMED:]:
        records = ", ".join(f"{one.id} {one.name}" if one.name else one.id for one in entities)
        yield _StateLine("entities", f"- records: {records}", _RECORDS_SCORE, [one.id for one in entities])
    if links := known.dependencies[-_MAX_NAMED:]:
        named = ", ".join(f"{one.source} {one.rel or '->'} {one.target}" for one in links)
        ends = list(dict.fromkeys(end for one in links for end in (one.source, one.target)))
        yield _StateLine("dependencies", f"- links: {named}", _LINKS_SCORE, ends)
