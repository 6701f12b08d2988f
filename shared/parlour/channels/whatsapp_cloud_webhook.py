"""Meta's webhooks for WhatsApp Cloud numbers, as envelopes. Pure.

One webhook holds entries, an entry changes, a change (of the field `messages`) messages that people wrote and
statuses of messages of ours, of any number of people. What we give along with a message as
`biz_opaque_callback_data` comes back with each of its statuses: so a send whose answer was lost is found again.

Whoever goes by a username may hide their number; they are known, and answered, by Meta's id of them then.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import cast

from parlour.channels.envelope import DeliveryStatus, Envelope, EnvelopeKind, Media, clean_text
from parlour.channels.payload_fields import (
    MAX_SHORT_TEXT_CHARS,
    optional_object,
    optional_objects,
    optional_text,
    parse_phone,
    parse_time,
    parse_user_id,
    required_id,
    required_object,
    required_text,
    short_text,
    without_empty,
)
from parlour.infra.errors import MalformedPayload
from parlour.infra.json_values import Json, JsonObject

_FILE_TYPES = frozenset({"image", "document", "audio", "video", "sticker"})
_TYPES_WITHOUT_ANSWER = frozenset({"reaction", "system", "edit", "revoke", "request_welcome"})
"""A thumb, a changed number, a withdrawal. Any other kind, known or not, is somebody waiting."""

_STATUSES = frozenset({"sent", "delivered", "read", "failed"})
_NUMBER_ID = re.compile(r"[0-9]{1,32}")


@dataclass(frozen=True, slots=True)
class WebhookBatch:
    """What one webhook brought, in its order, and how many of its items could not be read."""

    envelopes: list[Envelope]
    unreadable_count: int


def parse(payload: Json, now: datetime) -> WebhookBatch:
    """Return the envelopes in one webhook's JSON; none for account news and for statuses that change nothing.

    An item without a required field is counted and left out, so that the others are not lost. MalformedPayload when
    this is no such webhook, or when nothing in it can be read. `now` replaces a missing or impossible time.
    """
    if not isinstance(payload, dict) or payload.get("object") != "whatsapp_business_account":
        raise MalformedPayload("the payload must be an object of whatsapp_business_account")
    envelopes: list[Envelope] = []
    unreadable = 0
    for value in _change_values(payload):
        found, lost = _parse_items(value, now)
        envelopes += found
        unreadable += lost
    if unreadable and not envelopes:
        raise MalformedPayload("nothing in the payload can be read")
    return WebhookBatch(envelopes, unreadable)


def _change_values(payload: JsonObject) -> Iterator[JsonObject]:
    for entry in optional_objects(payload, "entry"):
        for change in optional_objects(entry, "changes"):
            if change.get("field") == "messages":
                yield optional_object(change, "value")


def _parse_items(value: JsonObject, now: datetime) -> tuple[list[Envelope], int]:
    known = optional_objects(value, "contacts")
    contacts = {short_text(contact, name): contact for contact in known for name in ("user_id", "wa_id")}
    told = [item for item in optional_objects(value, "statuses") if item.get("status") in _STATUSES]
    readers = [partial(_parse_message, value, item, contacts, now) for item in optional_objects(value, "messages")]
    readers += [partial(_parse_status, value, item, now) for item in told]
    found: list[Envelope] = []
    for read in readers:
        try:
            found.append(read())
        except MalformedPayload:
            continue
    return found, len(readers) - len(found)


def _parse_message(value: JsonObject, message: JsonObject, contacts: dict[str, JsonObject], now: datetime) -> Envelope:
    kind = required_text(message, "type")
    sender = parse_phone(message.get("from")) or parse_user_id(message.get("from_user_id"))
    if not sender:
        raise MalformedPayload("from must be a phone number, or from_user_id an id")
    profile = optional_object(contacts.get(sender.removeprefix("+"), {}), "profile")
    return Envelope(
        channel="whatsapp",
        provider="whatsapp_cloud",
        to=_routing_key(value),
        sender=sender,
        provider_message_id=required_id(message, "id"),
        kind=_envelope_kind(kind),
        text=_message_text(kind, message),
        media=_parse_media(kind, optional_object(message, kind)),
        status="",
        sent_at=parse_time(message.get("timestamp"), 1, now),
        metadata=_message_metadata(kind, message, profile),
    )


def _parse_status(value: JsonObject, status: JsonObject, now: datetime) -> Envelope:
    error = next(iter(optional_objects(status, "errors")), {})
    return Envelope(
        channel="whatsapp",
        provider="whatsapp_cloud",
        to=_routing_key(value),
        sender=parse_phone(status.get("recipient_id")) or parse_user_id(status.get("recipient_user_id")),
        provider_message_id=required_id(status, "id"),
        kind="status",
        text="",
        media=None,
        status=cast(DeliveryStatus, required_text(status, "status")),
        sent_at=parse_time(status.get("timestamp"), 1, now),
        metadata=without_empty({**_error_metadata(error), "callback": short_text(status, "biz_opaque_callback_data")}),
    )


def _envelope_kind(kind: str) -> EnvelopeKind:
    if kind in {"text", "button", "interactive"}:
        return "text"
    return "other" if kind in _TYPES_WITHOUT_ANSWER else "media"


def _message_text(kind: str, message: JsonObject) -> str:
    """Return what the person said: their text, the label of what they chose, or the caption of what they sent."""
    content = optional_object(message, kind)
    if kind == "interactive":
        # A button's or a list row's label; what a form (flow) was filled in with, as JSON text.
        chosen = optional_object(content, short_text(content, "type"))
        return optional_text(chosen, "title") or optional_text(chosen, "response_json")
    field = {"text": "body", "button": "text", **dict.fromkeys(_FILE_TYPES, "caption")}.get(kind, "")
    return optional_text(content, field)


def _parse_media(kind: str, content: JsonObject) -> Media | None:
    if _envelope_kind(kind) != "media":
        return None
    return Media(
        kind=clean_text(kind)[:MAX_SHORT_TEXT_CHARS],
        url="",
        mime_type=short_text(content, "mime_type"),
        name=short_text(content, "filename") or short_text(content, "name"),
        caption=short_text(content, "caption"),
        id=short_text(content, "id"),
    )


def _message_metadata(kind: str, message: JsonObject, profile: JsonObject) -> JsonObject:
    content = optional_object(message, kind)
    chosen = optional_object(content, short_text(content, "type"))
    notes = {
        "type": clean_text(kind)[:MAX_SHORT_TEXT_CHARS],
        "sender_name": short_text(profile, "name"),
        "reply_to": short_text(optional_object(message, "context"), "id") or short_text(content, "message_id"),
        "button_id": short_text(content, "payload") or short_text(chosen, "id"),
        "emoji": short_text(content, "emoji"),
        "latitude": short_text(content, "latitude"),
        "longitude": short_text(content, "longitude"),
        **_error_metadata(next(iter(optional_objects(message, "errors")), {})),
    }
    return without_empty(notes)


def _error_metadata(error: JsonObject) -> dict[str, str]:
    """Return an error's code and its texts, the most specific first."""
    details = short_text(optional_object(error, "error_data"), "details")
    return {
        "code": short_text(error, "code"),
        "reason": details or short_text(error, "title") or short_text(error, "message"),
    }


def _routing_key(value: JsonObject) -> str:
    number = short_text(required_object(value.get("metadata"), "metadata"), "phone_number_id")
    if not _NUMBER_ID.fullmatch(number):
        raise MalformedPayload("metadata.phone_number_id must be digits")
    return f"whatsapp:{number}"
