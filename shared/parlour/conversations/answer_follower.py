"""Following the answer to one message: the events of the turns that answer it, and no others of its session."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from parlour.conversations import event_feed, store
from parlour.conversations.rows import AnsweringTurn, Event
from parlour.inbox import threads
from parlour.infra.postgres import Transaction
from parlour.principal import Principal

_EVENTS_PER_LOOK = 200


@dataclass(frozen=True, slots=True)
class AnswerProgress:
    """What is new. replies: the texts of the replies whose `done` is among the events, by message id.

    is_over: the turns have ended, and these are their last events.
    """

    events: Sequence[Event] = ()
    replies: Mapping[UUID, str] = field(default_factory=dict)
    is_over: bool = False


@dataclass(slots=True)
class AnswerFollower:
    """One follower's place in the answer to a message, to the outcomes of tool calls, or to both.

    number    of the last event that was read; None before the first turn of the answer has begun.
    call_ids  the calls whose outcomes are waited for, because a person answered a question about them. One that the
              message is a typed answer to need not be among them.
    """

    session_id: UUID
    message_id: UUID | None
    call_ids: Sequence[UUID] = ()
    number: int | None = field(default=None, init=False)

    def read_new(self, principal: Principal, tx: Transaction) -> AnswerProgress:
        """Return what is new since the last look. The turns are read before their events, so an ended turn is whole."""
        answering = self._answering_turns(tx)
        turn_ids = {one.turn_id for one in answering if one.turn_id}
        has_ended = bool(answering) and all(one.turn_id and one.turn_state != "open" for one in answering)
        if self.number is None:
            first = [event.number for turn_id in turn_ids if (event := store.find_first_event(tx, turn_id))]
            if not first:
                return AnswerProgress(is_over=has_ended)
            self.number = min(first) - 1
        read = event_feed.list_events(principal, tx, self.session_id, self.number, _EVENTS_PER_LOOK)
        if read:
            self.number = read[-1].number
        events = [event for event in read if event.turn_id in turn_ids]
        replies: dict[UUID, str] = {}
        for event in events:
            if event.kind == "done":
                message_id = UUID(str(event.payload["message_id"]))
                replies[message_id] = store.find_reply_text(tx, self.session_id, message_id) or ""
        return AnswerProgress(events, replies, has_ended and len(read) < _EVENTS_PER_LOOK)

    def _answering_turns(self, tx: Transaction) -> list[AnsweringTurn]:
        """Return the turns that are followed; empty while one of them is not known."""
        rows = store.list_answering_turns(tx, self.session_id, self.message_id, self.call_ids)
        results = [one for one in rows if one.tool_call_id]
        messages = [one for one in rows if not one.tool_call_id]
        answered = {one.answers for one in messages if one.answers}
        is_known = {str(call_id) for call_id in self.call_ids} | answered == {one.tool_call_id for one in results}
        if not is_known or (self.message_id and not messages):
            return []
        return [*(one for one in messages if not one.answers), *results]


def is_left_to_people(tx: Transaction, session_id: UUID) -> bool:
    """Whether no turn of the session is open, and none begins, because the thread waits for a person or has one."""
    return not event_feed.has_open_turn(tx, session_id) and threads.who_answers(tx, session_id)[0] != "agent"


def list_asked_calls(tx: Transaction, session_id: UUID, approval_ids: Sequence[UUID] = ()) -> Mapping[UUID, int]:
    """Return, by approval, the number of the event that told of its call: of open questions, and of those named."""
    return {row.approval_id: row.event_number for row in store.list_asked_calls(tx, session_id, approval_ids)}
