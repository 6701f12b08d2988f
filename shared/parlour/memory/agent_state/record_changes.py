"""Changes of records by a turn's tools, applied to the agent's notes at once and without a model. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from parlour.infra.json_values import JsonObject
from parlour.memory.agent_state import agent_state
from parlour.memory.agent_state.agent_state import (
    MAX_NAME_CHARS,
    AgentState,
    Dependency,
    Entity,
    clean_line,
    title_words,
)
from parlour.text.similarity import jaccard_similarity
from parlour.tools.builtin.operations import RecordOperation, read_operations
from parlour.tools.tool_definition import Tool

#: The share of all their words that an item and the record made from it have in common: four of five and five.
_MIN_TITLE_SIMILARITY = 0.66


@dataclass(frozen=True, slots=True)
class RecordChanges:
    """The record operations of one call, in order, and the names of the records in its result, by handle."""

    operations: tuple[RecordOperation, ...]
    names_by_handle: dict[str, str]


def record_changes_of_call(tool: Tool, result: JsonObject) -> RecordChanges | None:
    """Return the record operations of a successful call; None when there are none."""
    found = tuple(read_operations(tool, result)) if result.get("ok") is not False else ()
    if not found:
        return None
    created = result.get("entities_created")
    written = (result, *(created if isinstance(created, list) else []))
    named = [one for one in written if isinstance(one, dict) and one.get("handle") and one.get("name")]
    return RecordChanges(found, {str(one["handle"]): str(one["name"]) for one in named})


def apply_record_changes(state: AgentState, calls: Sequence[RecordChanges], now: datetime) -> AgentState:
    """Return the state after a turn's calls.

    Created, changed and linked records join its understanding. An item that became a record is resolved and names it.
    """
    for call in calls:
        for one in call.operations:
            state = _apply_operation(state, one, call.names_by_handle, now)
    return state


def _apply_operation(state: AgentState, operation: RecordOperation, names: dict[str, str], now: datetime) -> AgentState:
    match operation.action:
        case "link":
            ends = [_entity(handle, names) for handle in (operation.handle, operation.target)]
            link = Dependency(operation.handle, operation.target, operation.relation)
            return agent_state.add_dependencies(agent_state.set_entities(state, ends), [link])
        case "unlink":
            return agent_state.remove_dependencies(
                state, [Dependency(operation.handle, operation.target, operation.relation)]
            )
        case "create":
            known = agent_state.set_entities(state, [_entity(operation.handle, names)])
            open_items = [one for one in known.items if one.status == "active" and one.kind != "question"]
            words = set(title_words(names.get(operation.handle, "")))
            item = max(open_items, key=lambda one: jaccard_similarity(set(title_words(one.title)), words), default=None)
            if item is None or jaccard_similarity(set(title_words(item.title)), words) < _MIN_TITLE_SIMILARITY:
                return known
            related = tuple(dict.fromkeys((*item.related_entity_ids, operation.handle)))
            made = replace(
                item,
                status="resolved",
                promoted=operation.handle,
                related_entity_ids=related,
                updated_at=now.isoformat(),
            )
            return replace(known, items=tuple(made if one is item else one for one in known.items))
        case "update":
            return agent_state.set_entities(state, [_entity(operation.handle, names)])


def _entity(handle: str, names: dict[str, str]) -> Entity:
    return Entity(handle, handle.partition("/")[0], clean_line(names.get(handle), MAX_NAME_CHARS))
