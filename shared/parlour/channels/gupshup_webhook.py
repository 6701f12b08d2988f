"""Gupshup's webhook payloads, version 2, as envelopes. Pure.

One payload carries one event: `message` (somebody wrote), `message-event` (one of our messages got somewhere),
or news about the account, which concerns no conversation. The id that the send API answered with comes back
as `gsId` in sent, delivered and read events, whose `id` is then WhatsApp's; in enqueued and most failed events
it is `id` itself.
"""

from datetime import datetime
from typing import cast

from parlour.channels.envelope import DeliveryStatus, Envelope, EnvelopeKind, Media, clean_text
from parlour.channels.payload_fields import (
    MAX_SHORT_TEXT_CHARS,
    optional_object,
    optional_text,
    parse_phone,
    parse_time,
    required_id,
    required_object,
    required_text,
    short_text,
    without_empty,
)
from parlour.infra.errors import MalformedPayload
from parlour.infra.json_values import Json, JsonObject

_CAPTIONED_TYPES = frozenset({"image", "file", "audio", "video", "sticker"})
_CHOICE_TYPES = frozenset({"button_reply", "list_reply", "quick_reply"})
_TYPES_WITHOUT_ANSWER = frozenset({"reaction", "deleted", "system"})
"""A thumb or a withdrawal. Any other kind, known or not, is somebody waiting: it is answered as media is."""

_STATUSES = frozenset({"enqueued", "sent", "delivered", "read", "failed"})


def parse(payload: Json, now: datetime) -> list[Envelope]:
    """Return the envelopes in one webhook's JSON; none for account news and for statuses that change nothing.

    MalformedPayload when it is not a version 2 payload or lacks a required field. `now` replaces a missing or
    impossible time.
    """
    event = required_object(payload, "the payload")
    kind = required_text(event, "type")
    if kind == "message":
        return [_parse_message(event, now)]
    if kind == "message-event":
        progress = required_object(event.get("payload"), "payload")
        status = required_text(progress, "type")
        if status not in _STATUSES:
            return []
        details = optional_object(progress, "payload")
        about = "gsId" if progress.get("gsId") else "id"
        envelope = Envelope(
            channel="whatsapp",
            provider="gupshup",
            to=_routing_key(event),
            sender=parse_phone(progress.get("destination")),
            provider_message_id=required_id(progress, about),
            kind="status",
            text="",
            media=None,
            status=cast(DeliveryStatus, status),
            sent_at=parse_time(details.get("ts"), 1, parse_time(event.get("timestamp"), 1000, now)),
            metadata=without_empty({"code": short_text(details, "code"), "reason": short_text(details, "reason")}),
        )
        return [envelope]
    return []


def _parse_message(event: JsonObject, now: datetime) -> Envelope:
    message = required_object(event.get("payload"), "payload")
    content = optional_object(message, "payload")
    kind = required_text(message, "type")
    sender = parse_phone(message.get("source"))
    if not sender:
        raise MalformedPayload("payload.source must be a phone number")
    return Envelope(
        channel="whatsapp",
        provider="gupshup",
        to=_routing_key(event),
        sender=sender,
        provider_message_id=required_id(message, "id"),
        kind=_envelope_kind(kind),
        text=_message_text(kind, content),
        media=_parse_media(kind, content),
        status="",
        sent_at=parse_time(event.get("timestamp"), 1000, now),
        metadata=without_empty(
            {
                "type": clean_text(kind)[:MAX_SHORT_TEXT_CHARS],
                "sender_name": short_text(optional_object(message, "sender"), "name"),
                "reply_to": short_text(optional_object(message, "context"), "gsId"),
                "button_id": short_text(content, "postbackText"),
                "latitude": short_text(content, "latitude"),
                "longitude": short_text(content, "longitude"),
            }
        ),
    )


def _envelope_kind(kind: str) -> EnvelopeKind:
    if kind == "text" or kind in _CHOICE_TYPES:
        return "text"
    return "other" if kind in _TYPES_WITHOUT_ANSWER else "media"


def _message_text(kind: str, content: JsonObject) -> str:
    """Return what the person said: their text, the label of what they chose, or the caption of what they sent."""
    fields = {
        "text": ("text",),
        **dict.fromkeys(_CAPTIONED_TYPES, ("caption",)),
        **dict.fromkeys(_CHOICE_TYPES, ("text", "title")),
    }
    found = (content.get(field) for field in fields.get(kind, ()))
    return next((clean_text(text) for text in found if isinstance(text, str) and text), "")


def _parse_media(kind: str, content: JsonObject) -> Media | None:
    if _envelope_kind(kind) != "media":
        return None
    return Media(
        kind=clean_text(kind)[:MAX_SHORT_TEXT_CHARS],
        url=optional_text(content, "url"),
        mime_type=short_text(content, "contentType"),
        name=short_text(content, "name"),
        caption=short_text(content, "caption"),
    )


def _routing_key(event: JsonObject) -> str:
    return f"gupshup:{required_id(event, 'app')}"
