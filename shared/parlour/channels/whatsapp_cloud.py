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

from parlour.channels.envelope import Envelope, Kind, Media, Status, clean
from parlour.channels.fields import (
    LONGEST_NOTE,
    an_object,
    identifier,
    moment,
    note,
    objects,
    optional,
    optional_object,
    phone,
    present,
    required,
    user_id,
)
from parlour.infra.errors import MalformedPayload
from parlour.infra.jsonable import Json, JsonObject

_FILES = frozenset({"image", "document", "audio", "video", "sticker"})
_WANTS_NO_ANSWER = frozenset({"reaction", "system", "edit", "revoke", "request_welcome"})
"""A thumb, a changed number, a withdrawal. Any other kind, known or not, is somebody waiting."""

_STATUSES = frozenset({"sent", "delivered", "read", "failed"})
_NUMBER_ID = re.compile(r"[0-9]{1,32}")


@dataclass(frozen=True, slots=True)
class Batch:
    """What one webhook brought, in its order, and how many of its items could not be read."""

    envelopes: list[Envelope]
    unreadable: int


def parse(payload: Json, now: datetime) -> Batch:
    """The envelopes in one webhook's JSON; none for news about the account and for statuses that change nothing.

    An item that lacks what an envelope cannot do without is counted and left out, so that it does not take its
    neighbours with it. Raises MalformedPayload when this is no such webhook, or when nothing in it can be read.
    `now` stands in for a missing or impossible time.
    """
    if not isinstance(payload, dict) or payload.get("object") != "whatsapp_business_account":
        raise MalformedPayload("the payload must be an object of whatsapp_business_account")
    envelopes: list[Envelope] = []
    unreadable = 0
    for value in _values(payload):
        found, lost = _envelopes(value, now)
        envelopes += found
        unreadable += lost
    if unreadable and not envelopes:
        raise MalformedPayload("nothing in the payload can be read")
    return Batch(envelopes, unreadable)


def _values(payload: JsonObject) -> Iterator[JsonObject]:
    for entry in objects(payload, "entry"):
        for change in objects(entry, "changes"):
            if change.get("field") == "messages":
                yield optional_object(change, "value")


def _envelopes(value: JsonObject, now: datetime) -> tuple[list[Envelope], int]:
    known = objects(value, "contacts")
    contacts = {note(contact, name): contact for contact in known for name in ("user_id", "wa_id")}
    told = [item for item in objects(value, "statuses") if item.get("status") in _STATUSES]
    readers = [partial(_message, value, item, contacts, now) for item in objects(value, "messages")]
    readers += [partial(_status, value, item, now) for item in told]
    found: list[Envelope] = []
    for read in readers:
        try:
            found.append(read())
        except MalformedPayload:
            continue
    return found, len(readers) - len(found)


def _message(value: JsonObject, message: JsonObject, contacts: dict[str, JsonObject], now: datetime) -> Envelope:
    kind = required(message, "type")
    sender = phone(message.get("from")) or user_id(message.get("from_user_id"))
    if not sender:
        raise MalformedPayload("from must be a phone number, or from_user_id an id")
    profile = optional_object(contacts.get(sender.removeprefix("+"), {}), "profile")
    return Envelope(
        channel="whatsapp",
        provider="whatsapp_cloud",
        to=_our_side(value),
        sender=sender,
        provider_message_id=identifier(message, "id"),
        kind=_kind(kind),
        text=_words(kind, message),
        media=_media(kind, optional_object(message, kind)),
        status="",
        sent_at=moment(message.get("timestamp"), 1, now),
        metadata=_notes(kind, message, profile),
    )


def _status(value: JsonObject, status: JsonObject, now: datetime) -> Envelope:
    error = next(iter(objects(status, "errors")), {})
    return Envelope(
        channel="whatsapp",
        provider="whatsapp_cloud",
        to=_our_side(value),
        sender=phone(status.get("recipient_id")) or user_id(status.get("recipient_user_id")),
        provider_message_id=identifier(status, "id"),
        kind="status",
        text="",
        media=None,
        status=cast(Status, required(status, "status")),
        sent_at=moment(status.get("timestamp"), 1, now),
        metadata=present({**_reason(error), "callback": note(status, "biz_opaque_callback_data")}),
    )


def _kind(kind: str) -> Kind:
    if kind in {"text", "button", "interactive"}:
        return "text"
    return "other" if kind in _WANTS_NO_ANSWER else "media"


def _words(kind: str, message: JsonObject) -> str:
    """What the person said: their text, the label of what they chose, or the caption of what they sent."""
    content = optional_object(message, kind)
    if kind == "interactive":
        return _chosen(content)
    field = {"text": "body", "button": "text", **dict.fromkeys(_FILES, "caption")}.get(kind, "")
    return optional(content, field)


def _chosen(content: JsonObject) -> str:
    """A button's or a list row's label; what a form (flow) was filled in with, as JSON text."""
    chosen = optional_object(content, note(content, "type"))
    return optional(chosen, "title") or optional(chosen, "response_json")


def _media(kind: str, content: JsonObject) -> Media | None:
    if _kind(kind) != "media":
        return None
    return Media(
        kind=clean(kind)[:LONGEST_NOTE],
        url="",
        mime_type=note(content, "mime_type"),
        name=note(content, "filename") or note(content, "name"),
        caption=note(content, "caption"),
        id=note(content, "id"),
    )


def _notes(kind: str, message: JsonObject, profile: JsonObject) -> JsonObject:
    content = optional_object(message, kind)
    chosen = optional_object(content, note(content, "type"))
    notes = {
        "type": clean(kind)[:LONGEST_NOTE],
        "sender_name": note(profile, "name"),
        "reply_to": note(optional_object(message, "context"), "id") or note(content, "message_id"),
        "postback": note(content, "payload") or note(chosen, "id"),
        "emoji": note(content, "emoji"),
        "latitude": note(content, "latitude"),
        "longitude": note(content, "longitude"),
        **_reason(next(iter(objects(message, "errors")), {})),
    }
    return present(notes)


def _reason(error: JsonObject) -> dict[str, str]:
    """An error's code and its words, the most telling first."""
    details = note(optional_object(error, "error_data"), "details")
    return {"code": note(error, "code"), "reason": details or note(error, "title") or note(error, "message")}


def _our_side(value: JsonObject) -> str:
    number = note(an_object(value.get("metadata"), "metadata"), "phone_number_id")
    if not _NUMBER_ID.fullmatch(number):
        raise MalformedPayload("metadata.phone_number_id must be digits")
    return f"whatsapp:{number}"
