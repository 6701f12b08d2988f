"""What a call of these tools did to records, for whoever follows the conversation. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from parlour.infra.json_values import Json, JsonObject
from parlour.tools.builtin.definitions import CREATE_ENTITY, LINK_ENTITIES, UPDATE_ENTITY
from parlour.tools.tool_definition import Tool

ALREADY_DONE_NOTE = "This was done before."
"""What is noted of a change that the same call has made already."""

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
        return list(_updated_records(result))
    if tool.endpoint in (CREATE_ENTITY.endpoint, LINK_ENTITIES.endpoint):
        return [
            *_created_records(result),
            *_link_operations("link", result.get("edges_created")),
            *_link_operations("unlink", result.get("edges_removed")),
        ]
    return []


def _created_records(result: JsonObject) -> Iterator[RecordOperation]:
    for one in _objects(result.get("entities_created")):
        yield RecordOperation("create", str(one.get("entity")))


def _updated_records(result: JsonObject) -> Iterator[RecordOperation]:
    if result.get("changed") or "text" in result or result.get("note") == ALREADY_DONE_NOTE:
        yield RecordOperation("update", str(result.get("entity")))


def _link_operations(action: Action, edges: Json) -> Iterator[RecordOperation]:
    for edge in _objects(edges):
        yield RecordOperation(action, str(edge.get("from")), str(edge.get("relation")), str(edge.get("to")))


def _objects(value: Json) -> Iterator[JsonObject]:
    """Yield the objects of a list; a long result was cut, and says so among them."""
    for one in value if isinstance(value, list) else []:
        if isinstance(one, dict):
            yield one
