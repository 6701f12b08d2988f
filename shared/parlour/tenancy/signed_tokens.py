"""Signed tokens (JWS, RFC 7515; JWT, RFC 7519): reading the header, checking the signature and the times. Pure.

The signature is PyJWT's work. The claims are checked here, against a `now` that is given, and without trusting
their types: a token's payload is whatever somebody wrote into it.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import jwt

from parlour.infra.errors import Unauthenticated
from parlour.infra.json_values import JsonObject
from parlour.tenancy.labels import is_identifier

LEEWAY = timedelta(seconds=30)
"""How far the clocks of issuer and deployment may be apart."""

_ENFORCE_KEY_LENGTH: jwt.types.SigOptions = {"verify_signature": True, "enforce_minimum_key_length": True}


@dataclass(frozen=True, slots=True)
class TokenHeader:
    """What a token says about itself before anything is verified; `type` is in lower case."""

    algorithm: str
    type: str
    key_id: str | None


def parse_header(text: str) -> TokenHeader | None:
    """Return the header of a text in the form of a signed token, else None."""
    try:
        fields = jwt.PyJWS().get_unverified_header(text)
    except (jwt.PyJWTError, ValueError):
        return None
    algorithm, kind = fields.get("alg"), fields.get("typ", "")
    if not isinstance(algorithm, str) or not isinstance(kind, str):
        return None
    return TokenHeader(algorithm, kind.lower(), fields.get("kid"))


def read_unverified_claims(text: str) -> JsonObject:
    """Return the claims unverified, to learn whose key to check them with."""
    options: jwt.types.SigOptions = {"verify_signature": False, "enforce_minimum_key_length": False}
    try:
        return _parse_claims(jwt.PyJWS().decode(text, options=options))
    except (jwt.PyJWTError, ValueError) as error:
        raise Unauthenticated(reason="malformed") from error


def verify_signature(text: str, key: str | jwt.PyJWK, algorithm: str) -> JsonObject:
    """Return the claims of a token that `key` signed with exactly this `algorithm`.

    Unauthenticated for any other token, and when the key is shorter than the algorithm needs.
    """
    try:
        payload = jwt.PyJWS().decode(text, key, algorithms=[algorithm], options=_ENFORCE_KEY_LENGTH)
    except (jwt.PyJWTError, ValueError) as error:
        raise Unauthenticated(reason="signature") from error
    return _parse_claims(payload)


def verify_times(claims: Mapping[str, object], now: datetime) -> None:
    """Raise Unauthenticated unless the token was issued before `now` and is in force; `exp` and `iat` must be there."""
    if _get_time_claim(claims, "exp") + LEEWAY <= now:
        raise Unauthenticated(reason="expired")
    if _get_time_claim(claims, "iat") - LEEWAY > now:
        raise Unauthenticated(reason="issued_later")
    if "nbf" in claims and _get_time_claim(claims, "nbf") - LEEWAY > now:
        raise Unauthenticated(reason="not_yet_valid")


def get_text_claim(claims: Mapping[str, object], name: str) -> str:
    """Return a claim that must be an identifier: 1 to 255 printable characters."""
    value = claims.get(name)
    if not isinstance(value, str) or not is_identifier(value):
        raise Unauthenticated(reason=f"claim_{name}")
    return value


def _get_time_claim(claims: Mapping[str, object], name: str) -> datetime:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Unauthenticated(reason=f"claim_{name}")
    try:
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise Unauthenticated(reason=f"claim_{name}") from error


def _parse_claims(payload: bytes) -> JsonObject:
    try:
        claims = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise Unauthenticated(reason="malformed") from error
    if not isinstance(claims, dict):
        raise Unauthenticated(reason="malformed")
    return claims
