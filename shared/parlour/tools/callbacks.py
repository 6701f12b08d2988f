"""The address at which a tool that answers later sends its result: a token for one run of one call. Pure.

Whoever has it can end that one run, with JSON, until it expires, and nothing else. It can pass for no other token of
this deployment: the type in the header and the issuer differ, and each reader accepts exactly one of each.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import jwt

from parlour.infra.errors import RequestRejected, Unauthenticated
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.infra.signing_keys import parse_signing_keys
from parlour.tools.result import ToolResult, error_result, success_result

CALLBACK_PATH = "/v1/tool-results"

LATE_RESULT_PERIOD = timedelta(days=7)
"""How long after its time a result is still taken: it settles what was in doubt."""

_TOKEN_TYPE = "tool-result+jwt"  # noqa: S105 - a type, no secret
_ALGORITHM = "HS256"
_ISSUER = "parlour"
_MAX_REASON_CHARS = 300
_VERIFY_OPTIONS: jwt.types.SigOptions = {"verify_signature": True, "enforce_minimum_key_length": True}


@dataclass(frozen=True, slots=True)
class Callback:
    """Which run of which call a token is for."""

    tenant_id: UUID
    call_id: UUID
    run_token: int


def make_callback_url(public_url: str, callback: Callback, secret: str, deadline: datetime, now: datetime) -> str:
    """Where the result is to be posted; it is taken until a week after `until`."""
    claims = {
        "iss": _ISSUER,
        "ten": str(callback.tenant_id),
        "sub": str(callback.call_id),
        "run": callback.run_token,
        "iat": int(now.timestamp()),
        "exp": int((deadline + LATE_RESULT_PERIOD).timestamp()),
    }
    token = jwt.PyJWS().encode(
        canonical_json(claims).encode(), parse_signing_keys(secret)[0], _ALGORITHM, {"typ": _TOKEN_TYPE}
    )
    return f"{public_url.rstrip('/')}{CALLBACK_PATH}/{token}"


def verify_callback_token(token: str, secret: str, now: datetime) -> Callback:
    """Return what the token is for. Unauthenticated unless it was issued here for this and has not expired."""
    try:
        whole = _decode_with_any(token, parse_signing_keys(secret))
        claims = json.loads(whole["payload"])
        if str(whole["header"].get("typ", "")).lower() != _TOKEN_TYPE or claims["iss"] != _ISSUER:
            raise Unauthenticated(reason="not_a_callback")
        if datetime.fromtimestamp(claims["exp"], UTC) <= now:
            raise Unauthenticated(reason="expired")
        return Callback(UUID(claims["ten"]), UUID(claims["sub"]), int(claims["run"]))
    except (jwt.PyJWTError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise Unauthenticated(reason="malformed") from error


def _decode_with_any(token: str, keys: Sequence[str]) -> dict[str, Any]:
    """Return the token decoded, if one of the keys signed it."""
    for key in keys[:-1]:
        with suppress(jwt.InvalidSignatureError):
            return jwt.PyJWS().decode_complete(token, key, algorithms=[_ALGORITHM], options=_VERIFY_OPTIONS)
    return jwt.PyJWS().decode_complete(token, keys[-1], algorithms=[_ALGORITHM], options=_VERIFY_OPTIONS)


def parse_result(content: JsonObject) -> ToolResult:
    """Return a posted result: {"error": "..."} says that the call failed, anything else is the tool's answer."""
    error = content.get("error")
    if error is None:
        return success_result(content)
    reason = error if isinstance(error, str) else canonical_json(success_result({"error": error}).content)
    return error_result(RequestRejected(f"the tool could not do it: {reason[:_MAX_REASON_CHARS]}"))
