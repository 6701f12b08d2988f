"""Old messages in the database."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.memory.archiving.lines import OldMessage

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class Id:
    """One id."""

    id: UUID


@dataclass(frozen=True, slots=True)
class Place:
    """Where an archive lies."""

    id: UUID
    object_key: str


def old_sessions(tx: Transaction, last: UUID, before: datetime, kept: int, most: int) -> list[UUID]:
    """Those after `last`, in the order of their ids."""
    return [one.id for one in tx.all(SQL["old_sessions"], Id, last=last, before=before, kept=kept, most=most)]


def old_messages(tx: Transaction, session_id: UUID, before: datetime, kept: int, most: int) -> list[OldMessage]:
    return tx.all(SQL["old_messages"], OldMessage, session_id=session_id, before=before, kept=kept, most=most)


def begin_archive(
    tx: Transaction, session_id: UUID, place: Place, messages: Sequence[OldMessage], now: datetime
) -> Place:  # fmt: skip
    """Where these messages will lie: as said, or where an archive of the session's was begun and not ended."""
    return tx.one(
        SQL["begin_archive"], Place, id=place.id, session_id=session_id, object_key=place.object_key,
        first_position=messages[0].position, last_position=messages[-1].position, from_at=messages[0].received_at,
        until_at=messages[-1].received_at, now=now,
    )  # fmt: skip


def end_archive(tx: Transaction, archive_id: UUID, messages: Sequence[OldMessage], size: int, sha256: str) -> int:
    """How many lie there."""
    return tx.run(
        SQL["end_archive"], id=archive_id, ids=[one.id for one in messages], size_bytes=size, sha256=sha256,
        first_position=messages[0].position, last_position=messages[-1].position, from_at=messages[0].received_at,
        until_at=messages[-1].received_at, messages=len(messages),
    )  # fmt: skip
