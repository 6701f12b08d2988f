"""The one shape that every provider's payload becomes before anybody else sees it."""

from dataclasses import asdict, dataclass
from typing import Literal

from pydantic import AwareDatetime, ValidationError

from parlour.infra.errors import MalformedPayload
from parlour.infra.json_values import JsonObject, from_json, type_adapter

type Channel = Literal["whatsapp", "web"]
type Provider = Literal["gupshup", "whatsapp_cloud", "web"]
type EnvelopeKind = Literal["text", "media", "status", "other"]
type DeliveryStatus = Literal["", "enqueued", "sent", "delivered", "read", "failed"]

_MAX_TEXT_BYTES = 64 * 1024
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
        """Return it as it is stored beside a message."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Envelope:
    """One event of a provider: somebody wrote, or the status of one of our messages changed.

    to                   our side's routing key: `gupshup:<app>`, `whatsapp:<phone number id>`
    sender               the person's phone, E.164 with `+`, or Meta's id of a person who hides it ("US.1349..."); for a
                         status, the recipient of our message, "" if unknown
    provider_message_id  of the message itself; for a status, of our message that it is about
    kind                 text; media (anything that is not text); status; other (a reaction: nobody awaits an answer)
    text                 what they wrote, chose or captioned, cleaned; "" when there is none
    status               how far our message got; "" unless kind is status
    sent_at              when it happened, by the provider's clock
    metadata             small and optional: sender_name, type (the provider's), reply_to, button_id, code, reason,
                         callback (what we sent with the message that a status is about)
    """

    channel: Channel
    provider: Provider
    to: str
    sender: str
    provider_message_id: str
    kind: EnvelopeKind
    text: str
    media: Media | None
    status: DeliveryStatus
    sent_at: AwareDatetime
    metadata: JsonObject

    @property
    def group_id(self) -> str:
        """What is kept in order on its way in: one person's traffic with one of our numbers."""
        return f"{self.channel}|{self.to}|{self.sender}"

    @property
    def problem(self) -> str:
        """Why our message failed, by the provider's code and words; "" when it did not or nobody said."""
        return ": ".join(str(self.metadata[name]) for name in ("code", "reason") if name in self.metadata)

    @property
    def deduplication_id(self) -> str:
        """The same for a repeated delivery of the same event, and for nothing else."""
        return f"{self.channel}|{self.kind}|{self.provider_message_id}|{self.status}"

    def to_json(self) -> JsonObject:
        """Return it as the body of a queue's message, every field by its name."""
        body: JsonObject = type_adapter(Envelope).dump_python(self, mode="json")
        return body

    @classmethod
    def from_json(cls, body: JsonObject) -> "Envelope":
        """Return the envelope that a body has; MalformedPayload names the first field that is missing or wrong."""
        try:
            return from_json(cls, body)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise MalformedPayload(f"envelope: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def clean_text(text: str) -> str:
    """`text` as Postgres and everybody after it can hold it.

    Without NUL and lone surrogates, with line ends as `\\n`, and cut at 64 KiB of UTF-8; otherwise as written.
    """
    whole = text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
    return whole.encode("utf-8", "ignore")[:_MAX_TEXT_BYTES].decode("utf-8", "ignore")
