"""The one shape that every provider's payload becomes before anybody else sees it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast, get_args

from parlour.infra.errors import MalformedPayload
from parlour.infra.jsonable import Json, JsonObject

type Channel = Literal["whatsapp", "web"]
type Provider = Literal["gupshup", "whatsapp_cloud", "web"]
type Kind = Literal["text", "media", "status", "other"]
type Status = Literal["", "enqueued", "sent", "delivered", "read", "failed"]

_LONGEST_BYTES = 64 * 1024
"""Text beyond this is cut, so that an envelope always fits a queue's message whatever the provider lets through."""


@dataclass(frozen=True, slots=True)
class Media:
    """Something sent that is not text: where it can be fetched for a while, and what the provider says it is.

    kind is the provider's word: image, file or document, audio, video, sticker; also location, contact and
    whatever comes next, which have neither url nor id.
    url  where it is (Gupshup); id  under which the provider is asked where it is (WhatsApp Cloud).
    """

    kind: str
    url: str
    mime_type: str = ""
    name: str = ""
    caption: str = ""
    id: str = ""

    def to_json(self) -> JsonObject:
        return {
            "kind": self.kind,
            "url": self.url,
            "mime_type": self.mime_type,
            "name": self.name,
            "caption": self.caption,
            "id": self.id,
        }

    @classmethod
    def from_json(cls, body: JsonObject) -> "Media":
        """The reverse of `to_json`; MalformedPayload when a field is missing or is not text."""
        found = {field: _text(body, field) for field in ("kind", "url", "mime_type", "name", "caption")}
        return cls(**found, id=_text({"id": "", **body}, "id"))  # envelopes on the queue since before have no id


@dataclass(frozen=True, slots=True)
class Envelope:
    """One thing that a provider told us: somebody wrote, or one of our messages got somewhere.

    to                   our side's routing key: `gupshup:<app>`, `whatsapp:<phone number id>`
    sender               whose phone it is, E.164 with `+`, or Meta's id of somebody who hides it (`US.1349...`); for a
                         status, whom our message went to, "" if unsaid
    provider_message_id  of the message itself; for a status, of the message of ours that it is about
    kind                 text; media (anything that is not text); status; other (a reaction: nobody awaits an answer)
    text                 what they wrote, chose or captioned, cleaned; "" when there is none
    status               how far our message got; "" unless kind is status
    sent_at              when it happened, by the provider's clock
    metadata             small and optional: sender_name, type (the provider's), reply_to, postback, code, reason,
                         callback (what we gave along with our message that a status is about)
    """

    channel: Channel
    provider: Provider
    to: str
    sender: str
    provider_message_id: str
    kind: Kind
    text: str
    media: Media | None
    status: Status
    sent_at: datetime
    metadata: JsonObject

    @property
    def group(self) -> str:
        """What is kept in order on its way in: one person's traffic with one of our numbers."""
        return f"{self.channel}|{self.to}|{self.sender}"

    @property
    def problem(self) -> str:
        """Why our message failed, by the provider's code and words; "" when it did not or nobody said."""
        return ": ".join(str(self.metadata[name]) for name in ("code", "reason") if name in self.metadata)

    @property
    def deduplication(self) -> str:
        """The same for a repeated delivery of the same event, and for nothing else."""
        return f"{self.channel}|{self.kind}|{self.provider_message_id}|{self.status}"

    def to_json(self) -> JsonObject:
        return {
            "channel": self.channel,
            "provider": self.provider,
            "to": self.to,
            "sender": self.sender,
            "provider_message_id": self.provider_message_id,
            "kind": self.kind,
            "text": self.text,
            "media": self.media.to_json() if self.media else None,
            "status": self.status,
            "sent_at": self.sent_at.isoformat(),
            "metadata": self.metadata,
        }

    @classmethod
    def from_json(cls, body: JsonObject) -> "Envelope":
        """The reverse of `to_json`; MalformedPayload names the first field that is missing or wrong."""
        media = body.get("media")
        return cls(
            channel=cast(Channel, _one_of(body, "channel", get_args(Channel.__value__))),
            provider=cast(Provider, _one_of(body, "provider", get_args(Provider.__value__))),
            to=_text(body, "to"),
            sender=_text(body, "sender"),
            provider_message_id=_text(body, "provider_message_id"),
            kind=cast(Kind, _one_of(body, "kind", get_args(Kind.__value__))),
            text=_text(body, "text"),
            media=None if media is None else Media.from_json(_object(body, "media")),
            status=cast(Status, _one_of(body, "status", get_args(Status.__value__))),
            sent_at=_moment(body, "sent_at"),
            metadata=_object(body, "metadata"),
        )


def clean(text: str) -> str:
    """`text` as Postgres and everybody after it can hold it.

    Without NUL and lone surrogates, with line ends as `\\n`, and cut at 64 KiB of UTF-8; otherwise as written.
    """
    whole = text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
    return whole.encode("utf-8", "ignore")[:_LONGEST_BYTES].decode("utf-8", "ignore")


def _text(body: JsonObject, field: str) -> str:
    value = body.get(field)
    if not isinstance(value, str):
        raise MalformedPayload(f"envelope: {field} must be text")
    return value


def _object(body: JsonObject, field: str) -> JsonObject:
    value: Json = body.get(field)
    if not isinstance(value, dict):
        raise MalformedPayload(f"envelope: {field} must be an object")
    return value


def _one_of(body: JsonObject, field: str, allowed: Sequence[str]) -> str:
    value = _text(body, field)
    if value not in allowed:
        raise MalformedPayload(f"envelope: {field} must be one of {', '.join(filter(None, allowed))}")
    return value


def _moment(body: JsonObject, field: str) -> datetime:
    try:
        moment = datetime.fromisoformat(_text(body, field))
    except ValueError:
        raise MalformedPayload(f"envelope: {field} must be an ISO 8601 time") from None
    if moment.tzinfo is None:
        raise MalformedPayload(f"envelope: {field} must carry its offset")
    return moment
