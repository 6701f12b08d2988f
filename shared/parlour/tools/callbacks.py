"""The address at which a tool that answers later sends its result: a token for one run of one call. Pure.

Whoever has it can end that one run, with JSON, until it expires, and nothing else. It can pass for no other token of
this deployment: the type in the header and the issuer differ, and each reader accepts exactly one of each.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import jwt

from parlour.infra.errors import Misconfigured, ToolRefused, Unauthenticated
from parlour.infra.jsonable import JsonObject, canonical
from parlour.tools.result import ToolResult, failed, succeeded

PATH = "/v1/tool-results"

LATE = timedelta(days=7)
"""How long after its time a result is still taken: it settles what was in doubt."""

_TYPE = "tool-result+jwt"
_ALGORITHM = "HS256"
_ISSUER = "parlour"
_SHORTEST_SECRET = 32
"""Characters; HS256 wants a key of 256 bits at least."""

_LONGEST_REASON = 300
_STRICT: jwt.types.SigOptions = {"verify_signature": True, "enforce_minimum_key_length": True}


@dataclass(frozen=True, slots=True)
class Callback:
    """Which run of which call a token is for."""

    tenant_id: UUID
    call_id: UUID
    run: int


def url(public_url: str, callback: Callback, secret: str, until: datetime, now: datetime) -> str:
    """Where the result is to be posted; it is taken until a week after `until`."""
    claims = {
        "iss": _ISSUER,
        "ten": str(callback.tenant_id),
        "sub": str(callback.call_id),
        "run": callback.run,
        "iat": int(now.timestamp()),
        "exp": int((until + LATE).timestamp()),
    }
    token = jwt.PyJWS().encode(canonical(claims).encode(), _checked(secret), _ALGORITHM, {"typ": _TYPE})
    return f"{public_url.rstrip('/')}{PATH}/{token}"


def read(token: str, secret: str, now: datetime) -> Callback:
    """What the token is for. Raises Unauthenticated unless it was issued here for this and has not expired."""
    try:
        whole = jwt.PyJWS().decode_complete(token, _checked(secret), algorithms=[_ALGORITHM], options=_STRICT)
        claims = json.loads(whole["payload"])
        if str(whole["header"].get("typ", "")).lower() != _TYPE or claims["iss"] != _ISSUER:
            raise Unauthenticated(reason="not_a_callback")
        return _current(claims, now)
    except (jwt.PyJWTError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise Unauthenticated(reason="malformed") from error


def result_of(content: JsonObject) -> ToolResult:
    """A posted result: {"error": "..."} says that it was not done, anything else is the tool's answer."""
    error = content.get("error")
    if error is None:
        return succeeded(content)
    reason = error if isinstance(error, str) else canonical(succeeded({"error": error}).content)
    return failed(ToolRefused(f"the tool could not do it: {reason[:_LONGEST_REASON]}"))


def _current(claims: Any, now: datetime) -> Callback:
    if datetime.fromtimestamp(claims["exp"], UTC) <= now:
        raise Unauthenticated(reason="expired")
    return Callback(UUID(claims["ten"]), UUID(claims["sub"]), int(claims["run"]))


def _checked(secret: str) -> str:
    stripped = secret.strip()
    if len(stripped) < _SHORTEST_SECRET:
        raise Misconfigured(f"the token secret needs {_SHORTEST_SECRET} characters at least; generate a random one")
    return stripped
