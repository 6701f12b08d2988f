"""Conversations that people answer, as they go in and out as JSON."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field, JsonValue

from parlour.api.schemas import OptionalText, RequestModel, ResponseModel
from parlour.channels.templates import MAX_BODY_UNITS, TemplateChoice
from parlour.conversations.inbox_messages import MAX_CHARS
from parlour.inbox.events import EventKind
from parlour.inbox.thread import ThreadReason, ThreadState
from parlour.inbox.threads import MAX_INSTRUCTION_CHARS, MAX_NOTE_CHARS, ThreadRow
from parlour.infra.errors import InvalidRequest
from parlour.principal import Principal


class LastMessageView(ResponseModel):
    """The beginning of a conversation's latest message."""

    text: str
    direction: Literal["inbound", "outbound"]
    at: datetime


class InboxConversationView(ResponseModel):
    """A conversation of the inbox.

    claim             names who answers; every move raises it, and a message has to name it.
    is_mine           whether the caller has it.
    reason_text       a sentence about the reason; empty when the reason says all.
    undecided_count   items of /v1/attention in it that a person has to decide.
    unanswered_count  messages that the agent answers once it has the conversation back.
    last_inbound_at   when the user last wrote: WhatsApp takes free text for 24 hours.
    """

    session_id: UUID
    state: ThreadState
    claim: int
    is_mine: bool
    assignee_name: str | None
    reason: ThreadReason
    reason_text: str
    priority: int
    title: str
    channel: str
    binding: str
    binding_name: str
    user_id: UUID
    user_name: str | None
    last_message: LastMessageView | None
    undecided_count: int
    unanswered_count: int
    last_inbound_at: datetime | None
    opened_at: datetime
    answered_at: datetime | None
    closed_at: datetime | None
    snoozed_until: datetime | None
    first_response_due_at: datetime | None
    resolution_due_at: datetime | None

    @classmethod
    def from_row(cls, row: ThreadRow, reader: Principal) -> "InboxConversationView":
        """Return a row of the inbox as JSON has it."""
        values = {
            name: getattr(row.thread if hasattr(row.thread, name) else row, name)
            for name in cls.model_fields
            if name != "is_mine"
        }
        is_mine = row.thread.state == "person" and row.thread.assignee == reader.name
        return cls.model_validate({**values, "is_mine": is_mine})


class InboxPageView(ResponseModel):
    """Some conversations, the most urgent and the oldest first; `next_cursor` reads on, "" when these are the last."""

    conversations: list[InboxConversationView]
    next_cursor: str


class InboxCountsView(ResponseModel):
    """How many conversations are held, by state; `mine`: the caller's; `escalated`: those that waited too long.

    undecided  those that are not held, and in which a person has to decide something.
    """

    waiting: int
    person: int
    snoozed: int
    mine: int
    escalated: int
    undecided: int


class InboxEventView(ResponseModel):
    """Something that happened to a conversation. `body`: a private note, or an instruction for the agent."""

    id: UUID
    number: int
    session_id: UUID
    kind: EventKind
    actor_name: str
    message_id: UUID | None
    body: str
    details: dict[str, JsonValue]
    at: datetime


class InboxEventPageView(ResponseModel):
    """Events of a conversation, oldest first. Read on from the last one's `number`."""

    events: list[InboxEventView]


class InboxOpening(RequestModel):
    """Bring a conversation to the inbox, with a sentence on why."""

    text: Annotated[OptionalText, Field(max_length=500)] = ""


class InboxAssignment(RequestModel):
    """The member who gets the conversation."""

    member_id: UUID


class InboxMemberView(ResponseModel):
    """A member to whom a conversation may be given."""

    id: UUID
    display_name: str


class InboxMemberListView(ResponseModel):
    """Members to whom a conversation may be given, by name."""

    members: list[InboxMemberView]


class InboxTemplate(RequestModel):
    """A template of the conversation's channel, and a value for each of its placeholders, in their order."""

    name: Annotated[OptionalText, Field(min_length=1, max_length=512)]
    language: Annotated[OptionalText, Field(max_length=10)] = ""
    values: Annotated[list[Annotated[OptionalText, Field(max_length=MAX_BODY_UNITS)]], Field(max_length=50)]


class InboxMessage(RequestModel):
    """What a person writes to the user: `text`, or a `template` where the channel takes no free text any more.

    client_id  a repeat with the same one is sent once.
    """

    text: Annotated[OptionalText, Field(min_length=1, max_length=MAX_CHARS)] | None = None
    template: InboxTemplate | None = None
    claim: Annotated[int, Field(ge=1, lt=2**63)]
    client_id: Annotated[OptionalText, Field(max_length=100)] = ""

    def to_content(self) -> str | TemplateChoice:
        """Return what is to be sent; InvalidRequest unless exactly one of the two is given."""
        if (self.text is None) == (self.template is None):
            raise InvalidRequest("give `text`, or a `template` with its values")
        if self.template is None:
            return self.text or ""
        return TemplateChoice(self.template.name, self.template.language, self.template.values)


class InboxNote(RequestModel):
    """A private note, for people only. `client_id`: a repeat with the same one is stored once."""

    text: Annotated[OptionalText, Field(min_length=1, max_length=MAX_NOTE_CHARS)]
    client_id: Annotated[OptionalText, Field(max_length=100)] = ""


class InboxHandBack(RequestModel):
    """What the agent's next turn reads as the operator's word; empty for nothing."""

    instruction: Annotated[OptionalText, Field(max_length=MAX_INSTRUCTION_CHARS)] = ""


class InboxSnooze(RequestModel):
    """Until when the conversation is put off; it comes back sooner if the user writes."""

    until: AwareDatetime


class InboxMessageView(ResponseModel):
    """A message that was stored and is being sent."""

    message_id: UUID


class InboxNoteView(ResponseModel):
    """A note that was stored."""

    id: UUID
