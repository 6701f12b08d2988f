"""What an HTTP answer says about whether a call was carried out (RFC 9110). Pure."""

import json
from dataclasses import dataclass
from http import HTTPStatus

from parlour.infra.errors import OutcomeUnknown, RequestRejected, StillUnderWay, ToolFailed
from parlour.infra.json_values import JsonObject

_RETRY_STATUSES = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
"""The request was not taken up: not received whole, too early, one too many."""

_NOT_FOUND_STATUSES = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_NOT_HANDLED_STATUSES = frozenset(
    {HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT, HTTPStatus.NOT_IMPLEMENTED}
)
"""The same request belongs to another place, or to none: this one did nothing."""

_GATEWAY_STATUSES = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT})
"""Somebody between lost whoever carries it out: that one may still be at it."""

_MAX_REASON_CHARS = 300
_MAX_EXCERPT_CHARS = 500


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A status and a body; None when the body was longer than an answer may be."""

    status: int
    body: bytes | None


def interpret_call_answer(answer: HttpAnswer, *, writes: bool) -> JsonObject:
    """Return the JSON object of a success.

    RequestRejected and ToolFailed: it was surely not done; OutcomeUnknown: nobody knows. A write's success without a
    JSON object is a success, a read's is no answer. Errors have the status and an excerpt of the body as their detail.
    """
    status = answer.status
    detail = _describe(answer)
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        if (content := _parse_object(answer)) is not None:
            return content
        if writes or answer.status != HTTPStatus.OK:
            return {"ok": True, "message": "It was done; the tool said nothing more that could be read."}
        raise ToolFailed("the tool's answer is too long or not a JSON object", detail=detail)
    if status in _RETRY_STATUSES:
        raise ToolFailed(
            f"the tool answered {status}; nothing was done. It may work when tried again a little later.", detail=detail
        )
    if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR or status in _NOT_HANDLED_STATUSES:
        raise RequestRejected(f"the tool answered {status}: {_error_text(answer)}", detail=detail)
    if not writes:
        raise ToolFailed(f"the tool answered {status}; it may work when tried again", detail=detail)
    raise (StillUnderWay if status in _GATEWAY_STATUSES else OutcomeUnknown)(detail=detail)


def interpret_lookup_answer(answer: HttpAnswer) -> JsonObject | None:
    """Return what a lookup says: the call's result, or None when it was not done. OutcomeUnknown for anything else."""
    if answer.status in _NOT_FOUND_STATUSES:
        return None
    if answer.status != HTTPStatus.OK or (content := _parse_object(answer)) is None:
        raise OutcomeUnknown
    return content


def _describe(answer: HttpAnswer) -> str:
    """Return the status and the beginning of the body, on one line."""
    body = (
        "a body that is too long"
        if answer.body is None
        else answer.body[: 4 * _MAX_EXCERPT_CHARS].decode("utf-8", "replace")
    )
    return f"HTTP {answer.status}: {' '.join(body.split())[:_MAX_EXCERPT_CHARS] or 'an empty body'}"


def _error_text(answer: HttpAnswer) -> str:
    """Return a short text from the fields where tools usually put an error, else nothing."""
    content = _parse_object(answer) or {}
    for name in ("message", "detail", "error", "title"):
        said = content.get(name)
        said = said.get("message") if isinstance(said, dict) else said
        if isinstance(said, str) and said.strip():
            return said.strip()[:_MAX_REASON_CHARS]
    return "no reason given"


def _parse_object(answer: HttpAnswer) -> JsonObject | None:
    try:
        content = json.loads(answer.body or b"")
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
