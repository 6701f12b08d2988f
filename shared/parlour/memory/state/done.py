"""What the tools of a turn did to records, as it enters the notes at once: no model is asked. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from parlour.infra.jsonable import Json, JsonObject
from parlour.knowledge.tools.operations import Operation, operations
from parlour.memory.state import bounded
from parlour.memory.state.shape import LONGEST_NAME, Dependency, Entity, State, StateItem, clipped, words_of
from parlour.text.similarity import similarity
from parlour.tools.definition import Tool

#: The share of all their words that an item and the record made from it have in common: four of five and five.
_SAME = 0.66


@dataclass(frozen=True, slots=True)
class Done:
    """What one call did, in order, and how the records are called that its result names, by handle."""

    operations: tuple[Operation, ...]
    names: dict[str, str]


def done(tool: Tool, result: JsonObject) -> Done | None:
    """What a call that ended well did; None when that was nothing to records."""
    found = tuple(operations(tool, result)) if result.get("ok") is not False else ()
    return Done(found, dict(_names(result))) if found else None


def noted(state: State, calls: Sequence[Done], now: datetime) -> State:
    """The notes once a turn's calls are over: the records that were made, changed and linked are what it deals with,
    and an item that became a record is settled and says which."""
    for call in calls:
        for one in call.operations:
            state = _noted(state, one, call.names, now)
    return state


def _noted(state: State, one: Operation, names: dict[str, str], now: datetime) -> State:
    match one.action:
        case "link":
            ends = [_entity(handle, names) for handle in (one.handle, one.other)]
            link = Dependency(one.handle, one.other, one.relation)
            return bounded.with_dependencies(bounded.with_entities(state, ends), [link])
        case "unlink":
            return bounded.without_dependencies(state, [Dependency(one.handle, one.other, one.relation)])
        case "create":
            known = bounded.with_entities(state, [_entity(one.handle, names)])
            return _promoted(known, one.handle, names.get(one.handle, ""), now)
        case "update":
            return bounded.with_entities(state, [_entity(one.handle, names)])


def _promoted(state: State, handle: str, name: str, now: datetime) -> State:
    """The item that the record was made from, if one is called like it, is settled."""
    open_items = [one for one in state.items if one.status == "active" and one.kind != "question"]
    words = set(words_of(name))
    item = max(open_items, key=lambda one: similarity(set(words_of(one.title)), words), default=None)
    if item is None or similarity(set(words_of(item.title)), words) < _SAME:
        return state
    made = _as_record(item, handle, now)
    return replace(state, items=tuple(made if one is item else one for one in state.items))


def _as_record(item: StateItem, handle: str, now: datetime) -> StateItem:
    related = tuple(dict.fromkeys((*item.related_entity_ids, handle)))
    return replace(
        item, status="resolved", promoted=handle, related_entity_ids=related, updated_at=now.isoformat()
    )  # fmt: skip


def _entity(handle: str, names: dict[str, str]) -> Entity:
    return Entity(handle, handle.partition("/")[0], clipped(names.get(handle), LONGEST_NAME))


def _names(result: JsonObject) -> Iterator[tuple[str, str]]:
    created = result.get("entities_created")
    for one in (result, *(created if isinstance(created, list) else [])):
        if isinstance(one, dict) and (name := _name(one)):
            yield str(one["entity"]), name


def _name(one: dict[str, Json]) -> str:
    return str(one["name"]) if one.get("entity") and one.get("name") else ""
