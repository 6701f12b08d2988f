"""The notes as candidates for a prompt: one line each, what is open first, what is settled last. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from parlour.context.segment import Item, Lot, Source
from parlour.memory.state.shape import Assumption, Dependency, Entity, State, StateItem

_STATUS = {"active": "open", "resolved": "done", "discarded": "given up"}

_OPEN, _ASSUMED, _EXPECTED, _RECORDS, _POSSIBLE, _LINKED, _REFUTED, _SETTLED = 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.2, 0.1
"""The lower a line's score, the earlier it gives way: resolved items first (design section 7, layer 8)."""

_LATEST = 12
"""Records and links that are named, the latest."""

_LATER = 0.001
"""By how much a line is worth more than the one of its kind before it."""


@dataclass(frozen=True, slots=True)
class _Line:
    """name: of the note within the state; handles: of the records that it names; summaries: that it came with."""

    name: str
    text: str
    score: float
    handles: Iterable[str] = ()
    summaries: Iterable[int] = ()


def lines(state: State, session_id: UUID, version: int) -> list[Item]:
    """The notes, each an item of layer 8; with the summaries that it came with and the records that it names, since it
    is to be withheld with them."""
    told = [*_items(state), *_assumed(state), *_expected(state), *_possible(state), *_understood(state)]
    return [_item(line, place, Source("agent_states", f"{session_id}/{line.name}", version))
            for place, line in enumerate(told)]  # fmt: skip


def _item(line: _Line, place: int, source: Source) -> Item:
    records = [Source("handles", one) for one in line.handles]
    also = (*records, *(Source("summaries", str(one)) for one in line.summaries))
    return Item(Lot.STATE, line.text, source, score=line.score + place * _LATER, title=f"note: {line.name}", also=also)


def _items(state: State) -> Iterator[_Line]:
    for item in sorted(state.items, key=lambda one: one.status != "active"):
        score = _OPEN if item.status == "active" else _SETTLED
        yield _Line(f"items/{item.id}", _told(item), score, _records(item), item.summaries)


def _told(item: StateItem) -> str:
    details = f": {item.details}" if item.details else ""
    became = f" -> {item.promoted}" if item.promoted else ""
    others = [one for one in item.related_entity_ids if one != item.promoted]
    named = f" ({', '.join(others)})" if others else ""
    return f"- {_STATUS[item.status]} {item.kind} {item.id}: {item.title}{details}{named}{became}"


def _records(item: StateItem) -> list[str]:
    return list(dict.fromkeys((*item.related_entity_ids, *([item.promoted] if item.promoted else []))))


def _assumed(state: State) -> Iterator[_Line]:
    for one in state.assumptions:
        score = _ASSUMED if one.confidence else _REFUTED
        yield _Line(f"assumptions/{one.id}", _assumption(one), score, summaries=one.summaries)


def _assumption(one: Assumption) -> str:
    if not one.confidence:
        return f"- refuted {one.id}: {one.hypothesis}"
    because = f" (since {'; '.join(one.evidence)})" if one.evidence else ""
    return f"- assumed {one.id}, {one.confidence:.0%}: {one.hypothesis}{because}"


def _expected(state: State) -> Iterator[_Line]:
    for place, one in enumerate(state.expectations):
        always = f"; always: {one.invariant}" if one.invariant else ""
        text = f"- expected of {one.action}: {one.expected_outcome}{always}"
        yield _Line(f"expectations/{place}", text, _EXPECTED, summaries=one.summaries)


def _possible(state: State) -> Iterator[_Line]:
    for one in state.tentative_hypotheses:
        because = f" ({one.reason})" if one.reason else ""
        text = f"- possible {one.id}: {one.hypothesis}{because}"
        yield _Line(f"tentative_hypotheses/{one.id}", text, _POSSIBLE, summaries=one.summaries)


def _understood(state: State) -> Iterator[_Line]:
    known = state.current_understanding
    if entities := known.entities[-_LATEST:]:
        text = f"- records: {', '.join(map(_named, entities))}"
        yield _Line("entities", text, _RECORDS, [one.id for one in entities])
    if links := known.dependencies[-_LATEST:]:
        ends = list(dict.fromkeys(end for one in links for end in (one.source, one.target)))
        yield _Line("dependencies", f"- links: {', '.join(map(_linked, links))}", _LINKED, ends)


def _named(one: Entity) -> str:
    return f"{one.id} {one.name}" if one.name else one.id


def _linked(one: Dependency) -> str:
    return f"{one.source} {one.rel or '->'} {one.target}"
