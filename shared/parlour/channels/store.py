"""The channels' way to the database: the outbox."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from parlour.channels.attachment_content import AttachmentContent
from parlour.channels.delivery_problem import StuckState
from parlour.channels.envelope import Channel
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.jobs.work_due import SWEEP_DELAY

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class OutboxReply:
    """An outbox row with what sending it needs.

    attempt_id       the sender that tried it last
    last_inbound_at  when the user last wrote on this channel
    waiting_since    when it was written, or a person last ordered it
    buttons          what the reader may choose from, if the reply asks something
    template         the template that a person chose, as `FilledTemplate.to_json` has it
    is_interim       whether it says that a turn is still at work; nobody decides about such a line
    is_obsolete      whether that turn has ended
    """

    id: UUID
    session_id: UUID
    state: str
    attempts: int
    part_count: int | None
    parts_sent: int
    attempt_id: UUID | None
    recipient: str
    channel: str
    waiting_since: datetime
    text: str
    last_inbound_at: datetime | None
    channel_settings: JsonObject | None
    secret_reference: str | None
    citations: list[JsonObject]
    cited_numbers: list[int]
    buttons: list[JsonObject]
    template: JsonObject | None
    is_interim: bool
    is_obsolete: bool


@dataclass(frozen=True, slots=True)
class PendingReply:
    """A reply that waits to be sent, and how often that was tried."""

    id: UUID
    session_id: UUID
    attempts: int


@dataclass(frozen=True, slots=True)
class PartConfirmation:
    """A reply of which a part was confirmed: where it is; `is_new` unless it has been there since an earlier word."""

    session_id: UUID
    state: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class UnsentReply:
    """A reply that is not sent yet: its session, since when it waits, and whether it is the session's oldest."""

    session_id: UUID
    created_at: datetime
    is_oldest: bool


@dataclass(frozen=True, slots=True)
class StuckReply:
    """A reply that waits for a person: `unknown` (it may have arrived), `held` (the channel takes no free text), or one
    that `failed` and may be sent again.

    turn_id is the turn that it answers; problem says what is known of why.
    """

    id: UUID
    turn_id: UUID | None
    session_id: UUID
    state: StuckState
    channel: Channel
    recipient: str
    text: str
    problem: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class WaitingReply(StuckReply):
    """A reply that is not sent yet, and is retried by itself.

    secret_name      what the binding calls the secret of its provider; None: it names none
    attempts         how often it was tried; an attempt with a missing or refused key does not count
    next_attempt_by  the latest time of the next attempt
    """

    secret_name: str | None
    attempts: int
    next_attempt_by: datetime


@dataclass(frozen=True, slots=True)
class ReplyState:
    """Where a row is, how often it was tried, and the clearance that seeing it needs."""

    session_id: UUID
    state: str
    attempts: int
    clearance: int


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """A stored message that has to leave. recipient: the address on the channel, for whatsapp a number in E.164."""

    outbox_id: UUID
    session_id: UUID
    message_id: UUID
    binding_id: UUID
    channel: str
    recipient: str


@dataclass(frozen=True, slots=True)
class DeliveryUpdate:
    """How far the provider says that a message of ours got; problem says why it failed."""

    state: str
    problem: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class MessageMedia:
    """What a message came with; media: as the envelope's, and later `stored` or `refused` beside it.

    secret is where the key to the provider is kept, of the binding as it is now.
    """

    message_id: UUID
    media: JsonObject
    received_at: datetime
    provider: str
    secret_reference: str | None


def add_reply(tx: Transaction, reply: NewDelivery, now: datetime, due_at: datetime) -> None:
    tx.run(SQL["add_reply"], **asdict(reply), now=now, due_at=due_at)


def lock_reply(tx: Transaction, outbox_id: UUID) -> OutboxReply | None:
    return tx.first(SQL["lock_reply"], OutboxReply, outbox_id=outbox_id)


def begin_attempt(tx: Transaction, outbox_id: UUID, part_count: int, attempt_id: UUID) -> None:
    tx.run(SQL["begin_attempt"], outbox_id=outbox_id, parts=part_count, sender=attempt_id)


def renew_lease(tx: Transaction, outbox_id: UUID, attempt_id: UUID, until: datetime) -> bool:
    """Return False when the row is not this sender's any more."""
    return tx.run(SQL["renew_lease"], outbox_id=outbox_id, sender=attempt_id, until=until) > 0


def record_part_sent(
    tx: Transaction, outbox_id: UUID, number: int, provider_message_id: str, attempt_id: UUID, now: datetime
) -> bool:
    """Whether the row is still this sender's."""
    values = {"outbox_id": outbox_id, "number": number, "provider_message_id": provider_message_id, "now": now}
    return tx.value(SQL["record_part_sent"], sender=attempt_id, **values) is not None


def confirm_part(
    tx: Transaction, outbox_id: UUID, number: int, provider_message_id: str, now: datetime, *, is_good: bool
) -> PartConfirmation | None:
    """Where that moved the row, now or before; None when it changed nothing."""
    values = {"outbox_id": outbox_id, "number": number, "provider_message_id": provider_message_id, "now": now}
    return tx.first(SQL["confirm_part"], PartConfirmation, is_good=is_good, **values)


def end_attempt(
    tx: Transaction,
    reply: OutboxReply,
    state: str,
    problem: str,
    attempt_id: UUID | None,
    parts_sent: int,
    now: datetime,
) -> bool:
    """Whether the row ended so: not when it has gone on without this sender. A failed interim line is dismissed."""
    values = {"outbox_id": reply.id, "state": state, "problem": problem, "sender": attempt_id, "now": now}
    is_dismissed, due_at = reply.is_interim and state == "failed", now + SWEEP_DELAY
    ended = tx.value(SQL["end_attempt"], taken=parts_sent, is_dismissed=is_dismissed, due_at=due_at, **values)
    return bool(ended == state)


def reschedule_blocked(
    tx: Transaction, reply: OutboxReply, problem: str, attempt_id: UUID | None, now: datetime, due_at: datetime
) -> bool:
    """Whether the row was still this sender's; `reply.attempts` is how often it was tried before this."""
    values = {"outbox_id": reply.id, "attempts": reply.attempts, "problem": problem, "sender": attempt_id, "now": now}
    return tx.run(SQL["reschedule_blocked"], due_at=due_at, **values) > 0


def apply_update(
    tx: Transaction, provider_message_id: str, update: DeliveryUpdate, prior_states: Sequence[str]
) -> bool:
    values = {"state": update.state, "movable": list(prior_states), "problem": update.problem, "now": update.at}
    return tx.run(SQL["apply_update"], provider_message_id=provider_message_id, **values) > 0


def add_pending_update(tx: Transaction, provider_message_id: str, update: DeliveryUpdate) -> bool:
    values = {"state": update.state, "problem": update.problem, "now": update.at}
    return tx.run(SQL["add_pending_update"], provider_message_id=provider_message_id, **values) > 0


def pop_pending_updates(tx: Transaction, provider_message_id: str) -> list[DeliveryUpdate]:
    return tx.all(SQL["pop_pending_updates"], DeliveryUpdate, provider_message_id=provider_message_id)


def list_stuck(tx: Transaction, clearance: int, limit: int, session_id: UUID | None) -> list[StuckReply]:
    return tx.all(SQL["list_stuck"], StuckReply, clearance=clearance, most=limit, session_id=session_id)


def list_waiting(
    tx: Transaction, clearance: int, since: datetime, limit: int, session_id: UUID | None
) -> list[WaitingReply]:
    values = {"clearance": clearance, "since": since, "most": limit, "session_id": session_id}
    return tx.all(SQL["list_waiting"], WaitingReply, **values)


def get_state(tx: Transaction, outbox_id: UUID) -> ReplyState | None:
    return tx.first(SQL["get_state"], ReplyState, outbox_id=outbox_id)


def resolve_arrived(tx: Transaction, outbox_id: UUID, by: str, now: datetime, due_at: datetime) -> bool:
    return tx.value(SQL["resolve_arrived"], outbox_id=outbox_id, by=by, now=now, due_at=due_at) is not None


def resolve_send_again(tx: Transaction, outbox_id: UUID, by: str, now: datetime, due_at: datetime) -> bool:
    return tx.run(SQL["resolve_send_again"], outbox_id=outbox_id, by=by, now=now, due_at=due_at) > 0


def list_failed(
    tx: Transaction, clearance: int, since: datetime, after: tuple[datetime, UUID] | None, limit: int
) -> list[StuckReply]:
    after_at, after_id = after or (None, None)
    return tx.all(
        SQL["list_failed"],
        StuckReply,
        clearance=clearance,
        since=since,
        after_at=after_at,
        after_id=after_id,
        most=limit,
    )


def redrive_reply(tx: Transaction, outbox_id: UUID, by: str, now: datetime, due_at: datetime) -> bool:
    return tx.run(SQL["redrive_reply"], outbox_id=outbox_id, by=by, now=now, due_at=due_at) > 0


def resolve_dismissed(tx: Transaction, outbox_id: UUID, by: str, now: datetime) -> bool:
    return tx.run(SQL["resolve_dismissed"], outbox_id=outbox_id, by=by, now=now) > 0


def list_pending(tx: Transaction, session_id: UUID) -> list[PendingReply]:
    return tx.all(SQL["list_pending"], PendingReply, session_id=session_id)


def lock_unsent(tx: Transaction, outbox_id: UUID) -> UnsentReply | None:
    return tx.first(SQL["lock_unsent"], UnsentReply, outbox_id=outbox_id)


def find_message_media(tx: Transaction, message_id: UUID) -> MessageMedia | None:
    return tx.first(SQL["find_message_media"], MessageMedia, message_id=message_id)


def mark_media_blocked(tx: Transaction, message_id: UUID) -> None:
    """Note that the file of a message comes late, if it comes: its answer does not wait for it."""
    tx.run(SQL["mark_media_blocked"], message_id=message_id)


def record_media(
    tx: Transaction, message_id: UUID, outcome: JsonObject, content: AttachmentContent, name: str, now: datetime
) -> bool:
    """Whether it was noted: not where something was before, nor where the message or its file is gone."""
    values = {"kind": content.kind, "media_type": content.media_type, "body": content.body, "problem": content.problem}
    return tx.run(SQL["record_media"], message_id=message_id, outcome=outcome, name=name, now=now, **values) > 0
