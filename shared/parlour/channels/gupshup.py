"""Gupshup's webhook payloads, version 2, as envelopes. Pure.

One payload carries one event: `message` (somebody wrote), `message-event` (one of our messages got somewhere),
or news about the account, which concerns no conversation. The id that the send API answered with comes back
as `gsId` in sent, delivered and read events, whose `id` is then WhatsApp's; in enqueued and most failed events
it is `id` itself.
"""

from datetime import datetime
from typing import cast

from parlour.channels.envelope import Envelope, Kind, Media, Status, clean
from parlour.channels.fields import (
    LONGEST_NOTE,
    an_object,
    identifier,
    moment,
    note,
    optional,
    optional_object,
    phone,
    present,
    required,
)
from parlour.infra.errors import MalformedPayload
from parlour.infra.jsonable import Json, JsonObject

_CAPTIONED = frozenset({"image", "file", "audio", "video", "sticker"})
_CHOSEN = frozenset({"button_reply", "list_reply", "quick_reply"})
_WANTS_NO_ANSWER = frozenset({"reaction", "deleted", "system"})
"""A thumb or a withdrawal. Any other kind, known or not, is somebody waiting: it is answered as media is."""

_STATUSES = frozenset({"enqueued", "sent", "delivered", "read", "failed"})


def parse(payload: Json, now: datetime) -> list[Envelope]:
    """The envelopes in one webhook's JSON; none for news about the account and for statuses that change nothing.

    Raises MalformedPayload when it is not a version 2 payload or lacks what an envelope cannot do without.
    `now` stands in for a missing or impossible time.
    """
    event = an_object(payload, "the payload")
    kind = required(event, "type")
    if kind == "message":
        return [_message(event, now)]
    if kind == "message-event":
        return _statuses(event, now)
    return []


def _message(event: JsonObject, now: datetime) -> Envelope:
    message = an_object(event.get("payload"), "payload")
    content = optional_object(message, "payload")
    kind = required(message, "type")
    sender = phone(message.get("source"))
    if not sender:
        raise MalformedPayload("payload.source must be a phone number")
    return Envelope(
        channel="whatsapp",
        provider="gupshup",
        to=_our_side(event),
        sender=sender,
        provider_message_id=identifier(message, "id"),
        kind=_kind(kind),
        text=_words(kind, content),
        media=_media(kind, content),
        status="",
        sent_at=moment(event.get("timestamp"), 1000, now),
        metadata=_notes(kind, message, content),
    )


def _statuses(event: JsonObject, now: datetime) -> list[Envelope]:
    progress = an_object(event.get("payload"), "payload")
    status = required(progress, "type")
    if status not in _STATUSES:
        return []
    details = optional_object(progress, "payload")
    about = "gsId" if progress.get("gsId") else "id"
    envelope = Envelope(
        channel="whatsapp",
        provider="gupshup",
        to=_our_side(event),
        sender=phone(progress.get("destination")),
        provider_message_id=identifier(progress, about),
        kind="status",
        text="",
        media=None,
        status=cast(Status, status),
        sent_at=moment(details.get("ts"), 1, moment(event.get("timestamp"), 1000, now)),
        metadata=_reason(details),
    )
    return [envelope]


def _kind(kind: str) -> Kind:
    if kind == "text" or kind in _CHOSEN:
        return "text"
    return "other" if kind in _WANTS_NO_ANSWER else "media"


def _words(kind: str, content: JsonObject) -> str:
    """What the person said: their text, the label of what they chose, or the caption of what they sent."""
    fields = {"text": ("text",), **dict.fromkeys(_CAPTIONED, ("caption",)), **dict.fromkeys(_CHOSEN, ("text", "title"))}
    found = (content.get(field) for field in fields.get(kind, ()))
    return next((clean(text) for text in found if isinstance(text, str) and text), "")


def _media(kind: str, content: JsonObject) -> Media | None:
    if _kind(kind) != "media":
        return None
    return Media(
        kind=clean(kind)[:LONGEST_NOTE],
        url=optional(content, "url"),
        mime_type=note(content, "contentType"),
        name=note(content, "name"),
        caption=note(content, "caption"),
    )


def _notes(kind: str, message: JsonObject, content: JsonObject) -> JsonObject:
    notes = {
        "type": clean(kind)[:LONGEST_NOTE],
        "sender_name": note(optional_object(message, "sender"), "name"),
        "reply_to": note(optional_object(message, "context"), "gsId"),
        "postback": note(content, "postbackText"),
        "latitude": note(content, "latitude"),
        "longitude": note(content, "longitude"),
    }
    return present(notes)


def _reason(details: JsonObject) -> JsonObject:
    return present({"code": note(details, "code"), "reason": note(details, "reason")})


def _our_side(event: JsonObject) -> str:
    return f"gupshup:{identifier(event, 'app')}"
