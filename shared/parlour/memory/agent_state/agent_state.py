"""An agent's notes on one conversation, as they are kept (`agent_states.state`) and bounded. Pure.

{"current_understanding": {"entities": [...], "dependencies": [...]}, "items": [...]}: the names and the fields are
section 8.6 of the agent's specification; what Parlour adds is `summaries` (what an item rests on) and `promoted`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from parlour.infra import json_values
from parlour.infra.json_values import JsonObject
from parlour.text.words import word_parts

type ItemKind = Literal["task", "doc", "note", "idea", "question"]
type ItemStatus = Literal["active", "resolved", "discarded"]

ITEM_KINDS: tuple[ItemKind, ...] = get_args(ItemKind.__value__)
ITEM_STATUSES: tuple[ItemStatus, ...] = get_args(ItemStatus.__value__)

MAX_ENTITIES, MAX_DEPENDENCIES = 40, 40
MAX_ITEMS = 32
"""How much of each kind is kept: at the most characters of each some 20 kB, of which a prompt takes 400 tokens."""

MAX_NAME_CHARS, MAX_DETAILS_CHARS = 120, 400
"""Characters."""

MAX_SUMMARIES = 4
"""Summaries that one note may rest on. One that would rest on more has to be told anew, as a whole."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A record that the conversation deals with; `id` is its handle."""

    id: str
    kind: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Dependency:
    """How one record hangs together with another; both ends are handles."""

    source: str
    target: str
    rel: str = ""


@dataclass(frozen=True, slots=True)
class StateItem:
    """Something in flux that is no record yet; `created_at` and `updated_at` as ISO 8601.

    promoted  the handle of the record that came of it.
    """

    id: str
    kind: ItemKind
    title: str
    created_at: str
    updated_at: str
    details: str = ""
    status: ItemStatus = "active"
    related_entity_ids: tuple[str, ...] = ()
    promoted: str = ""
    summaries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Understanding:
    """The records that the conversation deals with, the latest last, and how they hang together."""

    entities: tuple[Entity, ...] = ()
    dependencies: tuple[Dependency, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentState:
    """All notes on one conversation. `summaries` of a note: the versions of those that were written when a summariser
    gave it, which know what it was drawn from; what a tool did to records names those instead."""

    current_understanding: Understanding = field(default_factory=Understanding)
    items: tuple[StateItem, ...] = ()

    @property
    def handles(self) -> set[str]:
        """Every record that a note names."""
        known = self.current_understanding
        ends = {end for one in known.dependencies for end in (one.source, one.target)}
        related = {one for item in self.items for one in (*item.related_entity_ids, item.promoted) if one}
        return {one.id for one in known.entities} | ends | related


EMPTY_STATE = AgentState()


def to_json(state: AgentState) -> JsonObject:
    """Return the state as stored JSON, without empty fields."""
    return json_values.to_json(state)


def from_json(stored: JsonObject) -> AgentState:
    """Return the state that `to_json` stored."""
    return json_values.from_json(AgentState, stored)


def clean_line(text: object, max_chars: int) -> str:
    """Return the text as one line of at most `max_chars`, without NUL; "" for anything but a text."""
    plain = text.replace("\0", " ").encode("utf-8", "ignore").decode() if isinstance(text, str) else ""
    line = " ".join(plain.split())
    return line if len(line) <= max_chars else line[: max_chars - 1].rstrip() + "…"


def title_words(text: str) -> tuple[str, ...]:
    """Return the folded words by which two titles are compared."""
    return tuple(word.casefold() for word in word_parts(text))


def without_summaries(state: AgentState, summary_versions: set[int]) -> AgentState:
    """Return the state without the items that came with one of these summary versions."""
    return replace(state, items=tuple(item for item in state.items if summary_versions.isdisjoint(item.summaries)))


def without_provenance(state: AgentState) -> AgentState:
    """Return the state without the summary versions of its items, as models read it."""
    return replace(state, items=tuple(replace(item, summaries=()) for item in state.items))


def restrict_to_records(state: AgentState, visible_handles: set[str]) -> AgentState:
    """Return the state without mentions of records that are not in `visible_handles`; its items stay."""
    known = state.current_understanding
    entities = tuple(one for one in known.entities if one.id in visible_handles)
    links = tuple(one for one in known.dependencies if {one.source, one.target} <= visible_handles)
    items = tuple(_restrict_item(one, visible_handles) for one in state.items)
    return replace(state, current_understanding=Understanding(entities, links), items=items)


def _restrict_item(item: StateItem, visible_handles: set[str]) -> StateItem:
    related = tuple(one for one in item.related_entity_ids if one in visible_handles)
    return replace(item, related_entity_ids=related, promoted=item.promoted if item.promoted in visible_handles else "")


def set_entities(state: AgentState, entities: Iterable[Entity]) -> AgentState:
    """Return the notes with these records, the latest last; a name that is not given stays."""
    entities_by_id = {entity.id: entity for entity in state.current_understanding.entities}
    for entity in entities:
        previous = entities_by_id.pop(entity.id, entity)
        entities_by_id[entity.id] = entity if entity.name else replace(entity, name=previous.name)
    return _set_understanding(
        state, tuple(entities_by_id.values())[-MAX_ENTITIES:], state.current_understanding.dependencies
    )


def add_dependencies(state: AgentState, links: Iterable[Dependency]) -> AgentState:
    """Return the notes with these links, the latest last."""
    dependencies = tuple({**dict.fromkeys(state.current_understanding.dependencies), **dict.fromkeys(links)})
    return _set_understanding(state, state.current_understanding.entities, dependencies[-MAX_DEPENDENCIES:])


def remove_dependencies(state: AgentState, links: Sequence[Dependency]) -> AgentState:
    """Return the notes without these links."""
    dependencies = tuple(link for link in state.current_understanding.dependencies if link not in links)
    return _set_understanding(state, state.current_understanding.entities, dependencies)


def add_item(state: AgentState, new_item: StateItem) -> AgentState | None:
    """Return the notes with a new item. If they are full, the item that was settled longest ago is removed; None when
    all items are open."""
    items = state.items
    if len(items) >= MAX_ITEMS:
        settled = [item for item in items if item.status != "active"]
        if not settled:
            return None
        oldest = min(settled, key=lambda item: item.updated_at)
        items = tuple(item for item in items if item is not oldest)
    return replace(state, items=(*items, new_item))


def next_item_id(state: AgentState) -> str:
    """Return an id that no item has."""
    item_ids = {item.id for item in state.items}
    return next(name for number in range(1, len(item_ids) + 2) if (name := f"i{number}") not in item_ids)


def _set_understanding(state: AgentState, entities: tuple[Entity, ...], links: tuple[Dependency, ...]) -> AgentState:
    return replace(state, current_understanding=Understanding(entities, links))
