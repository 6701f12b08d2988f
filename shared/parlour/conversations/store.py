"""The turns' way to the database: the named queries, and the records they read and write."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from uuid import UUID

from parlour.channels.attachment_content import MAX_FILE_WAIT
from parlour.channels.read_receipts import ReceivedMessageRow
from parlour.conversations.rows import (
    AnsweringSession,
    AnsweringTurn,
    AskedCall,
    Citation,
    ClosedTurn,
    Event,
    FailedTurn,
    FeedEnd,
    FinishedCallRow,
    HandoffCounts,
    HandoffRow,
    InboundMessage,
    InboxTrigger,
    Lease,
    LlmCall,
    LockedSession,
    NewAttachment,
    NewMessage,
    NewReply,
    NewUpload,
    OpenTurn,
    PassedFence,
    PendingUpload,
    PressedButton,
    ReplyAddress,
    ReplyText,
    SessionQueue,
    SessionReader,
    StepRow,
    StopCause,
    StopRequestRow,
    StoredMessage,
    StoredToolResult,
    TranscriptRow,
    TurnEnd,
    TurnHandoff,
    TurnRow,
    UnreadAnswer,
    WritableSession,
)
from parlour.conversations.sessions import title
from parlour.infra.json_values import Json
from parlour.infra.postgres import Transaction, jsonb
from parlour.infra.queries import Queries
from parlour.jobs.work_due import SWEEP_DELAY
from parlour.text.citation_markers import number_for_reader

SQL = Queries.for_module(__file__)

#: How long passing events stay: the pieces of a streamed reply, and signs of progress. A follower whose connection
#: broke resumes within it.
KEEP_PASSING_EVENTS = timedelta(days=1)

#: How long after a message the next one belongs to the same burst: what the queue for messaging delays a wake by.
BURST_WINDOW = timedelta(seconds=2)

MAX_TURN_MESSAGES, MAX_TURN_BYTES = 50, 64 * 1024
"""What one turn answers at most; what somebody sends beyond that waits for the next turn."""

MAX_JOINED_MESSAGES = 10
"""Messages that join a running turn between two steps at most."""

MAX_JOINED_BYTES = 2_000
"""Bytes of text that join a turn at most, about 500 tokens: its prompt was budgeted before they came."""


def acquire_lease(
    tx: Transaction,
    session_id: UUID,
    holder_id: UUID,
    now: datetime,
    expires_at: datetime,
    deadline: datetime | None = None,
) -> Lease | None:
    """Return the session's lease, or None when another worker holds it or there is no such session.

    Until `deadline`, when its invocation is over at the latest, the worker counts as one of the tenant's; one without
    a deadline never does.
    """
    return tx.first(
        SQL["acquire_lease"],
        Lease,
        session_id=session_id,
        holder=holder_id,
        now=now,
        until=expires_at,
        deadline=deadline,
    )


def list_unread_answers(tx: Transaction, session_id: UUID, posted_at: datetime) -> list[UnreadAnswer]:
    """Return what the user wrote and no turn has read yet, in order; the questions were posted at `posted_at`."""
    return tx.all(SQL["list_unread_answers"], UnreadAnswer, session_id=session_id, posted_at=posted_at)


def mark_as_answer(tx: Transaction, message_id: UUID, tool_call_id: UUID | None = None) -> None:
    """Record that a message needs no turn, and which call it answered a question about, if it did."""
    tx.run(SQL["mark_as_answer"], id=message_id, tool_call_id=str(tool_call_id) if tool_call_id else None)


def list_pressed_buttons(tx: Transaction, turn_id: UUID) -> list[PressedButton]:
    """Return the turn's input messages with their buttons."""
    return tx.all(SQL["list_pressed_buttons"], PressedButton, turn_id=turn_id)


def count_running_turns(tx: Transaction, session_id: UUID, now: datetime) -> int:
    """Return how many workers the tenant's turns hold, besides the session's own: a worker whose lease ended holds its
    place until its invocation is over."""
    return int(tx.value(SQL["count_running_turns"], session_id=session_id, now=now) or 0)


def leave_wake(tx: Transaction, session_id: UUID, now: datetime) -> bool | None:
    """Leave a wake to the worker that holds the session; False when nobody does any more, None without a session."""
    is_held: bool | None = tx.value(SQL["leave_wake"], session_id=session_id, now=now)
    return is_held


def find_newest_received(tx: Transaction, turn_id: UUID) -> ReceivedMessageRow | None:
    """Return the newest of a turn's messages that a provider delivered; None for the web's and results of tools."""
    return tx.first(SQL["find_newest_received"], ReceivedMessageRow, turn_id=turn_id)


def lock_session(tx: Transaction, session_id: UUID) -> LockedSession | None:
    """Return the session, locked until the transaction ends; None when it is gone."""
    return tx.first(SQL["lock_session"], LockedSession, session_id=session_id)


def lock_approval_session(tx: Transaction, approval_id: UUID) -> None:
    """Lock the session of a question until the transaction ends."""
    tx.value(SQL["lock_approval_session"], approval_id=approval_id)


def find_unanswered_since(tx: Transaction, session_id: UUID) -> datetime | None:
    """Since when something in the session waits for an answer; None when nothing does."""
    since: datetime | None = tx.value(SQL["find_unanswered_since"], session_id=session_id)
    return since


def pass_fence(tx: Transaction, lease: Lease, turn_id: UUID, last_event_number: int) -> PassedFence | None:
    """Note the number of the feed's newest event; None when the lease does not hold any more."""
    values = {"session_id": lease.id, "token": lease.token, "turn_id": turn_id, "last_event": last_event_number}
    return tx.first(SQL["pass_fence"], PassedFence, **values)


def find_stop_cause(tx: Transaction, turn_id: UUID) -> StopCause | None:
    """Return why the turn is to end; None when nobody wants that."""
    cause: StopCause | None = tx.value(SQL["find_stop_cause"], turn_id=turn_id)
    return cause


def request_stop_of_open_turn(
    tx: Transaction, session_id: UUID, cause: StopCause, now: datetime, *, spares_questions: bool
) -> bool:
    """Have the session's open turn end; False when there is none, or when a question is open and is to be spared."""
    values = {"session_id": session_id, "cause": cause, "now": now, "spares_questions": spares_questions}
    return tx.value(SQL["request_stop_of_open_turn"], **values) is not None


def request_stop(
    tx: Transaction, session_id: UUID, turn_id: UUID, cause: StopCause, now: datetime
) -> StopRequestRow | None:
    """Have a turn of the session end, if anything of it is under way; None when the session has no such turn."""
    values = {"session_id": session_id, "turn_id": turn_id, "cause": cause, "now": now}
    return tx.first(SQL["request_stop"], StopRequestRow, **values)


def renew_lease(tx: Transaction, lease: Lease, until: datetime) -> bool:
    """Hold the session until `until`; False when somebody else has it by now, or it was let go."""
    return tx.run(SQL["renew_lease"], session_id=lease.id, token=lease.token, until=until) > 0


def open_wake_group(tx: Transaction, session_id: UUID) -> int:
    """Return the number of a FIFO group that no dead worker holds; the session is woken there from now on."""
    number: int = tx.value(SQL["open_wake_group"], session_id=session_id)
    return number


def release_lease(tx: Transaction, lease: Lease) -> None:
    """Let the session go."""
    tx.run(SQL["release_lease"], session_id=lease.id, token=lease.token, holder=lease.holder_id)


def open_or_resume_turn(tx: Transaction, lease: Lease, turn_id: UUID, now: datetime) -> OpenTurn | None:
    """Return the session's open turn, or a new one over the unanswered messages; None when there are none.

    A turn answers at most `MAX_TURN_MESSAGES` messages with `MAX_TURN_BYTES` bytes of text, and at least one. A message
    whose file is still being fetched waits until it is stored or refused, or `MAX_FILE_WAIT` has passed.
    """
    turn = tx.first(SQL["resume_turn"], OpenTurn, session_id=lease.id, holder=lease.holder_id)
    return turn or tx.first(
        SQL["open_turn"],
        OpenTurn,
        session_id=lease.id,
        turn_id=turn_id,
        holder=lease.holder_id,
        now=now,
        awaited_since=now - MAX_FILE_WAIT,
        max_messages=MAX_TURN_MESSAGES,
        max_bytes=MAX_TURN_BYTES,
    )


def open_person_turn(
    tx: Transaction, lease: Lease, turn_id: UUID, now: datetime, answers: Collection[str]
) -> OpenTurn | None:
    """Return a new turn that a person answers, over the unanswered messages of some kinds.

    None while a turn of the agent is open.
    """
    values = {"session_id": lease.id, "turn_id": turn_id, "now": now, "answers": [*answers]}
    return tx.first(SQL["open_person_turn"], OpenTurn, **values)


def delete_empty_turn(tx: Transaction, turn_id: UUID) -> None:
    """Delete a turn that was opened just now and answers nothing."""
    tx.run(SQL["delete_empty_turn"], turn_id=turn_id)


def has_reply(tx: Transaction, message_id: UUID) -> bool:
    """Whether this very message was stored before."""
    return bool(tx.value(SQL["has_reply"], message_id=message_id))


def find_reply_address(tx: Transaction, session_id: UUID) -> ReplyAddress | None:
    """Return where the session's user is reached; None when there is no session."""
    return tx.first(SQL["find_reply_address"], ReplyAddress, session_id=session_id)


def find_inbox_trigger(tx: Transaction, session_id: UUID, turn_id: UUID) -> InboxTrigger | None:
    """Return what of the turn's tool calls needs a person."""
    return tx.first(SQL["find_inbox_trigger"], InboxTrigger, session_id=session_id, turn_id=turn_id)


def insert_notice(tx: Transaction, *, interim_turn_id: UUID | None = None, **fields: object) -> None:
    """Store a line that belongs to no turn. interim_turn_id: the turn that an interim line announces."""
    tx.run(SQL["insert_notice"], interim_turn_id=interim_turn_id, **fields)


def refund_attempt(tx: Transaction, lease: Lease, turn_id: UUID) -> None:
    """Uncount an attempt that failed through no fault of the turn."""
    tx.run(SQL["refund_attempt"], turn_id=turn_id, holder=lease.holder_id)


def list_answering_turns(
    tx: Transaction, session_id: UUID, message_id: UUID | None, tool_call_ids: Sequence[UUID]
) -> list[AnsweringTurn]:
    """Return the turns that answer a message or the results of tool calls, by when each came.

    A message that answered a question comes with the result of the question's call, once there is one.
    """
    return tx.all(
        SQL["list_answering_turns"],
        AnsweringTurn,
        session_id=session_id,
        message_id=message_id,
        tool_call_ids=[str(call_id) for call_id in tool_call_ids],
    )


def find_first_event(tx: Transaction, turn_id: UUID) -> Event | None:
    """Return the first event of a turn, if it has one."""
    return tx.first(SQL["find_first_event"], Event, turn_id=turn_id)


def find_reply_text(tx: Transaction, session_id: UUID, message_id: UUID) -> str | None:
    """Return the text of a reply as its reader sees it; None when it is not there."""
    reply = tx.first(SQL["find_reply_text"], ReplyText, session_id=session_id, message_id=message_id)
    return number_for_reader(reply.text, reply.cited_numbers) if reply else None


def find_last_cited_numbers(tx: Transaction, session_id: UUID) -> list[int]:
    """Return the numbers of what the newest reply with citations cites, as its reader counts them."""
    cited_numbers: list[int] | None = tx.value(SQL["find_last_cited_numbers"], session_id=session_id)
    return cited_numbers or []


def list_asked_calls(tx: Transaction, session_id: UUID, approval_ids: Sequence[UUID]) -> list[AskedCall]:
    """Return where the feed told of the calls that open questions, or these, are about."""
    return tx.all(SQL["list_asked_calls"], AskedCall, session_id=session_id, approval_ids=list(approval_ids))


def list_input_messages(tx: Transaction, turn_id: UUID) -> list[InboundMessage]:
    """Return the messages the turn answers, in order of arrival."""
    return tx.all(SQL["list_input_messages"], InboundMessage, turn_id=turn_id)


def list_waiting_texts(tx: Transaction, session_id: UUID) -> list[str]:
    """Return the texts of the session that no turn has read yet, in order of arrival."""
    texts: list[str] | None = tx.value(SQL["list_waiting_texts"], session_id=session_id)
    return texts or []


def join_messages(tx: Transaction, session_id: UUID, turn_id: UUID, channel: str, step: int) -> list[InboundMessage]:
    """Have the session's unanswered texts of a channel join the turn after a step; return them, in order of arrival."""
    tx.run(
        SQL["join_messages"],
        session_id=session_id,
        turn_id=turn_id,
        channel=channel,
        step=step,
        max_messages=MAX_JOINED_MESSAGES,
        max_bytes=MAX_JOINED_BYTES,
    )
    return [one for one in list_input_messages(tx, turn_id) if one.joined_step == step]


def list_steps(tx: Transaction, turn_id: UUID) -> list[StepRow]:
    """Return the turn's committed steps."""
    return tx.all(SQL["list_steps"], StepRow, turn_id=turn_id)


def list_finished_calls(tx: Transaction, turn_id: UUID) -> list[FinishedCallRow]:
    """Return the turn's tool calls with their results."""
    return tx.all(SQL["list_finished_calls"], FinishedCallRow, turn_id=turn_id)


def complete_step(tx: Transaction, turn_id: UUID, step: StepRow, *, provider: str, model: str, now: datetime) -> None:
    """Commit what the model answered."""
    tx.run(
        SQL["complete_step"],
        turn_id=turn_id,
        number=step.number,
        blocks=jsonb(step.blocks),
        stop_reason=step.stop_reason,
        provider=provider,
        model=model,
        now=now,
    )


def insert_llm_calls(tx: Transaction, calls: Sequence[LlmCall]) -> None:
    """Commit the calls to providers that a step took."""
    tx.run_many(SQL["insert_llm_call"], [_row_columns(call) for call in calls])


def insert_tool_call(tx: Transaction, **fields: object) -> None:
    """Commit a finished tool call."""
    tx.run(SQL["insert_tool_call"], **fields)


def insert_events(tx: Transaction, session_id: UUID, events: Sequence[Event]) -> None:
    """Append to the session's feed."""
    tx.run_many(SQL["insert_event"], [{**_row_columns(event), "session_id": session_id} for event in events])


def insert_first_event(tx: Transaction, session_id: UUID, event: Event) -> bool:
    """Append the first event of a turn's attempt; False when it is there already."""
    return tx.run(SQL["insert_first_event"], **_row_columns(event), session_id=session_id) > 0


def list_events_after(tx: Transaction, session_id: UUID, reader: SessionReader, number: int, limit: int) -> list[Event]:
    """Return the feed after `number`, if the reader may see the session."""
    return tx.all(
        SQL["list_events_after"],
        Event,
        session_id=session_id,
        user_id=reader.user_id,
        clearance=reader.clearance,
        sees_reasoning=reader.sees_reasoning,
        number=number,
        most=limit,
    )


def find_newest_numbers(tx: Transaction, session_ids: Collection[UUID]) -> dict[UUID, int]:
    """Return the number of the newest event, by session."""
    rows = tx.all(SQL["find_newest_numbers"], FeedEnd, session_ids=[*session_ids])
    return {row.session_id: row.last_event_number for row in rows}


def insert_message(tx: Transaction, message: NewMessage) -> StoredMessage | None:
    """Store an inbound message; None when its provider id was there already. It may name its session."""
    values = {"title": title.make_title(message.body), "quiet_since": message.received_at - BURST_WINDOW}
    return tx.first(SQL["insert_message"], StoredMessage, **_row_columns(message), **values)


def has_message(tx: Transaction, binding_id: UUID, provider_message_id: str) -> bool:
    """Whether a message of that name is there already."""
    values = {"binding_id": binding_id, "provider_message_id": provider_message_id}
    return tx.first(SQL["find_message_by_provider_id"], StoredMessage, **values) is not None


def get_message_by_provider_id(tx: Transaction, binding_id: UUID, provider_message_id: str) -> StoredMessage:
    """Return the message that was stored under this provider id."""
    return tx.one(
        SQL["find_message_by_provider_id"],
        StoredMessage,
        binding_id=binding_id,
        provider_message_id=provider_message_id,
    )


def mark_session_active(tx: Transaction, session_id: UUID, address: str, now: datetime) -> None:
    """Note that the session is in use; locks its row, so that messages get their positions one writer at a time."""
    tx.run(SQL["mark_session_active"], session_id=session_id, address=address, now=now)


def create_upload(
    tx: Transaction,
    session_id: UUID,
    upload: NewUpload,
    *,
    object_key: str,
    max_waiting: int,
    abandoned_before: datetime,
    now: datetime,
) -> bool:
    """Store an announced upload; False when `max_waiting` younger than `abandoned_before` are not sent yet."""
    limits = {"max_waiting": max_waiting, "abandoned_before": abandoned_before}
    row = {"session_id": session_id, "object_key": object_key, "now": now, **asdict(upload)}
    return tx.run(SQL["create_upload"], **row, **limits) > 0


def lock_abandoned_uploads(tx: Transaction, abandoned_before: datetime, limit: int) -> list[PendingUpload]:
    """Return and lock the tenant's oldest uploads that were announced before then and never sent."""
    return tx.all(SQL["lock_abandoned_uploads"], PendingUpload, abandoned_before=abandoned_before, limit=limit)


def delete_uploads(tx: Transaction, ids: Sequence[UUID]) -> None:
    """Forget uploads that no message came with."""
    tx.run(SQL["delete_uploads"], ids=list(ids))


def find_uploads(tx: Transaction, session_id: UUID, ids: Sequence[UUID]) -> list[PendingUpload]:
    """Those of the session's uploads that have these ids."""
    return tx.all(SQL["find_uploads"], PendingUpload, session_id=session_id, ids=list(ids))


def add_attachment(tx: Transaction, message: NewMessage, position: int, attachment: NewAttachment) -> bool:
    """Send something along with a message; False when it went with another one."""
    values = {name: getattr(attachment, name) for name in attachment.__slots__}
    sent = {"session_id": message.session_id, "message_id": message.id, "now": message.received_at, "place": position}
    return tx.run(SQL["add_attachment"], **sent, **values) > 0


def find_own_session(tx: Transaction, session_id: UUID, user_id: UUID) -> WritableSession | None:
    """Return the session, if it is this user's."""
    return tx.first(SQL["find_own_session"], WritableSession, session_id=session_id, user_id=user_id)


def insert_reply(tx: Transaction, lease: Lease, turn_id: UUID, reply: NewReply) -> bool:
    """Store what the turn answers; False when this very reply was stored before."""
    values = {"session_id": lease.id, "binding_id": lease.binding_id, "turn_id": turn_id, "now": reply.at}
    columns = {"id": reply.id, "channel": reply.channel, "body": reply.body, "metadata": reply.metadata}
    return tx.run(SQL["insert_reply"], **values, **columns) > 0


def insert_citations(tx: Transaction, citations: Sequence[Citation]) -> None:
    """Store what a reply cites."""
    tx.run_many(SQL["insert_citation"], [_row_columns(citation) for citation in citations])


def finish_turn(
    tx: Transaction, lease: Lease, turn_id: UUID, end: TurnEnd, stage_ms: dict[str, Json]
) -> ClosedTurn | None:
    """Close the turn, settle its inputs and let the session go; None when it was closed before.

    The tenant is marked as one with something to embed, as `index.pending.mark` does it.
    """
    return tx.first(
        SQL["finish_turn"],
        ClosedTurn,
        session_id=lease.id,
        token=lease.token,
        holder=lease.holder_id,
        turn_id=turn_id,
        state=end.state,
        degraded=end.degraded,
        problem=end.problem,
        stage_ms=stage_ms,
        called=jsonb([*end.called]) if end.called else None,
        standing=end.cache_state,
        now=end.at,
        embed_by=end.at + SWEEP_DELAY,
        delete_passing_at=end.at + KEEP_PASSING_EVENTS,
    )


def delete_passing_events(tx: Transaction, before: datetime, limit: int) -> int:
    """Delete streamed text and signs of progress that were sent before a time, at most `limit`. Return how many."""
    return tx.run(SQL["delete_passing_events"], before=before, most=limit)


def find_oldest_passing_event(tx: Transaction) -> datetime | None:
    """Return when the tenant's oldest passing event was sent; None without any."""
    found: datetime | None = tx.value(SQL["find_oldest_passing_event"])
    return found


def insert_tool_result(tx: Transaction, *, turn_id: UUID, **fields: object) -> StoredToolResult | None:
    """Store what a tool call came to as a message of the session that asked; None when the session is gone."""
    session_id = find_session_of_turn(tx, turn_id)
    if session_id is not None:
        lock_session(tx, session_id)  # the end of the turn is either committed by now or waits
    return tx.first(SQL["insert_tool_result"], StoredToolResult, turn_id=turn_id, **fields)


def list_failed_turns(tx: Transaction, clearance: int, limit: int, session_id: UUID | None) -> list[FailedTurn]:
    """Failed turns that wait for somebody, oldest first."""
    return tx.all(SQL["list_failed_turns"], FailedTurn, clearance=clearance, most=limit, session_id=session_id)


def redrive_turn(tx: Transaction, turn_id: UUID, now: datetime, due_at: datetime) -> SessionQueue | None:
    """Open the turn again; None when it does not wait any more, or another of its session is open."""
    session_id = find_session_of_turn(tx, turn_id)
    if session_id is None or lock_session(tx, session_id) is None:
        return None
    return tx.first(SQL["redrive_turn"], SessionQueue, turn_id=turn_id, now=now, due_at=due_at)


def find_session_of_turn(tx: Transaction, turn_id: UUID) -> UUID | None:
    """Return the session that a turn is of; None when there is no such turn."""
    session_id: UUID | None = tx.value(SQL["find_session_of_turn"], turn_id=turn_id)
    return session_id


def dismiss_turn(tx: Transaction, turn_id: UUID, now: datetime) -> bool:
    """Leave the turn as it is; False when it does not wait any more."""
    return tx.run(SQL["dismiss_turn"], turn_id=turn_id, now=now) > 0


def list_turn_rows(
    tx: Transaction,
    *,
    clearance: int,
    limit: int,
    turn_id: UUID | None = None,
    session_id: UUID | None = None,
    before: tuple[datetime, UUID] | None = None,
) -> list[TurnRow]:
    """Return turns as an operator of that clearance sees them, newest first, from before a moment and an id on."""
    before_at, before_id = before or (None, None)
    return tx.all(
        SQL["list_turn_rows"],
        TurnRow,
        turn_id=turn_id,
        session_id=session_id,
        before_at=before_at,
        before_id=before_id,
        clearance=clearance,
        most=limit,
    )


def list_transcript(
    tx: Transaction, session_id: UUID, reader: SessionReader, limit: int, before_id: UUID | None = None
) -> list[TranscriptRow]:
    """Return the newest messages of a session that the reader may see, or those before one of them, newest first."""
    return tx.all(
        SQL["list_transcript"],
        TranscriptRow,
        session_id=session_id,
        user_id=reader.user_id,
        clearance=reader.clearance,
        before_id=before_id,
        most=limit,
    )


def _row_columns(record: object) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__slots__}  # type: ignore[attr-defined]


def has_read_text_of_others(tx: Transaction, turn_ids: Sequence[UUID], source_ids: Sequence[UUID]) -> bool:
    """Return whether some turns or a briefing show such text. source_ids: the files and rows of the briefing."""
    found = tx.value(SQL["has_read_text_of_others"], turn_ids=list(turn_ids), source_ids=list(source_ids))
    return found is not None


def read_shown_level(tx: Transaction, session_id: UUID, turn_id: UUID) -> int:
    return int(tx.value(SQL["read_shown_level"], session_id=session_id, turn_id=turn_id))


def lock_answering_session(tx: Transaction, session_id: UUID) -> AnsweringSession | None:
    """Return the session with who answers in it, locked until the transaction ends; None when it is gone."""
    return tx.first(SQL["lock_answering_session"], AnsweringSession, session_id=session_id)


def count_handoffs(tx: Transaction, session_id: UUID, window: int) -> HandoffCounts:
    """Count the session's handoffs within the user's last `window` messages."""
    return tx.one(SQL["count_handoffs"], HandoffCounts, session_id=session_id, window=window)


def insert_handoff(tx: Transaction, values: Mapping[str, object]) -> None:
    """Hand a session to another binding."""
    tx.run(SQL["insert_handoff"], **values)


def find_handoff(tx: Transaction, session_id: UUID, idempotency_key: str) -> HandoffRow | None:
    """Return the handoff of a call or request; None when it did not happen."""
    return tx.first(SQL["find_handoff"], HandoffRow, session_id=session_id, idempotency_key=idempotency_key)


def find_handoff_of_turn(tx: Transaction, turn_id: UUID) -> TurnHandoff | None:
    """Return the handoff that the turn's model asked for."""
    return tx.first(SQL["find_handoff_of_turn"], TurnHandoff, turn_id=turn_id)


def find_handoff_to_turn(tx: Transaction, turn_id: UUID) -> HandoffRow | None:
    """Return the handoff that the turn is the first one after."""
    return tx.first(SQL["find_handoff_to_turn"], HandoffRow, turn_id=turn_id)


def mark_shown_levels(
    tx: Transaction, session_id: UUID, turn_id: UUID, *, level: int, clearance: int, builtin: Sequence[str]
) -> None:
    """Mark what the turns before this one were shown; `builtin` are the tools whose results name their sources."""
    values = {"session_id": session_id, "turn_id": turn_id, "level": level, "clearance": clearance}
    tx.run(SQL["mark_shown_levels"], builtin=[*builtin], **values)
