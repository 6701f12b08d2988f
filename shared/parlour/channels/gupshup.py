"""Gupshup's webhook payloads, version 2, as envelopes. Pure.

One payload carries one event: `message` (somebody wrote), `message-event` (one of our messages got somewhere),
or news about the account, which concerns no conversation. The id that the send API answered with comes back
as `gsId` in sent, delivered and read events, whose `id` is then WhatsApp's; in enqueued and most failed events
it is `id` itself.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import cast

from parlour.channels.envelope import Envelope, Kind, Media, Status, clean
from parlour.infra.errors import MalformedPayload
from parlour.infra.jsonable import Json, JsonObject

_PHONE = re.compile(r"\+?([1-9][0-9]{4,14})")
"""E.164 without its plus is how Gupshup writes a number: a country code and at most 15 digits."""

_LONGEST_ID = 256
_LONGEST_NOTE = 1024
"""Names, captions and reasons are notes beside the message; longer ones are cut (WhatsApp's own limit of a caption)."""

_CAPTIONED = frozenset({"image", "file", "audio", "video", "sticker"})
_CHOSEN = frozenset({"button_reply", "list_reply", "quick_reply"})
_WANTS_NO_ANSWER = frozenset({"reaction", "deleted", "system"})
"""A thumb or a withdrawal. Any other kind, known or not, is somebody waiting: it is answered as media is."""

_STATUSES = frozenset({"enqueued", "sent", "delivered", "read", "failed"})
_CLOCK_SKEW = timedelta(days=1)
_EARLIEST = datetime(2009, 1, 1, tzinfo=UTC)
"""There was no WhatsApp before; a time outside of this and tomorrow is a broken clock's."""


def parse(payload: Json, now: datetime) -> list[Envelope]:
    """The envelopes in one webhook's JSON; none for news about the account and for statuses that change nothing.

    Raises MalformedPayload when it is not a version 2 payload or lacks what an envelope cannot do without.
    `now` stands in for a missing or impossible time.
    """
    event = _object(payload, "the payload")
    kind = _required(event, "type")
    if kind == "message":
        return [_message(event, now)]
    if kind == "message-event":
        return _statuses(event, now)
    return []


def _message(event: JsonObject, now: datetime) -> Envelope:
    message = _object(event.get("payload"), "payload")
    content = _optional_object(message, "payload")
    kind = _required(message, "type")
    sender = _phone(message.get("source"))
    if not sender:
        raise MalformedPayload("payload.source must be a phone number")
    return Envelope(
        channel="whatsapp",
        provider="gupshup",
        to=_our_side(event),
        sender=sender,
        provider_message_id=_identifier(message, "id"),
        kind=_kind(kind),
        text=_words(kind, content),
        media=_media(kind, content),
        status="",
        sent_at=_moment(event.get("timestamp"), 1000, now),
        metadata=_notes(kind, message, content),
    )


def _statuses(event: JsonObject, now: datetime) -> list[Envelope]:
    progress = _object(event.get("payload"), "payload")
    status = _required(progress, "type")
    if status not in _STATUSES:
        return []
    details = _optional_object(progress, "payload")
    about = "gsId" if progress.get("gsId") else "id"
    envelope = Envelope(
        channel="whatsapp",
        provider="gupshup",
        to=_our_side(event),
        sender=_phone(progress.get("destination")),
        provider_message_id=_identifier(progress, about),
        kind="status",
        text="",
        media=None,
        status=cast(Status, status),
        sent_at=_moment(details.get("ts"), 1, _moment(event.get("timestamp"), 1000, now)),
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
        kind=clean(kind)[:_LONGEST_NOTE],
        url=_optional(content, "url"),
        mime_type=_note(content, "contentType"),
        name=_note(content, "name"),
        caption=_note(content, "caption"),
    )


def _notes(kind: str, message: JsonObject, content: JsonObject) -> JsonObject:
    notes = {
        "type": clean(kind)[:_LONGEST_NOTE],
        "sender_name": _note(_optional_object(message, "sender"), "name"),
        "reply_to": _note(_optional_object(message, "context"), "gsId"),
        "postback": _note(content, "postbackText"),
        "latitude": _note(content, "latitude"),
        "longitude": _note(content, "longitude"),
    }
    return _present(notes)


def _reason(details: JsonObject) -> JsonObject:
    return _present({"code": _note(details, "code"), "reason": _note(details, "reason")})


def _present(notes: Mapping[str, str]) -> JsonObject:
    return {name: note for name, note in notes.items() if note}


def _our_side(event: JsonObject) -> str:
    return f"gupshup:{_identifier(event, 'app')}"


def _identifier(body: JsonObject, field: str) -> str:
    value = clean(_required(body, field))
    if not value or len(value) > _LONGEST_ID:
        raise MalformedPayload(f"{field} must be 1 to {_LONGEST_ID} characters")
    return value


def _phone(value: Json) -> str:
    digits = _PHONE.fullmatch(str(value)) if isinstance(value, str | int) else None
    return f"+{digits[1]}" if digits else ""


def _moment(value: Json, per_second: int, otherwise: datetime) -> datetime:
    try:
        moment = datetime.fromtimestamp(float(cast(str, value)) / per_second, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return otherwise
    return moment if _EARLIEST < moment < otherwise + _CLOCK_SKEW else otherwise


def _object(value: Json, called: str) -> JsonObject:
    if not isinstance(value, dict):
        raise MalformedPayload(f"{called} must be an object")
    return value


def _optional_object(body: JsonObject, field: str) -> JsonObject:
    value = body.get(field)
    return value if isinstance(value, dict) else {}


def _required(body: JsonObject, field: str) -> str:
    value = body.get(field)
    if not isinstance(value, str) or not value:
        raise MalformedPayload(f"{field} must be text")
    return value


def _optional(body: JsonObject, field: str) -> str:
    value = body.get(field)
    return clean(value) if isinstance(value, str) else ""


def _note(body: JsonObject, field: str) -> str:
    value = body.get(field)
    return clean(str(value))[:_LONGEST_NOTE] if isinstance(value, str | int | float) else ""
