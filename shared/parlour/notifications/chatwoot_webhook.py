"""What Chatwoot tells Parlour: its webhooks, and the token in the address that they go to. Pure.

The address is the secret. Its token names the tenant, the inbox in Chatwoot and the address itself, and is good as long
as a binding has that inbox, the address was not rotated and the deployment's token secret is the same.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import jwt

from parlour.channels.envelope import clean_text
from parlour.infra.errors import Unauthenticated
from parlour.infra.json_values import canonical_json
from parlour.infra.signing_keys import parse_signing_keys

WEBHOOK_PATH = "/v1/chatwoot"

_TOKEN_TYPE = "chatwoot+jwt"  # noqa: S105 - a type, no secret
_ALGORITHM = "HS256"
_ISSUER = "parlour"
_NUMBERS = range(2**63)
"""What the database can hold."""


@dataclass(frozen=True, slots=True)
class ChatwootSource:
    """Which inbox in Chatwoot an address is for; inbox: as `event.chatwoot_address` writes it; address_id: its own."""

    tenant_id: UUID
    inbox: str
    address_id: UUID


@dataclass(frozen=True, slots=True)
class ChatwootMessage:
    """What somebody wrote to the user. conversation, message_id, sender_id: Chatwoot's numbers."""

    conversation: int
    message_id: int
    text: str
    sender_id: int
    email: str
    has_attachments: bool


@dataclass(frozen=True, slots=True)
class ChatwootResolution:
    """A conversation was resolved. at: when Chatwoot last changed it; None where it does not say."""

    conversation: int
    at: datetime | None


def make_webhook_path(source: ChatwootSource, secret: str) -> str:
    """Return the path of the address that Chatwoot's webhooks go to."""
    claims = {"iss": _ISSUER, "ten": str(source.tenant_id), "sub": source.inbox, "jti": str(source.address_id)}
    key = parse_signing_keys(secret)[0]
    token = jwt.PyJWS().encode(canonical_json(claims).encode(), key, _ALGORITHM, {"typ": _TOKEN_TYPE})
    return f"{WEBHOOK_PATH}/{token}"


def verify_webhook_token(token: str, secret: str) -> ChatwootSource:
    """Return what the token is for. Raises Unauthenticated unless it was issued here for this."""
    for key in parse_signing_keys(secret):
        with suppress(jwt.InvalidSignatureError):
            return _read_token(token, key)
    raise Unauthenticated(reason="bad_signature")


def _read_token(token: str, key: str) -> ChatwootSource:
    try:
        whole = jwt.PyJWS().decode_complete(token, key, algorithms=[_ALGORITHM])
        claims = json.loads(whole["payload"])
        if whole["header"].get("typ") == _TOKEN_TYPE and claims["iss"] == _ISSUER:
            return ChatwootSource(UUID(claims["ten"]), str(claims["sub"]), UUID(claims["jti"]))
    except jwt.InvalidSignatureError:
        raise
    except (jwt.PyJWTError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unauthenticated(reason="malformed") from error
    raise Unauthenticated(reason="not_a_chatwoot_token")


def parse_webhook(content: Mapping[str, Any]) -> ChatwootMessage | ChatwootResolution | None:
    """Return what a person did that concerns the user; None for everything else, such as private notes."""
    match content:
        case {
            "event": "message_created",
            "id": int(message_id),
            "message_type": "outgoing",
            "conversation": {"id": int(conversation)},
            "sender": {"type": "user", "id": int(sender_id), "email": str(email)},
        } if conversation in _NUMBERS and content.get("private") is False:
            text = clean_text(str(content.get("content") or ""))
            has_attachments = bool(content.get("attachments"))
            return ChatwootMessage(conversation, message_id, text, sender_id, clean_text(email), has_attachments)
        case {
            "event": "conversation_status_changed",
            "id": int(conversation),
            "status": "resolved",
        } if conversation in _NUMBERS:
            return ChatwootResolution(conversation, _read_time(content.get("updated_at")))
    return None


def _read_time(seconds: object) -> datetime | None:
    """Return a time that Chatwoot gives in seconds since 1970."""
    if isinstance(seconds, int | float):
        with suppress(OverflowError, ValueError, OSError):
            return datetime.fromtimestamp(seconds, UTC)
    return None
