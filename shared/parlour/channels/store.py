"""The channels' way to the database: the outbox."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.channels.included import Included
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class Reply:
    """An outbox row with what sending it needs.

    sent_by   the sender that tried it last; heard_at: when the user last wrote on this channel
    since     when it was written, or a person last ordered it
    settings  the binding's, of the channel; secret: where the provider's key is kept
    """

    id: UUID
    session_id: UUID
    state: str
    attempts: int
    parts: int | None
    parts_sent: int
    sent_by: UUID | None
    recipient: str
    channel: str
    since: datetime
    text: str
    heard_at: datetime | None
    settings: JsonObject | None
    secret: str | None
    citations: list[JsonObject]


@dataclass(frozen=True, slots=True)
class Unsent:
    """A reply that waits to be sent, and how often that was tried."""

    id: UUID
    session_id: UUID
    attempts: int


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A reply of which a part was confirmed: where it is; `is_new` unless it has been there since an earlier word."""

    session_id: UUID
    state: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class Lying:
    """A reply that is not sent yet: its session, and since when it waits."""

    session_id: UUID
    created_at: datetime


@dataclass(frozen=True, slots=True)
class StuckSend:
    """A reply that waits for a person: `unknown` (it may have arrived), `held` (the channel takes no free text), or one
    that `failed` and may be sent again.

    turn_id is the turn that it answers; problem says what is known of why.
    """

    id: UUID
    turn_id: UUID | None
    session_id: UUID
    state: str
    channel: str
    recipient: str
    text: str
    problem: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class RowState:
    """Where a row is, how often it was tried, and the clearance that seeing it needs."""

    session_id: UUID
    state: str
    attempts: int
    clearance: int


@dataclass(frozen=True, slots=True)
class News:
    """How far the provider says that a message of ours got; problem says why it failed."""

    state: str
    problem: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Attachment:
    """What a message came with; media: as the envelope's, and later `stored` or `refused` beside it.

    secret is where the key to the provider is kept, of the binding as it is now.
    """

    message_id: UUID
    media: JsonObject
    received_at: datetime
    provider: str
    secret: str | None


def put(
    tx: Transaction,
    *,
    outbox_id: UUID,
    session_id: UUID,
    message_id: UUID,
    binding_id: UUID,
    channel: str,
    recipient: str,
    now: datetime,
    due_at: datetime,
) -> None:
    tx.run(
        SQL["put"],
        outbox_id=outbox_id,
        session_id=session_id,
        message_id=message_id,
        binding_id=binding_id,
        channel=channel,
        recipient=recipient,
        now=now,
        due_at=due_at,
    )


def take(tx: Transaction, outbox_id: UUID) -> Reply | None:
    return tx.first(SQL["take"], Reply, outbox_id=outbox_id)


def begin(tx: Transaction, outbox_id: UUID, parts: int, sender: UUID) -> None:
    tx.run(SQL["begin"], outbox_id=outbox_id, parts=parts, sender=sender)


def part_taken(
    tx: Transaction, outbox_id: UUID, number: int, provider_message_id: str, sender: UUID, now: datetime
) -> bool:
    """Whether the row is still this sender's."""
    values = {"outbox_id": outbox_id, "number": number, "provider_message_id": provider_message_id, "now": now}
    return tx.value(SQL["part_taken"], sender=sender, **values) is not None


def part_confirmed(
    tx: Transaction, outbox_id: UUID, number: int, provider_message_id: str, now: datetime, *, is_good: bool
) -> Confirmed | None:
    """Where that moved the row, now or before; None when it changed nothing."""
    values = {"outbox_id": outbox_id, "number": number, "provider_message_id": provider_message_id, "now": now}
    return tx.first(SQL["part_confirmed"], Confirmed, is_good=is_good, **values)


def end(
    tx: Transaction, reply: Reply, state: str, problem: str, sender: UUID | None, taken: int, now: datetime
) -> bool:
    """Whether the row ended so: not when it has gone on without this sender."""
    values = {"outbox_id": reply.id, "state": state, "problem": problem, "sender": sender, "now": now}
    return bool(tx.value(SQL["end"], taken=taken, **values) == state)


def put_off(tx: Transaction, reply: Reply, problem: str, sender: UUID, now: datetime, due_at: datetime) -> bool:
    """Whether the row was still this sender's; `reply.attempts` is how often it was tried before this."""
    values = {"outbox_id": reply.id, "attempts": reply.attempts, "problem": problem, "sender": sender, "now": now}
    return tx.run(SQL["put_off"], due_at=due_at, **values) > 0


def status(tx: Transaction, provider_message_id: str, news: News, movable: Sequence[str]) -> bool:
    values = {"state": news.state, "movable": list(movable), "problem": news.problem, "now": news.at}
    return tx.run(SQL["status"], provider_message_id=provider_message_id, **values) > 0


def keep_early(tx: Transaction, provider_message_id: str, news: News) -> bool:
    values = {"state": news.state, "problem": news.problem, "now": news.at}
    return tx.run(SQL["keep_early"], provider_message_id=provider_message_id, **values) > 0


def take_early(tx: Transaction, provider_message_id: str) -> list[News]:
    return tx.all(SQL["take_early"], News, provider_message_id=provider_message_id)


def stuck(tx: Transaction, clearance: int, most: int) -> list[StuckSend]:
    return tx.all(SQL["stuck"], StuckSend, clearance=clearance, most=most)


def state(tx: Transaction, outbox_id: UUID) -> RowState | None:
    return tx.first(SQL["state"], RowState, outbox_id=outbox_id)


def resolve_arrived(tx: Transaction, outbox_id: UUID, by: str, now: datetime, due_at: datetime) -> bool:
    return tx.value(SQL["resolve_arrived"], outbox_id=outbox_id, by=by, now=now, due_at=due_at) is not None


def resolve_again(tx: Transaction, outbox_id: UUID, by: str, now: datetime, due_at: datetime) -> bool:
    return tx.run(SQL["resolve_again"], outbox_id=outbox_id, by=by, now=now, due_at=due_at) > 0


def failed(tx: Transaction, clearance: int, since: datetime, most: int) -> list[StuckSend]:
    return tx.all(SQL["failed"], StuckSend, clearance=clearance, since=since, most=most)


def redrive(tx: Transaction, outbox_id: UUID, by: str, now: datetime, due_at: datetime) -> bool:
    return tx.run(SQL["redrive"], outbox_id=outbox_id, by=by, now=now, due_at=due_at) > 0


def resolve_dismissed(tx: Transaction, outbox_id: UUID, by: str, now: datetime) -> bool:
    return tx.run(SQL["resolve_dismissed"], outbox_id=outbox_id, by=by, now=now) > 0


def unsent(tx: Transaction, session_id: UUID) -> list[Unsent]:
    return tx.all(SQL["unsent"], Unsent, session_id=session_id)


def left_lying(tx: Transaction, outbox_id: UUID) -> Lying | None:
    return tx.first(SQL["left_lying"], Lying, outbox_id=outbox_id)


def attachment(tx: Transaction, message_id: UUID) -> Attachment | None:
    return tx.first(SQL["attachment"], Attachment, message_id=message_id)


def put_media_off(tx: Transaction, message_id: UUID) -> None:
    """Note that the file of a message comes late, if it comes: its answer does not wait for it."""
    tx.run(SQL["put_media_off"], message_id=message_id)


def note_media(
    tx: Transaction, message_id: UUID, outcome: JsonObject, file: Included, name: str, now: datetime
) -> bool:  # fmt: skip
    """Whether it was noted: not where something was before, nor where the message or its file is gone."""
    values = {"kind": file.kind, "media_type": file.media_type, "body": file.body, "problem": file.problem}
    return tx.run(SQL["note_media"], message_id=message_id, outcome=outcome, name=name, now=now, **values) > 0
