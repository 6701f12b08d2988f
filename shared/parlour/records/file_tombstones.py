"""Tombstones of files: what is left of a deleted file until a worker has deleted its objects."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.records import store

#: How long after an upload began, or a file was deleted, its objects are deleted: by then the upload form has expired
#: and every upload that used it has ended.
CLEANUP_DELAY = timedelta(hours=1)


def tombstone_files(tx: Transaction, file_ids: Sequence[UUID], record_ids: Sequence[UUID], now: datetime) -> None:
    """Delete these files and the files about these records. A worker deletes their objects after CLEANUP_DELAY."""
    store.tombstone_files(tx, file_ids, record_ids, now, now + CLEANUP_DELAY)
