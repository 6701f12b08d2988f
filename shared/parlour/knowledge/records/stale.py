"""Marks that a record's Pulse no longer says what is: since when, and why.

Whatever changes a record, or what belongs to it, leaves them in its own transaction. A kind without Pulses has none;
a record whose kind says `children: auto` is marked for what belongs to it, too. The writer of Pulses takes them away.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.knowledge.records import store

type Cause = Literal["changed", "link_changed", "file_ingested", "file_deleted", "document_changed", "manual"]
"""Besides these there are `child_changed`, of what belongs to the record, and `type_changed`, of its kind."""


def mark(tx: Transaction, record_id: UUID, cause: Cause, now: datetime) -> None:
    """The record changed, and with it what it belongs to."""
    mark_all(tx, [record_id], cause, now)


def mark_all(tx: Transaction, ids: Sequence[UUID], cause: Cause, now: datetime) -> None:
    """So did each of these, in one statement."""
    if ids:
        store.mark_stale(tx, ids, cause, itself=True, now=now)


def mark_wholes(tx: Transaction, ids: Sequence[UUID], now: datetime) -> None:
    """What the records belong to changed with them; their own Pulses are as good as they were, or there are none."""
    if ids:
        store.mark_stale(tx, ids, "child_changed", itself=False, now=now)
