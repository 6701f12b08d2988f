"""The token that a visitor on the web carries: signed by this deployment, for one user and one binding. Pure.

It can never pass as a member's token, nor a member's as one of these: the type in the header, the issuer, the
algorithm and the key are all different, and each reader accepts exactly one of each.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import jwt

from parlour.infra.errors import Misconfigured, Unauthenticated
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.tenancy import signed_tokens

SESSION_TOKEN_LIFETIME = timedelta(hours=24)
"""Of a token for one session."""

VISITOR_TOKEN_LIFETIME = timedelta(days=90)
"""Of a token for all of a visitor's sessions with a binding, from the last conversation that they began: who comes back
after a week is known. As long as raw messages stay in the database (design section 9)."""

VISITOR_TOKEN_TYPE = "visitor+jwt"  # noqa: S105 - a type, no secret
"""The header's `typ`: what tells these tokens from an issuer's before anything is verified."""

_ALGORITHM = "HS256"
_ISSUER = "parlour"
_CLAIM_TYPE = "visitor"
_MIN_SECRET_CHARS = 32
"""Characters; HS256 wants a key of 256 bits at least."""


@dataclass(frozen=True, slots=True)
class VisitorClaims:
    """Whom a token is for. Without a session it is good for all of the user's sessions with the binding."""

    tenant_id: UUID
    user_id: UUID
    binding_id: UUID
    session_id: UUID | None


@dataclass(frozen=True, slots=True)
class VisitorToken:
    """A signed token and the moment from which it is refused."""

    text: str
    expires_at: datetime


def issue_token(visitor: VisitorClaims, secret: str, now: datetime) -> VisitorToken:
    """Issue a token valid for 24 hours, or for 90 days without a session.

    Misconfigured when the secret has fewer than 32 characters.
    """
    expires_at = (now + (SESSION_TOKEN_LIFETIME if visitor.session_id else VISITOR_TOKEN_LIFETIME)).replace(
        microsecond=0
    )
    claims: JsonObject = {
        "iss": _ISSUER,
        "typ": _CLAIM_TYPE,
        "sub": str(visitor.user_id),
        "ten": str(visitor.tenant_id),
        "bnd": str(visitor.binding_id),
        "iat": int(now.timestamp()),
        "exp": int(expires_at.timestamp()),
    }
    if visitor.session_id:
        claims["ses"] = str(visitor.session_id)
    payload = canonical_json(claims).encode()
    return VisitorToken(
        jwt.PyJWS().encode(payload, _validated_secret(secret), _ALGORITHM, {"typ": VISITOR_TOKEN_TYPE}), expires_at
    )


def verify_token(text: str, secret: str, now: datetime) -> VisitorClaims:
    """Whom the token is for. Raises Unauthenticated unless it was issued here and is still good."""
    header = signed_tokens.parse_header(text)
    if header is None or header.type != VISITOR_TOKEN_TYPE:
        raise Unauthenticated(reason="not_a_visitor")
    claims = signed_tokens.verify_signature(text, _validated_secret(secret), _ALGORITHM)
    if claims.get("iss") != _ISSUER or claims.get("typ") != _CLAIM_TYPE:
        raise Unauthenticated(reason="not_a_visitor")
    signed_tokens.verify_times(claims, now)
    session_id = _get_id_claim(claims, "ses") if "ses" in claims else None
    return VisitorClaims(
        _get_id_claim(claims, "ten"), _get_id_claim(claims, "sub"), _get_id_claim(claims, "bnd"), session_id
    )


def _get_id_claim(claims: JsonObject, name: str) -> UUID:
    try:
        return UUID(signed_tokens.get_text_claim(claims, name))
    except ValueError as error:
        raise Unauthenticated(reason=f"claim_{name}") from error


def _validated_secret(secret: str) -> str:
    stripped = secret.strip()
    if len(stripped) < _MIN_SECRET_CHARS:
        raise Misconfigured(f"the token secret needs {_MIN_SECRET_CHARS} characters at least; generate a random one")
    return stripped
