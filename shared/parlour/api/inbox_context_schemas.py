"""What a person reads beside a conversation of the inbox, as JSON."""

from datetime import datetime
from uuid import UUID

from pydantic import JsonValue

from parlour.api.schemas import ResponseModel
from parlour.channels import outgoing_message, templates
from parlour.conversations import inbox_messages
from parlour.conversations.rows import ReplyAddress
from parlour.inbox.events import EventKind


class TriedCallView(ResponseModel):
    """A tool call, without its arguments and result."""

    name: str
    state: str
    code: str | None
    at: datetime


class RememberedFactView(ResponseModel):
    """What is remembered of the user."""

    key: str
    value: str


class TemplateView(ResponseModel):
    """An approved message that a person may send after the window closed.

    text          with its placeholders, such as {{1}}.
    placeholders  their names, in the order in which a message has their values.
    """

    name: str
    language: str
    text: str
    placeholders: list[str]


class ReplyWindowView(ResponseModel):
    """Until when the channel takes free text. closes_at: null where it always does, or the user never wrote."""

    is_open: bool
    closes_at: datetime | None
    templates: list[TemplateView]


class InboxContextView(ResponseModel):
    """What a person needs to know of a conversation.

    summary       that of memory, else the last question and answer.
    tried         tool calls of the last turns, newest first.
    open_effects  effects that run, or whose outcome is unknown.
    """

    summary: str
    tried: list[TriedCallView]
    open_effects: list[TriedCallView]
    facts: list[RememberedFactView]
    window: ReplyWindowView


class SavedReplyView(ResponseModel):
    """A text to insert, by language."""

    name: str
    texts: dict[str, str]


class SavedReplyListView(ResponseModel):
    """The tenant's saved replies, by name."""

    saved_replies: list[SavedReplyView]


class InboxFeedEventView(ResponseModel):
    """Something that happened in the inbox; its conversation says the rest."""

    number: int
    session_id: UUID
    kind: EventKind
    details: dict[str, JsonValue]
    at: datetime


class InboxFeedView(ResponseModel):
    """Events of all conversations in order. Ask again with `after` = `last_number` for what comes next."""

    events: list[InboxFeedEventView]
    last_number: int


def reply_window(address: ReplyAddress, now: datetime) -> ReplyWindowView:
    """Return until when the channel that a person would write on takes free text."""
    is_open = inbox_messages.takes_free_text(address, now)
    if address.channel == "web":
        return ReplyWindowView(is_open=is_open, closes_at=None, templates=[])
    wrote_at = address.last_inbound_at
    shown = [
        TemplateView(name=one.name, language=one.language, text=one.text, placeholders=[*one.placeholders])
        for one in templates.list_choices(address.channel_settings)
    ]
    closes_at = wrote_at + outgoing_message.CUSTOMER_SERVICE_WINDOW if wrote_at else None
    return ReplyWindowView(is_open=is_open, closes_at=closes_at, templates=shown)
