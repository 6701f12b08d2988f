"""The notes as candidates for a prompt: one line each, what is open first, what is settled last. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from parlour.memory.agent_state.agent_state import AgentState, ItemStatus
from parlour.prompts.assembly.segment import Item, Source, SourceKind

_STATUS_LABELS: Mapping[ItemStatus, str] = {"active": "open", "resolved": "done", "discarded": "given up"}

_OPEN_SCORE, _RECORDS_SCORE, _LINKS_SCORE, _SETTLED_SCORE = 0.9, 0.6, 0.4, 0.1
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
    items: list[Item] = []
    for place, line in enumerate((*_item_lines(state), *_understanding_lines(state))):
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


def _understanding_lines(state: AgentState) -> Iterator[_StateLine]:
    known = state.current_understanding
    if entities := known.entities[-_MAX_NAMED:]:
        records = ", ".join(f"{one.id} {one.name}" if one.name else one.id for one in entities)
        yield _StateLine("entities", f"- records: {records}", _RECORDS_SCORE, [one.id for one in entities])
    if links := known.dependencies[-_MAX_NAMED:]:
        named = ", ".join(f"{one.source} {one.rel or '->'} {one.target}" for one in links)
        ends = list(dict.fromkeys(end for one in links for end in (one.source, one.target)))
        yield _StateLine("dependencies", f"- links: {named}", _LINKS_SCORE, ends)
