"""The channels' way to the database: the outbox."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class Reply:
    """An outbox row with what sending it needs; `secret` is where the provider's key is kept."""

    id: UUID
    session_id: UUID
    state: str
    attempts: int
    parts: int | None
    parts_sent: int
    recipient: str
    channel: str
    text: str
    settings: JsonObject | None
    secret: str | None
    citations: list[JsonObject]


@dataclass(frozen=True, slots=True)
class Unsent:
    """A reply that waits to be sent, and how often that was tried."""

    id: UUID
    attempts: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """How far a reply got, and when."""

    state: str
    attempts: int
    parts: int | None
    parts_sent: int
    problem: str | None
    created_at: datetime
    sent_at: datetime | None
    status_at: datetime | None


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
    )


def take(tx: Transaction, outbox_id: UUID) -> Reply | None:
    return tx.first(SQL["take"], Reply, outbox_id=outbox_id)


def begin(tx: Transaction, outbox_id: UUID, parts: int) -> None:
    tx.run(SQL["begin"], outbox_id=outbox_id, parts=parts)


def part_taken(tx: Transaction, outbox_id: UUID, number: int, provider_message_id: str, now: datetime) -> None:
    values = {"outbox_id": outbox_id, "number": number, "provider_message_id": provider_message_id, "now": now}
    tx.run(SQL["part_taken"], **values)


def end(tx: Transaction, outbox_id: UUID, state: str, problem: str, now: datetime) -> None:
    tx.run(SQL["end"], outbox_id=outbox_id, state=state, problem=problem, now=now)


def status(
    tx: Transaction,
    *,
    provider_message_id: str,
    state: str,
    movable: Sequence[str],
    problem: str | None,
    now: datetime,
) -> bool:
    values = {"state": state, "movable": list(movable), "problem": problem, "now": now}
    return tx.run(SQL["status"], provider_message_id=provider_message_id, **values) > 0


def unsent(tx: Transaction, session_id: UUID) -> list[Unsent]:
    return tx.all(SQL["unsent"], Unsent, session_id=session_id)


def delivery(tx: Transaction, message_id: UUID) -> Delivery | None:
    return tx.first(SQL["delivery"], Delivery, message_id=message_id)
