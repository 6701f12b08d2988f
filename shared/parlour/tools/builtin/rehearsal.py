"""Checking a call by the code that will run it, before a person is asked about it."""

from dataclasses import replace

from parlour.infra.json_values import JsonObject
from parlour.tools.arguments import validate_arguments
from parlour.tools.builtin.definitions import CREATE_ENTITY, LINK_ENTITIES, UPDATE_ENTITY
from parlour.tools.run import Endpoints, ToolContext, get_endpoint
from parlour.tools.tool_definition import FUNCTION_SCHEME, Tool

#: Tools whose writes all go through `ToolContext.write`.
_REHEARSED_ENDPOINTS = frozenset({CREATE_ENTITY.endpoint, LINK_ENTITIES.endpoint, UPDATE_ENTITY.endpoint})


def rehearse_call(context: ToolContext, tool: Tool, arguments: JsonObject, endpoints: Endpoints) -> str:
    """Return the version of the code that would run a pack's function; "" for any other tool.

    Raises the ModelError with which the call would fail now: of its schema, its properties, choices and links. Nothing
    is changed. A tool over HTTP is checked by its schema alone.
    """
    validate_arguments(tool.schema, arguments)
    if tool.endpoint not in _REHEARSED_ENDPOINTS and not tool.endpoint.startswith(FUNCTION_SCHEME):
        return ""
    rehearsed = get_endpoint(tool, endpoints).call(replace(context, is_rehearsal=True), tool, arguments)
    return str(rehearsed.get("code_version", ""))
