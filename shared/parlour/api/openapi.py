"""The API's description as OpenAPI: what FastAPI reads off the routes, and what holds for all of them.

Names, errors, credentials and links are added here once, so that a route says only what is its own.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import RouteContext, iter_route_contexts

from parlour.api import authorization
from parlour.api.error_schemas import ErrorBody
from parlour.api.openapi_examples import BODY_EXAMPLES, PARAMETER_EXAMPLES
from parlour.api.openapi_links import LINKS
from parlour.infra.json_values import JsonObject

_ROLE_CREDENTIALS = ("api_key", "member_token", "operator_key")
_VISITOR_CREDENTIALS = ("visitor_token", "session_token")

SECURITY_SCHEMES: Mapping[str, str] = {
    "api_key": "An API key of the tenant. Make one with POST /v1/keys.",
    "member_token": "A member's OIDC token. The header Parlour-Tenant names the tenant. With the header Parlour-Agent, "
    "a binding's slug, the member acts as the user that they talk as with that agent, as with a `visitor_token`.",
    "operator_key": "The key of the deployment's operator. The header Parlour-Tenant names the tenant.",
    "visitor_token": "The `visitor_token` of POST /v1/sessions: all conversations of one visitor with one agent.",
    "session_token": "The `token` of POST /v1/sessions: one conversation.",
}

TAGS: Mapping[str, str] = {
    "sessions": "Conversations: open one, write, follow the reply.",
    "turns": "What ran for each reply: times, tokens, costs, tools, prompts.",
    "approvals": "Questions to a person before a tool call runs, and their answers.",
    "attention": "What waits for a person's decision.",
    "inbox": "Conversations that people answer.",
    "entities": "Records, their types and their links.",
    "pulse": "The cached, cited summary of what is going on with a record.",
    "documents": "Texts in the tenant's trees.",
    "files": "Uploaded files and what was read of them.",
    "search": "Search in everything that the caller may see.",
    "memory": "What agents remember of users, personas and teams.",
    "erasure": "Erase what a person said and what was made of it.",
    "costs": "What model calls cost, and their daily cap.",
    "configuration": "The tenant, its pack and its agents.",
    "people": "API keys, members, users' rights and the audit log.",
    "operations": "Dead letters and re-embedding.",
    "tools": "Late results of tools.",
    "console": "What the console needs before anybody signs in.",
}

#: Statuses that follow from what an operation does, beside those that follow from its form.
MORE_STATUSES: Mapping[str, tuple[int, ...]] = {
    "open_session": (403, 404, 429),
    "start_attachment": (409, 429),
    "post_message": (409, 429),
    "stream_events": (406,),
    "run_agent": (406, 409, 429),
    "hand_over_session": (409,),
    "start_phone_link": (409,),
    "confirm_phone_link": (409,),
    "update_session": (409,),
    "undo_turn": (409,),
    "post_tool_result": (401, 409),
    "post_chatwoot_webhook": (401,),
    "accept_route": (404, 409),
    "resolve_tool_call": (409,),
    "answer_approval": (409,),
    "resolve_reply": (409,),
    "redrive_reply": (409,),
    "resolve_turn": (409,),
    "resolve_notification": (409,),
    "open_inbox_conversation": (409,),
    "take_inbox_conversation": (409,),
    "assign_inbox_conversation": (409,),
    "release_inbox_conversation": (409,),
    "snooze_inbox_conversation": (409,),
    "close_inbox_conversation": (409,),
    "hand_back_inbox_conversation": (409,),
    "say_in_inbox_conversation": (409,),
    "add_inbox_note": (409,),
    "cancel_tool_call": (409,),
    "cancel_session_tool_calls": (409,),
    "create_entity": (409,),
    "accept_entity": (405, 409),  # an id that is none reads as a type and a key
    "update_entity": (409,),
    "update_entity_by_id": (409,),
    "delete_entity": (409,),
    "delete_entity_by_id": (409,),
    "create_link": (409,),
    "create_document": (409,),
    "update_document": (409,),
    "move_document": (409,),
    "delete_document": (409,),
    "start_upload": (409,),
    "start_new_version": (409,),
    "complete_upload": (409,),
    "delete_file": (409,),
    "apply_pack": (409,),
    "undo_pack": (404, 409),
    "call_tool": (409,),
    "prune_left_items": (409,),
    "add_member": (409,),
    "set_shared_fact": (409,),
    "update_fact": (409,),
    "erase_fact": (409,),
    "create_erasure": (409,),
    "erase_user": (409,),
    "erase_message": (409,),
    "start_reembedding": (409,),
}

_WITHOUT_DATABASE = frozenset({"get_health"})
_RETRY_AFTER: JsonObject = {
    "Retry-After": {"description": "Seconds until trying again makes sense.", "schema": {"type": "integer"}}
}
_ERROR_HEADERS: Mapping[int, JsonObject] = {
    401: {"WWW-Authenticate": {"description": "Bearer.", "schema": {"type": "string"}}},
    405: {"Allow": {"description": "The methods that the path supports.", "schema": {"type": "string"}}},
    429: _RETRY_AFTER,
    503: _RETRY_AFTER,
}
_ERROR_MEANINGS: Mapping[int, str] = {
    400: "The body is not JSON.",
    401: "The credentials are missing, expired or wrong.",
    403: "The credentials do not allow this.",
    404: "Not found, or not the caller's to see.",
    405: "The path does not support this method.",
    406: "This form of answer cannot be given here.",
    409: "The present state does not allow this; read it again.",
    413: "The body is too large.",
    422: "A field is missing or wrong; `problems` names it.",
    429: "Too many requests.",
    503: "A part of the deployment is away or not configured; try again later.",
}
_TENANT_HEADER: JsonObject = {
    "name": "Parlour-Tenant",
    "in": "header",
    "required": False,
    "description": "The tenant's slug. Members and the operator send it; others may leave it out.",
    "schema": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,62}$"},
    "example": "northbank",
}
_METHODS = frozenset({"get", "put", "post", "patch", "delete"})


@dataclass(frozen=True, slots=True)
class _Access:
    """Who may call an operation: the names of their credentials, and whether none are needed."""

    credentials: Collection[str] = ()
    is_optional: bool = False


def install_description(app: FastAPI) -> None:
    """Have `app` describe itself with what holds for all its operations."""
    read_routes = app.openapi

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            _complete(read_routes(), [*iter_route_contexts(app.routes)])
        return read_routes()

    app.openapi = describe  # type: ignore[method-assign]


def operation_id(context: RouteContext) -> str:
    """Return the short name of an operation; twins that differ in how they name a record differ in `_by_id`."""
    name = str(context.name)
    is_by_id = "{record_id}" in str(context.path_format) and "/pulse" in str(context.path_format)
    return f"{name}_by_id" if is_by_id else name


def _complete(description: dict[str, Any], contexts: Collection[RouteContext]) -> None:
    by_place = {
        (context.path_format, method.lower()): context for context in contexts for method in context.methods or ()
    }
    description["servers"] = [{"url": "..", "description": "The deployment that serves this description."}]
    description["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    schemas = description["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    errors = ErrorBody.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update({**errors.pop("$defs"), "ErrorBody": errors})
    description["components"]["responses"] = {f"Error{status}": _error_response(status) for status in _ERROR_MEANINGS}
    description["components"]["securitySchemes"] = {
        name: {"type": "http", "scheme": "bearer", "description": text} for name, text in SECURITY_SCHEMES.items()
    }
    for path, method, operation in operations(description):
        context = by_place[path, method]
        operation["operationId"] = operation_id(context)
        access = _read_access(context.dependant)
        _add_security(operation, access)
        _add_examples(operation)
        _add_errors(operation, access, path)
        _add_links(operation)


def operations(description: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield each operation of a description with its path and method."""
    for path, item in description["paths"].items():
        for method, operation in item.items():
            if method in _METHODS:
                yield path, method, operation


def _read_access(dependant: Dependant) -> _Access:
    calls = {*_dependency_calls(dependant)}
    if authorization.require_operator in calls:
        return _Access(("operator_key",))
    if calls & {
        authorization.require_viewer,
        authorization.require_reader,
        authorization.require_editor,
        authorization.require_admin,
    }:
        return _Access(_ROLE_CREDENTIALS)
    if authorization.authenticate_caller in calls:
        return _Access((*_ROLE_CREDENTIALS, *_VISITOR_CREDENTIALS))
    if authorization.get_credentials in calls:
        return _Access(_ROLE_CREDENTIALS)
    return _Access(is_optional=True)


def _dependency_calls(dependant: Dependant) -> Iterator[object]:
    for each in dependant.dependencies:
        yield each.call
        yield from _dependency_calls(each)


def _add_security(operation: dict[str, Any], access: _Access) -> None:
    if operation["operationId"] == "open_session":
        operation["security"] = [{}, {"visitor_token": []}, {"member_token": []}]
    elif operation["operationId"] == "get_public_agent":
        operation["security"] = [{}, {"member_token": []}]
    else:
        operation["security"] = [{name: []} for name in access.credentials]
    if operation["security"]:
        operation.setdefault("parameters", []).append(_TENANT_HEADER)


def _add_examples(operation: dict[str, Any]) -> None:
    name = operation["operationId"]
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        if name in BODY_EXAMPLES:
            content["example"] = BODY_EXAMPLES[name]
    for parameter in operation.get("parameters", ()):
        key = parameter["name"]
        example = PARAMETER_EXAMPLES.get(f"{name}.{key}", PARAMETER_EXAMPLES.get(key))
        if example is not None:
            parameter["example"] = example


def _add_errors(operation: dict[str, Any], access: _Access, path: str) -> None:
    name = operation["operationId"]
    statuses = {*MORE_STATUSES.get(name, ())}
    if name not in _WITHOUT_DATABASE:
        statuses.add(503)
    if not access.is_optional and name != "open_session":
        statuses |= {401, 403, 404, 422}
    if operation.get("security"):
        statuses |= {401, 422}
    if "{" in path:
        statuses |= {404, 422}
    if "requestBody" in operation:
        statuses |= {400, 413, 422}
    responses = operation["responses"]
    responses.pop("422", None)
    responses.update({str(status): {"$ref": f"#/components/responses/Error{status}"} for status in sorted(statuses)})


def _error_response(status: int) -> JsonObject:
    response: JsonObject = {
        "description": f"{HTTPStatus(status).phrase}. {_ERROR_MEANINGS[status]}",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}},
    }
    return {**response, "headers": _ERROR_HEADERS[status]} if status in _ERROR_HEADERS else response


def _add_links(operation: dict[str, Any]) -> None:
    for link in LINKS.get(operation["operationId"], ()):
        status = min(status for status in operation["responses"] if status.startswith("2"))
        operation["responses"][status].setdefault("links", {})[link.operation] = {
            "operationId": link.operation,
            "parameters": {**link.parameters},
        }
