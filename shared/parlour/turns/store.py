"""The turns' way to the database: the named queries, and the records they read and write."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from parlour.channels.included import AWAITED
from parlour.infra.jsonable import Json
from parlour.infra.postgres import Transaction, jsonb
from parlour.infra.queries import Queries
from parlour.jobs.work_due import GRACE
from parlour.tenancy.sessions import title
from parlour.turns.records import (
    CallRow,
    Citation,
    Event,
    Held,
    HeldSession,
    Inbound,
    Lease,
    LlmCall,
    NewAttachment,
    NewMessage,
    NewReply,
    OpenTurn,
    OwnSession,
    ParkedTurn,
    Place,
    Reader,
    Received,
    StepRow,
    TranscriptRow,
    TurnEnd,
    TurnRow,
    Upload,
)

SQL = Queries.beside(__file__)


def take_lease(tx: Transaction, session_id: UUID, holder: UUID, now: datetime, until: datetime) -> Lease | None:
    """The session's lease, or None when somebody else holds it or there is no such session."""
    return tx.first(SQL["take_lease"], Lease, session_id=session_id, holder=holder, now=now, until=until)


def held(tx: Transaction, session_id: UUID) -> Held | None:
    """Until when the session is held; None when there is no such session."""
    return tx.first(SQL["lease_end"], Held, session_id=session_id)


def hold_session(tx: Transaction, session_id: UUID) -> HeldSession | None:
    """The session, locked until the transaction ends; None when it is gone."""
    return tx.first(SQL["hold_session"], HeldSession, session_id=session_id)


def waiting_since(tx: Transaction, session_id: UUID) -> datetime | None:
    """Since when something in the session waits for an answer; None when nothing does."""
    since: datetime | None = tx.value(SQL["waiting_since"], session_id=session_id)
    return since


def fence(tx: Transaction, lease: Lease, last_event: int) -> bool:
    """Whether the lease still holds; notes `last_event` as the number of the feed's newest event."""
    return tx.run(SQL["fence"], session_id=lease.id, token=lease.token, last_event=last_event) > 0


def release_lease(tx: Transaction, lease: Lease) -> None:
    """Let the session go."""
    tx.run(SQL["release_lease"], session_id=lease.id, token=lease.token)


def begin_turn(tx: Transaction, lease: Lease, turn_id: UUID, now: datetime) -> OpenTurn | None:
    """The session's open turn, or a new one over what is unanswered; None when there is nothing to answer.

    What came with a file that is still being fetched is answered once the file was seen to, or `AWAITED` after it came.
    """
    turn = tx.first(SQL["resume_turn"], OpenTurn, session_id=lease.id, holder=lease.holder)
    return turn or tx.first(
        SQL["open_turn"], OpenTurn,
        session_id=lease.id, turn_id=turn_id, holder=lease.holder, now=now, awaited_since=now - AWAITED,
    )  # fmt: skip


def refund_attempt(tx: Transaction, lease: Lease, turn_id: UUID) -> None:
    """The attempt was no fault of the turn's; it does not count."""
    tx.run(SQL["refund_attempt"], turn_id=turn_id, holder=lease.holder)


def inputs(tx: Transaction, turn_id: UUID) -> list[Inbound]:
    """The messages the turn answers, in order of arrival."""
    return tx.all(SQL["inputs"], Inbound, turn_id=turn_id)


def steps(tx: Transaction, turn_id: UUID) -> list[StepRow]:
    """The turn's committed steps."""
    return tx.all(SQL["steps"], StepRow, turn_id=turn_id)


def finished_calls(tx: Transaction, turn_id: UUID) -> list[CallRow]:
    """The turn's tool calls with their results."""
    return tx.all(SQL["finished_calls"], CallRow, turn_id=turn_id)


def complete_step(tx: Transaction, turn_id: UUID, step: StepRow, *, provider: str, model: str, now: datetime) -> None:
    """Commit what the model answered."""
    tx.run(
        SQL["complete_step"],
        turn_id=turn_id, number=step.number, blocks=jsonb(step.blocks), stop_reason=step.stop_reason,
        provider=provider, model=model, now=now,
    )  # fmt: skip


def insert_llm_calls(tx: Transaction, calls: Sequence[LlmCall]) -> None:
    """Commit the calls to providers that a step took."""
    tx.run_many(SQL["insert_llm_call"], [_fields(call) for call in calls])


def insert_tool_call(tx: Transaction, **fields: object) -> None:
    """Commit a finished tool call."""
    tx.run(SQL["insert_tool_call"], **fields)


def insert_events(tx: Transaction, session_id: UUID, events: Sequence[Event]) -> None:
    """Append to the session's feed."""
    tx.run_many(SQL["insert_event"], [{**_fields(event), "session_id": session_id} for event in events])


def events_after(tx: Transaction, session_id: UUID, reader: Reader, number: int, most: int) -> list[Event]:
    """The feed after `number`, if the reader may see the session."""
    return tx.all(
        SQL["events_after"], Event,
        session_id=session_id, user_id=reader.user_id, clearance=reader.clearance, number=number, most=most,
    )  # fmt: skip


def insert_message(tx: Transaction, message: NewMessage) -> Received | None:
    """Store an inbound message; None when its provider id was there already. It may name its session."""
    return tx.first(SQL["insert_message"], Received, **_fields(message), title=title.after(message.body))


def is_known(tx: Transaction, binding_id: UUID, provider_message_id: str) -> bool:
    """Whether a message of that name is there already."""
    values = {"binding_id": binding_id, "provider_message_id": provider_message_id}
    return tx.first(SQL["message_by_provider_id"], Received, **values) is not None


def message_by_provider_id(tx: Transaction, binding_id: UUID, provider_message_id: str) -> Received:
    """The message that was stored under this provider id."""
    return tx.one(
        SQL["message_by_provider_id"], Received, binding_id=binding_id, provider_message_id=provider_message_id
    )


def touch_session(tx: Transaction, session_id: UUID, now: datetime) -> None:
    """Note that the session is in use; locks its row, so that messages get their positions one writer at a time."""
    tx.run(SQL["touch_session"], session_id=session_id, now=now)


def start_upload(
    tx: Transaction, session_id: UUID, *, upload_id: UUID, name: str, size_bytes: int, object_key: str, most: int,
    given_up: datetime, now: datetime,
) -> bool:  # fmt: skip
    """Write down that something is about to be uploaded in the session; False when `most` wait for a message that were
    begun since `given_up`."""
    values = {"id": upload_id, "session_id": session_id, "name": name, "size_bytes": size_bytes, "now": now}
    return tx.run(SQL["start_upload"], object_key=object_key, most=most, given_up=given_up, **values) > 0


def abandoned_uploads(tx: Transaction, given_up: datetime, most: int) -> list[Upload]:
    """Uploads of the tenant's that were begun before `given_up` and that no message came with."""
    return tx.all(SQL["abandoned_uploads"], Upload, given_up=given_up, most=most)


def drop_uploads(tx: Transaction, ids: Sequence[UUID]) -> None:
    """Forget uploads that no message came with."""
    tx.run(SQL["drop_uploads"], ids=list(ids))


def uploads_of(tx: Transaction, session_id: UUID, ids: Sequence[UUID]) -> list[Upload]:
    """Those of the session's uploads that have these ids."""
    return tx.all(SQL["uploads_of"], Upload, session_id=session_id, ids=list(ids))


def attach(tx: Transaction, message: NewMessage, place: int, one: NewAttachment) -> bool:
    """Send something along with a message; False when it went with another one."""
    values = {name: getattr(one, name) for name in one.__slots__}
    sent = {"session_id": message.session_id, "message_id": message.id, "now": message.received_at, "place": place}
    return tx.run(SQL["attach"], **sent, **values) > 0


def own_session(tx: Transaction, session_id: UUID, user_id: UUID) -> OwnSession | None:
    """The session, if it is this user's."""
    return tx.first(SQL["own_session"], OwnSession, session_id=session_id, user_id=user_id)


def insert_reply(tx: Transaction, lease: Lease, turn_id: UUID, reply: NewReply) -> bool:
    """Store what the turn answers; False when this very reply was stored before."""
    values = {"session_id": lease.id, "binding_id": lease.binding_id, "turn_id": turn_id, "now": reply.at}
    columns = {"id": reply.id, "channel": reply.channel, "body": reply.body, "metadata": reply.metadata}
    return tx.run(SQL["insert_reply"], **values, **columns) > 0


def insert_citations(tx: Transaction, citations: Sequence[Citation]) -> None:
    """Store what a reply cites."""
    tx.run_many(SQL["insert_citation"], [_fields(citation) for citation in citations])


def finish_turn(tx: Transaction, lease: Lease, turn_id: UUID, end: TurnEnd, stage_ms: dict[str, Json]) -> bool:
    """Close the turn, settle its inputs and let the session go; False when it was closed before.

    The tenant is marked as one with something to embed, as `index.pending.mark` does it.
    """
    closed = tx.run(
        SQL["finish_turn"],
        session_id=lease.id,
        token=lease.token,
        turn_id=turn_id,
        state=end.state,
        degraded=end.degraded,
        problem=end.problem,
        stage_ms=stage_ms,
        called=jsonb([*end.called]) if end.called else None,
        standing=end.cache_state,
        now=end.at,
        embed_by=end.at + GRACE,
    )
    return closed > 0


def insert_tool_result(tx: Transaction, *, turn_id: UUID, **fields: object) -> Place | None:
    """Store what a tool call came to as a message of the session that asked; None when the turn is gone."""
    return tx.first(SQL["insert_tool_result"], Place, turn_id=turn_id, **fields)


def parked_turns(tx: Transaction, clearance: int, most: int) -> list[ParkedTurn]:
    """Failed turns that wait for somebody, oldest first."""
    return tx.all(SQL["parked_turns"], ParkedTurn, clearance=clearance, most=most)


def redrive_turn(tx: Transaction, turn_id: UUID, now: datetime, due_at: datetime) -> Place | None:
    """Open the turn again; None when it does not wait any more, or another of its session is open."""
    session_id = tx.value(SQL["session_of_turn"], turn_id=turn_id)
    if session_id is None or hold_session(tx, session_id) is None:
        return None
    return tx.first(SQL["redrive_turn"], Place, turn_id=turn_id, now=now, due_at=due_at)


def dismiss_turn(tx: Transaction, turn_id: UUID, now: datetime) -> bool:
    """Leave the turn as it is; False when it does not wait any more."""
    return tx.run(SQL["dismiss_turn"], turn_id=turn_id, now=now) > 0


def turn_views(
    tx: Transaction, *, turn_id: UUID | None, session_id: UUID | None, clearance: int, most: int
) -> list[TurnRow]:
    """Turns as an operator of that clearance sees them, newest first."""
    return tx.all(SQL["turn_views"], TurnRow, turn_id=turn_id, session_id=session_id, clearance=clearance, most=most)


def transcript(tx: Transaction, session_id: UUID, reader: Reader, most: int) -> list[TranscriptRow]:
    """The newest messages of a session that the reader may see, newest first."""
    return tx.all(
        SQL["transcript"], TranscriptRow,
        session_id=session_id, user_id=reader.user_id, clearance=reader.clearance, most=most,
    )  # fmt: skip


def _fields(record: object) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__slots__}  # type: ignore[attr-defined]
