"""What a person reads beside a conversation of the inbox, as JSON."""

from datetime import datetime
from uuid import UUID

from pydantic import JsonValue

from parlour.api.schemas import ResponseModel
from parlour.channels import outgoing_message
from parlour.inbox.events import EventKind
from parlour.inbox.threads import ThreadRow


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
    """An approved message that may be sent after the window closed; the text becomes its parameter."""

    name: str
    language: str


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


def reply_window(row: ThreadRow, now: datetime) -> ReplyWindowView:
    """Return until when the conversation's channel takes free text."""
    if row.channel == "web":
        return ReplyWindowView(is_open=True, closes_at=None, templates=[])
    closes_at = row.last_inbound_at + outgoing_message.CUSTOMER_SERVICE_WINDOW if row.last_inbound_at else None
    template = outgoing_message.ChannelAccount("", "", row.channel_settings or {}).template
    shown = [TemplateView(name=template.name, language=template.language)] if template else []
    is_open = outgoing_message.is_window_open(row.last_inbound_at, now)
    return ReplyWindowView(is_open=is_open, closes_at=closes_at, templates=shown)
