"""What goes in and out as JSON. Times are ISO 8601 with offset; clearance is 0 public to 3 restricted."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal, Self
from uuid import UUID

from fastapi import Query
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from parlour.channels.envelope import clean_text
from parlour.conversations.attachment_uploads import MAX_ATTACHMENTS as MOST_ATTACHED
from parlour.infra.page_cursor import MAX_CURSOR_CHARS
from parlour.pulse.pulse import MAX_QUESTION_CHARS


class RequestModel(BaseModel):
    """A request's body: unknown fields are refused, so that a misspelt one is not silently ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ResponseModel(BaseModel):
    """A response's body, read off one of our records."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


def _clean(value: object) -> object:
    return clean_text(value).strip() if isinstance(value, str) else value


def _storable(value: str) -> str:
    if "\0" in value:
        raise ValueError("must not contain NUL")
    return value


SingleLine = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
Host = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.:\[\]-]{1,260}$")]
ClientId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:-]{1,64}$")]
RecordReference = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""A handle (`task/T-112`) or an id; what is neither is not found."""

PageCursor = Annotated[str, Query(max_length=MAX_CURSOR_CHARS, description="`next_cursor` of the page before")]

OptionalText = Annotated[str, BeforeValidator(_clean), StringConstraints(max_length=8_000)]
Clearance = Annotated[int, Field(ge=0, le=3)]
UsdAmount = Annotated[Decimal, PlainSerializer(lambda amount: f"{amount:f}", return_type=str, when_used="json")]
"""US dollars: a decimal number as text, so that no reader rounds it."""
Roles = Annotated[list[Literal["admin", "editor", "viewer"]], Field(max_length=3)]
PackPath = Annotated[str, StringConstraints(min_length=1, max_length=300), AfterValidator(_storable)]
PackText = Annotated[str, AfterValidator(_storable)]


class NewSession(RequestModel):
    """Whom to talk to: the host that a binding's web channel names, or a binding (slug or id) of a tenant.

    entity: the record that the conversation is to be about, by handle or id.
    challenge: the answer of the challenge that the page shows to new visitors, where the deployment has one.
    resume: go on with the visitor's latest conversation about that, or about nothing, if they have one.
    """

    host: Host | None = None
    binding: Slug | None = None
    tenant: Slug | None = None
    entity: RecordReference | None = None
    resume: bool = False
    challenge: Annotated[str, Field(max_length=4_096)] = ""

    @model_validator(mode="after")
    def _check_one_way(self) -> Self:
        by_host = self.host is not None and self.binding is None and self.tenant is None
        by_name = self.host is None and self.binding is not None and self.tenant is not None
        if not by_host and not by_name:
            raise ValueError("give either host, or binding and tenant")
        return self


class AttachmentReference(RequestModel):
    """Something to be sent along with a message: an upload of its session, or a file of the tenant's by its id."""

    upload: UUID | None = None
    file: UUID | None = None

    @model_validator(mode="after")
    def _check_one_of_both(self) -> Self:
        if (self.upload is None) == (self.file is None):
            raise ValueError("give either upload or file")
        return self


class NewMessage(RequestModel):
    """What a visitor writes: 1 to 8,000 characters, or none where something is sent along. Posting the same
    client_message_id again changes nothing."""

    attachments: Annotated[list[AttachmentReference], Field(max_length=MOST_ATTACHED)] = []
    text: Annotated[OptionalText, Field(validate_default=True)] = ""
    client_message_id: ClientId | None = None

    @field_validator("text")
    @classmethod
    def _check_not_empty(cls, text: str, info: ValidationInfo) -> str:
        if not text and not info.data.get("attachments"):
            raise ValueError("give a text or an attachment")
        return text


class PulseCapChange(RequestModel):
    """What the tenant's Pulses may cost a day, in US dollars; null: what the deployment says."""

    pulse_daily_cap_usd: Decimal | None


class PulseRefresh(RequestModel):
    """A Pulse to be written now, or what somebody wants to know about the record instead."""

    question: Annotated[PackText, StringConstraints(max_length=MAX_QUESTION_CHARS)] = ""


class FactChange(RequestModel):
    """What a fact says instead."""

    value: Annotated[OptionalText, StringConstraints(min_length=1)]


class SharedFactChange(RequestModel):
    """Something to be known to a whole persona (human) or team, by its slug."""

    scope: Literal["human", "team"]
    slug: SingleLine
    key: Annotated[SingleLine, StringConstraints(min_length=1, max_length=80)]
    value: Annotated[OptionalText, StringConstraints(min_length=1)]


class ToolCallResolution(RequestModel):
    """What became of a tool call: it was done, or it was not and may be run again."""

    resolution: Literal["done", "run_again"]


class ReplyResolution(RequestModel):
    """What became of a reply: it arrived; or it did not, and is sent again or let be."""

    resolution: Literal["arrived", "send_again", "dismiss"]


class TurnResolution(RequestModel):
    """What to do about a turn that failed: answer it now, or let it be."""

    resolution: Literal["redrive", "dismiss"]


class NotificationResolution(RequestModel):
    """What to do about a notification that was not delivered."""

    resolution: Literal["send_again", "dismiss"]


class PublicAgent(ResponseModel):
    """An agent as a visitor meets it."""

    slug: str
    name: str
    greeting: str


class RecordLabel(ResponseModel):
    """A record by its handle (`task/T-112`) and name."""

    handle: str
    name: str


class MessageAccepted(ResponseModel):
    """A message that was stored and will be answered."""

    message_id: UUID
    received_at: datetime


class CitationView(ResponseModel):
    """What a reply's `[number]` stands for; each reply counts from 1, in the order of first use.

    link  its page in the console, for members who may read records.
    """

    number: int
    title: str
    locator: str
    link: str | None = None


class AttachmentView(ResponseModel):
    """What came with a message: an image, a text, or anything else, of which an agent heard the name."""

    kind: Literal["image", "text", "other"]
    name: str
    media_type: str
    size_bytes: int


class MessageView(ResponseModel):
    """One message of a session; turn_id: the turn that answers it or wrote it, null before a turn took it;
    answered_by: of a reply, the agent or the person who wrote it; is_stopped: it is what there was of a reply when its
    turn was stopped."""

    id: UUID
    turn_id: UUID | None
    direction: Literal["inbound", "outbound"]
    text: str
    at: datetime
    citations: list[CitationView]
    attachments: list[AttachmentView] = []
    answered_by: str = ""
    is_stopped: bool = False


class MessagePageView(ResponseModel):
    """Some messages of a session, oldest first; `next_cursor` leads to those before them, "" when there are none."""

    messages: list[MessageView]
    next_cursor: str


class NewErasure(RequestModel):
    """What is to be forgotten; `keep_records`: what its turns did to the tenant's records stays, and is listed."""

    kind: Literal["user", "message", "file", "fact"]
    id: UUID
    dry_run: bool = False
    keep_records: bool = False
