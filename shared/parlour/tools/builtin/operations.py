"""What a call of these tools did to records, for whoever follows the conversation. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from parlour.infra.json_values import Json, JsonObject
from parlour.tools.builtin.definitions import (
    CREATE_ENTITY,
    GET_ENTITY,
    LINK_ENTITIES,
    LIST_ENTITIES,
    SEARCH_KNOWLEDGE,
    UPDATE_ENTITY,
)
from parlour.tools.tool_definition import Tool

ALREADY_DONE_NOTE = "This was done before."
"""What is noted of a change that the same call has made already."""

RECORD_WRITING_ENDPOINTS = frozenset({CREATE_ENTITY.endpoint, UPDATE_ENTITY.endpoint, LINK_ENTITIES.endpoint})
"""The tools that write records."""

_MAX_NAME_CHARS = 200

type Action = Literal["create", "update", "link", "unlink"]


@dataclass(frozen=True, slots=True)
class RecordOperation:
    """Something that was done to the record `handle`; of a link, `relation` and the record `other` that it leads to."""

    action: Action
    handle: str
    relation: str = ""
    target: str = ""


def read_operations(tool: Tool, result: JsonObject) -> list[RecordOperation]:
    """Return what a successful call did, in order; nothing for other tools, or when nothing changed."""
    if tool.endpoint == UPDATE_ENTITY.endpoint:
        is_done = result.get("changed") or result.get("note") == ALREADY_DONE_NOTE
        return [RecordOperation("update", str(result.get("handle")))] if is_done else []
    if tool.endpoint in (CREATE_ENTITY.endpoint, LINK_ENTITIES.endpoint):
        return [
            *(RecordOperation("create", str(one.get("handle"))) for one in _objects(result.get("entities_created"))),
            *_link_operations("link", result.get("edges_created")),
            *_link_operations("unlink", result.get("edges_removed")),
        ]
    return []


def planned_operation(tool: Tool, arguments: JsonObject) -> JsonObject | None:
    """Return what a call is about to do, by its arguments: action, entity_type and entity_name; None for other tools.

    The name of a search is its question, that of a record to be read or changed its handle, until the result has it.
    """
    planned: JsonObject | None = None
    match tool.endpoint:
        case SEARCH_KNOWLEDGE.endpoint:
            planned = _planned("search", "document", arguments.get("query"))
        case LIST_ENTITIES.endpoint:
            planned = _planned("list", arguments.get("kind") or "record", arguments.get("text"))
        case GET_ENTITY.endpoint:
            handles = arguments.get("entities")
            planned = _planned_by_handle("read", handles if isinstance(handles, list) else [])
        case CREATE_ENTITY.endpoint:
            planned = _planned("create", arguments.get("kind") or "record", arguments.get("name"))
        case UPDATE_ENTITY.endpoint:
            planned = _planned_by_handle("update", [arguments.get("entity")])
        case LINK_ENTITIES.endpoint:
            sources = [link.get("from") for link in _objects(arguments.get("links"))]
            planned = _planned_by_handle("unlink" if arguments.get("remove") is True else "link", sources)
    return planned


def _planned(action: str, entity_type: Json, name: Json) -> JsonObject:
    return {"action": action, "entity_type": str(entity_type), "entity_name": str(name or "")[:_MAX_NAME_CHARS]}


def _planned_by_handle(action: str, handles: Sequence[Json]) -> JsonObject:
    named = [one for one in handles if isinstance(one, str)]
    entity_type = named[0].partition("/")[0] if named else "record"
    return _planned(action, entity_type, ", ".join(named))


def _link_operations(action: Action, edges: Json) -> Iterator[RecordOperation]:
    for edge in _objects(edges):
        yield RecordOperation(action, str(edge.get("from")), str(edge.get("relation")), str(edge.get("to")))


def _objects(value: Json) -> Iterator[JsonObject]:
    """Yield the objects of a list; a long result was cut, and says so among them."""
    for one in value if isinstance(value, list) else []:
        if isinstance(one, dict):
            yield one
