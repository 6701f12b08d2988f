"""The token that a visitor on the web carries: signed by this deployment, for one user and one binding. Pure.

It can never pass as a member's token, nor a member's as one of these: the type in the header, the issuer, the
algorithm and the key are all different, and each reader accepts exactly one of each.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import jwt

from parlour.infra.errors import Unauthenticated
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.infra.signing_keys import parse_signing_keys
from parlour.tenancy import signed_tokens

SESSION_TOKEN_LIFETIME = timedelta(hours=24)
"""Of a token for one session."""

MEMBER_TOKEN_LIFETIME = timedelta(hours=12)
"""Of a member's token for one session. It has what the member sees, so it ends with a day's work: a new one needs the
issuer's token, which ends with the account."""

VISITOR_TOKEN_LIFETIME = timedelta(days=90)
"""Of a token for all of a visitor's sessions with a binding, from the last conversation that they began: who comes back
after a week is known. As long as raw messages stay in the database (design section 9)."""

MAX_TOKEN_AGE = timedelta(days=365)
"""How long a visitor's tokens are renewed; then they are somebody new, unless they link a phone."""

VISITOR_TOKEN_TYPE = "visitor+jwt"  # noqa: S105 - a type, no secret
"""The header's `typ`: what tells these tokens from an issuer's before anything is verified."""

_ALGORITHM = "HS256"
_ISSUER = "parlour"
_CLAIM_TYPE = "visitor"


@dataclass(frozen=True, slots=True)
class VisitorClaims:
    """Whom a token is for. Without a session it is good for all of the user's sessions with the binding.

    epoch      the user's when it was issued.
    began_at   when the visitor first got a token, from which later ones were renewed; None: now.
    is_member  whether a member signed in for it. Tokens of members are for one session.
    """

    tenant_id: UUID
    user_id: UUID
    binding_id: UUID
    session_id: UUID | None
    epoch: int = 0
    began_at: datetime | None = field(default=None, compare=False)
    is_member: bool = False


@dataclass(frozen=True, slots=True)
class VisitorToken:
    """A signed token and the moment from which it is refused."""

    text: str
    expires_at: datetime


def issue_token(visitor: VisitorClaims, secret: str, now: datetime) -> VisitorToken:
    """Issue a token valid for 24 hours, or for 90 days without a session, and a year after the first one at most.

    A member's is valid for 12 hours. It is signed with the first of the secret's keys. Misconfigured when one has fewer
    than 32 characters; ValueError for a member's without a session.
    """
    if visitor.is_member and visitor.session_id is None:
        raise ValueError("a member's token is for one session")
    began_at = visitor.began_at or now
    expires_at = min(now + _lifetime(visitor), began_at + MAX_TOKEN_AGE).replace(microsecond=0)
    claims: JsonObject = {
        "iss": _ISSUER,
        "typ": _CLAIM_TYPE,
        "sub": str(visitor.user_id),
        "ten": str(visitor.tenant_id),
        "bnd": str(visitor.binding_id),
        "iat": int(now.timestamp()),
        "exp": int(expires_at.timestamp()),
        "auth_time": int(began_at.timestamp()),
        "epo": visitor.epoch,
    }
    if visitor.session_id:
        claims["ses"] = str(visitor.session_id)
    if visitor.is_member:
        claims["mem"] = True
    payload = canonical_json(claims).encode()
    return VisitorToken(
        jwt.PyJWS().encode(payload, parse_signing_keys(secret)[0], _ALGORITHM, {"typ": VISITOR_TOKEN_TYPE}), expires_at
    )


def verify_token(text: str, secret: str, now: datetime) -> VisitorClaims:
    """Whom the token is for. Raises Unauthenticated unless it was issued here and is still good."""
    header = signed_tokens.parse_header(text)
    if header is None or header.type != VISITOR_TOKEN_TYPE:
        raise Unauthenticated(reason="not_a_visitor")
    claims = _verify_with_any(text, parse_signing_keys(secret))
    if claims.get("iss") != _ISSUER or claims.get("typ") != _CLAIM_TYPE:
        raise Unauthenticated(reason="not_a_visitor")
    signed_tokens.verify_times(claims, now)
    session_id = _get_id_claim(claims, "ses") if "ses" in claims else None
    epoch, began = claims.get("epo", 0), claims.get("auth_time", claims.get("iat"))
    if not isinstance(epoch, int) or not isinstance(began, int):
        raise Unauthenticated(reason="claim_epo")
    return VisitorClaims(
        _get_id_claim(claims, "ten"),
        _get_id_claim(claims, "sub"),
        _get_id_claim(claims, "bnd"),
        session_id,
        epoch,
        datetime.fromtimestamp(began, UTC),
        claims.get("mem") is True,
    )


def _lifetime(visitor: VisitorClaims) -> timedelta:
    if visitor.is_member:
        return MEMBER_TOKEN_LIFETIME
    return SESSION_TOKEN_LIFETIME if visitor.session_id else VISITOR_TOKEN_LIFETIME


def _verify_with_any(text: str, keys: Sequence[str]) -> JsonObject:
    """Return the claims if one of the keys signed them; the older key is valid while it is being replaced."""
    for key in keys[:-1]:
        with suppress(Unauthenticated):
            return signed_tokens.verify_signature(text, key, _ALGORITHM)
    return signed_tokens.verify_signature(text, keys[-1], _ALGORITHM)


def _get_id_claim(claims: JsonObject, name: str) -> UUID:
    try:
        return UUID(signed_tokens.get_text_claim(claims, name))
    except ValueError as error:
        raise Unauthenticated(reason=f"claim_{name}") from error
