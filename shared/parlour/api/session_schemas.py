"""Sessions as they go in and out as JSON, and the phone that one of them is joined with."""

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import StringConstraints

from parlour.api.schemas import PackText, PublicAgent, RecordLabel, RequestModel, ResponseModel
from parlour.api.schemas import SingleLine as OneLine
from parlour.conversations.sessions.session_lists import SessionListItem
from parlour.conversations.stop_requests import StopResult
from parlour.inbox.threads import Answering
from parlour.principal import Principal
from parlour.records.crud import Record
from parlour.tenancy.rows import SessionVisibility
from parlour.tenancy.users import Session

PhoneNumber = Annotated[PackText, StringConstraints(min_length=1, max_length=40)]
LinkCode = Annotated[PackText, StringConstraints(min_length=1, max_length=20)]


class OpenedSession(ResponseModel):
    """A session and the token that every further call about it must carry as a bearer.

    visitor_token       good for all of the visitor's conversations with this agent: to list them and go on with one, to
                        join them with a phone. Given to a new visitor, and to one who showed it; never to a member, who
                        signs in and names the agent in the header Parlour-Agent.
    visitor_expires_at  until when that one is good; `expires_at` is the session's.
    resumed             whether it is a conversation that they had already.
    """

    session_id: UUID
    token: str
    visitor_token: str | None = None
    visitor_expires_at: datetime | None = None
    expires_at: datetime
    binding: PublicAgent
    entity: RecordLabel | None = None
    resumed: bool = False


class SessionView(ResponseModel):
    """A session; `entity` is the record that it is about, if the reader may see it.

    visibility  who else of the tenant reads it besides its user and the viewers: private, role_gated (editors), shared.
    user_id     whose it is, for those of the tenant who may see what is remembered of them.
    is_main     whether what its user writes on a phone comes here.
    last_event  the number of its newest event: whoever has read the messages goes on from there.
    answering   who answers: the agent, nobody yet (it waits for a person), or a person; null in lists.
    person      the person who answers.
    has_open_turn  whether a turn of it runs or is about to; null in lists.
    """

    id: UUID
    channel: str
    title: str
    visibility: str
    pinned: bool
    archived: bool
    is_main: bool
    created_at: datetime
    last_active_at: datetime
    last_event: int
    entity: RecordLabel | None = None
    user_id: UUID | None = None
    answering: Answering | None = None
    person: str | None = None
    has_open_turn: bool | None = None

    @classmethod
    def from_session(cls, reader: Principal, found: Session | SessionListItem, about: Record | None) -> Self:
        """Return a session as its reader sees it; `about` is its record, if the reader may see that."""
        told: dict[str, object] = {
            "id": found.id,
            "channel": found.channel,
            "title": found.title,
            "visibility": found.visibility,
            "pinned": found.pinned_at is not None,
            "archived": found.archived_at is not None,
            "is_main": found.is_main,
            "created_at": found.created_at,
            "last_active_at": found.last_active_at,
            "last_event": found.last_event_number,
            "entity": RecordLabel(handle=about.handle, name=about.name) if about else None,
            "user_id": found.user_id if reader.has_role("viewer") else None,
            "last_message_preview": (found.last_message_preview or "") if isinstance(found, SessionListItem) else "",
        }
        return cls.model_validate(told)


class NewHandoff(RequestModel):
    """To which agent a conversation goes, by its binding's slug.

    brief       what that agent must know; it reads it with its next turn.
    client_id   makes a repeated request the same handoff.
    """

    to: Annotated[OneLine, StringConstraints(min_length=1, max_length=64)]
    reason: Annotated[PackText, StringConstraints(max_length=300)] = ""
    brief: Annotated[PackText, StringConstraints(max_length=1_000)] = ""
    client_id: Annotated[OneLine, StringConstraints(max_length=64)] = ""


class HandoffView(ResponseModel):
    """Who answers in a conversation from its next turn on, and who did before."""

    id: UUID
    to: str
    name: str
    from_name: str


class SessionListItemView(SessionView):
    """A session in a list; `last_message_preview` is how what was said there last begins."""

    last_message_preview: str


class SessionPageView(ResponseModel):
    """Some sessions; `next_cursor` reads on, "" when these are the last."""

    sessions: list[SessionListItemView]
    next_cursor: str


class SessionPatch(RequestModel):
    """What is to be different of one's own session; what is left out stays.

    visibility  who else of the tenant may read it: nobody but its viewers (private), editors too (role_gated), every
                member (shared). Nothing is remembered of what is said while others may read it.
    """

    title: OneLine | None = None
    pinned: bool | None = None
    archived: bool | None = None
    visibility: SessionVisibility | None = None


class PhoneLinkRequest(RequestModel):
    """A number, with its country code, that the visitor says is theirs.

    consent: that what was said here and there is to be one, seen and remembered on both channels. Without it nothing is
    sent.
    """

    phone: PhoneNumber
    consent: bool


class PhoneLinkStarted(ResponseModel):
    """A code is on its way, if the number can be reached; give it back under `link_id` while it is good."""

    link_id: UUID
    expires_at: datetime
    message: str


class PhoneLinkCode(RequestModel):
    """The code as it came."""

    code: LinkCode


class PhoneLinked(ResponseModel):
    """Where the conversation goes on; the session's token, and one for all of a visitor's with this agent.

    A visitor's two channels meet in this session. A member stays in theirs, and gets no `visitor_token`.
    """

    session_id: UUID
    token: str
    visitor_token: str | None
    visitor_expires_at: datetime | None
    expires_at: datetime


class TurnStopView(ResponseModel):
    """What a request to stop a turn came to.

    state                 stopping: it ends within a moment; else how it has ended.
    running_write         the tool that is changing something and is not cut off; null for none.
    cancelled_tool_calls  heavy calls of the turn that were cancelled; their results start no turn.
    """

    turn_id: UUID
    state: Literal["stopping", "stopped", "answered", "failed"]
    running_write: str | None
    cancelled_tool_calls: int
    message: str

    @classmethod
    def from_result(cls, turn_id: UUID, result: StopResult) -> Self:
        """Return the view of a result, with what people read of it."""
        return cls(
            turn_id=turn_id,
            state="stopping" if result.state == "open" else result.state,
            running_write=result.running_write or None,
            cancelled_tool_calls=result.cancelled,
            message=_stop_message(result),
        )


def _stop_message(result: StopResult) -> str:
    if result.state == "open" and result.running_write:
        return f"Stopping once {result.running_write} is done: a change that was begun is not cut off."
    if result.state == "open":
        return "Stopping. What is written so far stays."
    if result.running_write:
        return f"This reply is complete. {result.running_write} ends by itself, and its result is kept."
    if result.cancelled:
        return "This reply is complete. The work that went on in the background is cancelled."
    return "This reply is complete; there is nothing to stop."
