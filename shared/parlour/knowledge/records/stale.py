"""Marks that a record's Pulse no longer says what is: since when, and why.

Whatever changes a record, or what belongs to it, leaves them in its own transaction. A kind without Pulses has none;
a record whose kind says `children: auto` is marked for what belongs to it, too. The writer of Pulses takes them away.
"""

from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.knowledge.records import store

type Cause = Literal["changed", "link_changed", "file_ingested", "file_deleted", "document_changed", "manual"]
"""Besides these there are `child_changed`, of what belongs to the record, and `type_changed`, of its kind."""


def mark(tx: Transaction, record_id: UUID, cause: Cause, now: datetime) -> None:
    """The record changed, and with it what it belongs to."""
    store.mark_stale(tx, record_id, cause, itself=True, now=now)


def mark_wholes(tx: Transaction, record_id: UUID, now: datetime) -> None:
    """What the record belongs to changed with it; its own Pulse is as good as it was, or it has none any more."""
    store.mark_stale(tx, record_id, "child_changed", itself=False, now=now)
