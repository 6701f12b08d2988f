"""Marks that a record's Pulse no longer says what is: since when, and why.

Whatever changes a record, or what belongs to it, leaves them in its own transaction, with the time by which somebody
looks: the window of its kind after the first change that is not told of, so that many changes make one writing and
constant change does not put it off for ever. A kind without Pulses has none; a record whose kind says `children: auto`
is marked for what belongs to it, too. Marks are counted: a writer takes away those that it has read, and no others.

A mark that tells a record nothing new is written beside it, so that those who change its parts do not wait for each
other; a writer has these counted before it reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from parlour.infra.json_values import Json
from parlour.infra.postgres import Transaction
from parlour.records import store
from parlour.records.built_in_types import CLOSED_CONVERSATION_STATES, CONVERSATION_TYPE
from parlour.records.record_type import DEFAULT_COALESCE_SECONDS

type StaleCause = Literal[
    "changed",
    "link_changed",
    "file_ingested",
    "file_deleted",
    "document_changed",
    "child_changed",
    "finding_created",
    "type_changed",
    "age",
    "manual",
]

RETRY_AFTER_GIVING_UP = timedelta(hours=1)
"""How long after its last try a record that was given up is tried again, should it change."""


@dataclass(frozen=True, slots=True)
class PendingChanges:
    """The changes that a record's Pulses do not reflect.

    mark_count            the number of all stale marks so far.
    reflected_mark_count  how many of them the last writing had read.
    since                 the time of the first that it had not read; None without one.
    causes                the causes, in order of appearance, each with its first time since then.
    """

    mark_count: int
    reflected_mark_count: int
    since: datetime | None
    causes: Mapping[str, datetime]


def mark_stale(tx: Transaction, record_id: UUID, cause: StaleCause, now: datetime) -> None:
    """Mark the record's Pulses stale, and those of what it belongs to."""
    mark_many_stale(tx, [record_id], cause, now)


def mark_many_stale(tx: Transaction, ids: Sequence[UUID], cause: StaleCause, now: datetime) -> None:
    """So did each of these, in one statement."""
    _mark(tx, ids, cause, "child_changed", now)


def mark_parents_stale(tx: Transaction, ids: Sequence[UUID], now: datetime) -> None:
    """Mark the Pulses stale of what the records belong to; the records' own are right, or there are none."""
    _mark(tx, ids, None, "child_changed", now)


def mark_findings_stale(tx: Transaction, ids: Sequence[UUID], now: datetime) -> None:
    """Mark what new findings belong to as stale, whatever its type says of its children."""
    _mark(tx, ids, "changed", "finding_created", now)


def mark_stale_without_parents(tx: Transaction, ids: Sequence[UUID], cause: StaleCause, now: datetime) -> None:
    """Mark the records' own Pulses stale, and no others."""
    _mark(tx, ids, cause, None, now)


def mark_stale_if_fresh(tx: Transaction, record_id: UUID, cause: StaleCause, now: datetime) -> None:
    """Mark the record's Pulses stale, unless they are already.

    What they were written from may have changed without a mark on the record, as when a distant one is restricted.
    """
    row = store.read_stale_marks(tx, record_id)
    if row and row.stale_since is None:
        mark_stale_without_parents(tx, [record_id], cause, now)


def request_refresh(tx: Transaction, record_id: UUID, now: datetime) -> None:
    """Somebody wants the record's Pulses written now: they wait neither for their window nor for anything else."""
    mark_stale_without_parents(tx, [record_id], "manual", now)
    store.expedite_pulse(tx, record_id, now)


def read_pending_changes(tx: Transaction, record_id: UUID) -> PendingChanges | None:
    """Return what the record's Pulses do not reflect yet; None when there is no such record."""
    row = store.read_stale_marks(tx, record_id)
    if row is None:
        return None
    since = row.stale_since
    causes = {cause: _since(row.stale_marks.get(cause), since) for cause in row.stale_causes} if since else {}
    return PendingChanges(row.stale_mark_count, row.reflected_mark_count, since, causes)


def acknowledge_changes(tx: Transaction, record_id: UUID, seen: PendingChanges, read_at: datetime) -> datetime | None:
    """Store that the record's Pulses reflect the changes in `seen`, read in a transaction at `read_at`.

    Later marks stay. Return since when the Pulses are stale again by those; None when they reflect everything.
    """
    return store.acknowledge_marks(
        tx, record_id, seen.mark_count, read_at, is_quiet=store.try_lock_unmarked(tx, record_id)
    )


def merge_side_marks(tx: Transaction, record_id: UUID) -> None:
    """Whoever reads for the record's Pulses from now on reads what everybody did who marked it up to now."""
    store.merge_side_marks(tx, record_id)


def _mark(
    tx: Transaction, ids: Sequence[UUID], cause: StaleCause | None, parent_cause: StaleCause | None, now: datetime
) -> None:
    if ids:
        store.mark_stale(
            tx,
            ids,
            cause=cause,
            parent_cause=parent_cause,
            now=now,
            finding="finding_created",
            window=DEFAULT_COALESCE_SECONDS,
            talk=CONVERSATION_TYPE,
            over=CLOSED_CONVERSATION_STATES,
            retry=RETRY_AFTER_GIVING_UP,
        )


def _since(mark: Json, otherwise: datetime) -> datetime:
    since = mark.get("since") if isinstance(mark, dict) else None
    return datetime.fromisoformat(since) if isinstance(since, str) else otherwise
