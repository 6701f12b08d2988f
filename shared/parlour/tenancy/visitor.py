"""The token that a visitor on the web carries: signed by this deployment, for one user and one binding. Pure.

It can never pass as a member's token, nor a member's as one of these: the type in the header, the issuer, the
algorithm and the key are all different, and each reader accepts exactly one of each.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import jwt

from parlour.infra.errors import Misconfigured, Unauthenticated
from parlour.infra.jsonable import JsonObject, canonical
from parlour.tenancy import tokens

LIFETIME = timedelta(hours=24)
"""Of a token for one session."""

KNOWN_FOR = timedelta(days=90)
"""Of a token for all of a visitor's sessions with a binding, from the last conversation that they began: who comes back
after a week is known. As long as raw messages stay in the database (design section 9)."""

TYPE = "visitor+jwt"
"""The header's `typ`: what tells these tokens from an issuer's before anything is verified."""

_ALGORITHM = "HS256"
_ISSUER = "parlour"
_KIND = "visitor"
_SHORTEST_SECRET = 32
"""Characters; HS256 wants a key of 256 bits at least."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Whom a token is for. Without a session it is good for all of the user's sessions with the binding."""

    tenant_id: UUID
    user_id: UUID
    binding_id: UUID
    session_id: UUID | None


@dataclass(frozen=True, slots=True)
class Token:
    """A signed token and the moment from which it is refused."""

    text: str
    expires_at: datetime


def issue(visitor: Visitor, secret: str, now: datetime) -> Token:
    """A token good for 24 hours, without a session for 90 days. Raises Misconfigured when the secret has fewer than 32
    characters."""
    expires_at = (now + (LIFETIME if visitor.session_id else KNOWN_FOR)).replace(microsecond=0)
    claims: JsonObject = {
        "iss": _ISSUER,
        "typ": _KIND,
        "sub": str(visitor.user_id),
        "ten": str(visitor.tenant_id),
        "bnd": str(visitor.binding_id),
        "iat": int(now.timestamp()),
        "exp": int(expires_at.timestamp()),
    }
    if visitor.session_id:
        claims["ses"] = str(visitor.session_id)
    payload = canonical(claims).encode()
    return Token(jwt.PyJWS().encode(payload, _checked(secret), _ALGORITHM, {"typ": TYPE}), expires_at)


def read(text: str, secret: str, now: datetime) -> Visitor:
    """Whom the token is for. Raises Unauthenticated unless it was issued here and is still good."""
    header = tokens.header(text)
    if header is None or header.type != TYPE:
        raise Unauthenticated(reason="not_a_visitor")
    claims = tokens.verified(text, _checked(secret), _ALGORITHM)
    if claims.get("iss") != _ISSUER or claims.get("typ") != _KIND:
        raise Unauthenticated(reason="not_a_visitor")
    tokens.check_times(claims, now)
    session_id = _id(claims, "ses") if "ses" in claims else None
    return Visitor(_id(claims, "ten"), _id(claims, "sub"), _id(claims, "bnd"), session_id)


def _id(claims: JsonObject, name: str) -> UUID:
    try:
        return UUID(tokens.text_claim(claims, name))
    except ValueError as error:
        raise Unauthenticated(reason=f"claim_{name}") from error


def _checked(secret: str) -> str:
    stripped = secret.strip()
    if len(stripped) < _SHORTEST_SECRET:
        raise Misconfigured(f"the token secret needs {_SHORTEST_SECRET} characters at least; generate a random one")
    return stripped
