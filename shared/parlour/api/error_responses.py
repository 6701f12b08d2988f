"""The one place where what went wrong becomes an answer: a status, a code and a sentence, never a payload.

    {"error": {"code": "invalid_request", "message": "text: ...", "problems": [{"field": "text", "message": "..."}]}}

`problems` is there when fields of a request, or lines of a pack, are to blame.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException

from parlour.infra import log
from parlour.infra.errors import (
    CallerError,
    Forbidden,
    InvalidPack,
    InvalidRequest,
    MalformedPayload,
    MethodNotAllowed,
    Misconfigured,
    NotFound,
    ParlourError,
    PayloadTooLarge,
    RateLimited,
    RetryError,
    Unauthenticated,
)
from parlour.infra.json_values import JsonObject

_RETRY_SECONDS = 2
_FILE_METHODS = ("GET", "HEAD")
_ERRORS_BY_STATUS: Mapping[int, type[CallerError]] = {
    known.status: known
    for known in (MalformedPayload, Unauthenticated, Forbidden, NotFound, MethodNotAllowed, PayloadTooLarge)
}


class AsciiJsonResponse(JSONResponse):
    """JSON in ASCII, so that half a surrogate pair quoted from a request cannot break the answer to it."""

    def render(self, content: object) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def install_error_handlers(app: FastAPI) -> None:
    """Have `app` answer every error in this module's shape."""
    app.add_exception_handler(ParlourError, _parlour_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_error)


def internal_error(problem: Exception, method: str) -> Response:
    """Return the answer to a fault of ours: the log gets the exception's class and place, the caller only the fact."""
    log.error("request_failed", problem, method=method)
    return error_response(500, "internal", "Internal error. It was logged; try again or contact the operator.")


def error_response(
    status: int, code: str, message: str, problems: Sequence[object] = (), headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error in the API's form."""
    error: dict[str, object] = {"code": code, "message": message}
    if problems:
        error["problems"] = list(problems)
    return AsciiJsonResponse({"error": error}, status, headers)


def _parlour_error(request: Request, problem: Exception) -> Response:
    match problem:
        case CallerError():
            return _client_error(request, problem)
        case RetryError():
            log.warning("request_deferred", **_request_fields(request, problem.code, 503))
            headers = {"Retry-After": str(problem.retry_after or _RETRY_SECONDS)}
            return error_response(503, problem.code, str(problem), headers=headers)
        case ParlourError():
            # What is wrong inside is for whoever runs the deployment: they find it in the log under the same
            # code.
            status = 503 if isinstance(problem, Misconfigured) else 500
            log.error("request_failed", problem, **_request_fields(request, problem.code, status))
            return error_response(
                status,
                problem.code,
                "This deployment is not configured correctly; its operator finds the details in the log.",
            )
    return internal_error(problem, request.method)


def _client_error(request: Request, problem: CallerError, fields: Sequence[object] = ()) -> Response:
    log.warning("request_refused", **_request_fields(request, problem.code, problem.status))
    headers = {"WWW-Authenticate": "Bearer"} if problem.status == HTTPStatus.UNAUTHORIZED else None
    if isinstance(problem, RateLimited):
        headers = {"Retry-After": str(problem.retry_after)}
    if isinstance(problem, InvalidPack):
        fields = [asdict(one) for one in problem.problems]
    return error_response(problem.status, problem.code, str(problem), fields, headers)


def _invalid_request(request: Request, problem: Exception) -> Response:
    errors = problem.errors() if isinstance(problem, RequestValidationError) else ()
    if any(error["type"] == "json_invalid" for error in errors):
        return _client_error(request, MalformedPayload("the body is not JSON"))
    fields: list[JsonObject] = [{"field": _field_name(error["loc"]), "message": str(error["msg"])} for error in errors]
    sentence = "; ".join(f"{field['field']}: {field['message']}" for field in fields)
    return _client_error(request, InvalidRequest(sentence), fields)


def _http_error(request: Request, problem: Exception) -> Response:
    """Return the answer to what the framework refuses: unknown paths, methods, bodies it cannot read."""
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    known = _ERRORS_BY_STATUS.get(status)
    if known is not None:
        answer = _client_error(request, known())
        if known is MethodNotAllowed:
            answer.headers["Allow"] = ", ".join(_allowed_methods(request))
        return answer
    log.warning("request_refused", **_request_fields(request, "http", status))
    return error_response(status, "http", HTTPStatus(status).phrase)


def _allowed_methods(request: Request) -> list[str]:
    """Return what the requested path answers, by all routes that match it; folders of files are read."""
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    matching = [route for route in iter_route_contexts(request.app.routes) if route.path_regex.match(path)]
    return sorted({method for route in matching for method in route.methods or _FILE_METHODS})


def _request_fields(request: Request, code: str, status: int) -> dict[str, str | int]:
    """Return what the log may contain of a request: the route's template, never the requested path."""
    template = getattr(request.scope.get("route"), "path", "")
    return {"code": code, "status": status, "method": request.method, "route": template}


def _field_name(location: Sequence[object]) -> str:
    """`body.roles.0` without the `body`, and cut: names of unknown fields are the caller's own text."""
    names = [str(name) for name in location[1:]] or [str(location[0])]
    return ".".join(names)[:100]
