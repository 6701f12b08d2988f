"""Old messages in the database."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.memory.archive.archive_lines import ArchivedMessage

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class IdRow:
    """One id."""

    id: UUID


@dataclass(frozen=True, slots=True)
class ArchiveLocation:
    """Where an archive lies."""

    id: UUID
    object_key: str


def find_old_sessions(
    tx: Transaction, after_session_id: UUID, archive_before: datetime, min_kept_turns: int, limit: int
) -> list[UUID]:
    """Those after `last`, in the order of their ids."""
    return [
        one.id
        for one in tx.all(
            SQL["find_old_sessions"],
            IdRow,
            last=after_session_id,
            before=archive_before,
            kept=min_kept_turns,
            most=limit,
        )
    ]


def lock_old_messages(
    tx: Transaction, session_id: UUID, archive_before: datetime, min_kept_turns: int, limit: int
) -> list[ArchivedMessage]:
    return tx.all(
        SQL["lock_old_messages"],
        ArchivedMessage,
        session_id=session_id,
        before=archive_before,
        kept=min_kept_turns,
        most=limit,
    )


def begin_archive(
    tx: Transaction, session_id: UUID, location: ArchiveLocation, messages: Sequence[ArchivedMessage], now: datetime
) -> ArchiveLocation:
    """Where these messages will lie: as said, or where an archive of the session's was begun and not ended."""
    return tx.one(
        SQL["begin_archive"],
        ArchiveLocation,
        id=location.id,
        session_id=session_id,
        object_key=location.object_key,
        first_position=messages[0].position,
        last_position=messages[-1].position,
        from_at=messages[0].received_at,
        until_at=messages[-1].received_at,
        now=now,
    )


def end_archive(tx: Transaction, archive_id: UUID, messages: Sequence[ArchivedMessage], size: int, sha256: str) -> int:
    """How many lie there."""
    return tx.run(
        SQL["end_archive"],
        id=archive_id,
        ids=[one.id for one in messages],
        size_bytes=size,
        sha256=sha256,
        first_position=messages[0].position,
        last_position=messages[-1].position,
        from_at=messages[0].received_at,
        until_at=messages[-1].received_at,
        messages=len(messages),
    )
