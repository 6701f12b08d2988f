"""Records described anew, after what their type says of them changed: in the background, a batch at a time.

How far it has come is kept with the records (`entities.described`), so that whoever goes on need not know who began,
and two who are at it share the work.
"""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from parlour.infra import log
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, Transaction
from parlour.jobs import work_due
from parlour.records import staleness, store, type_registry
from parlour.records.snapshots import snapshot_row
from parlour.search.index import scheduling

_BATCH = 200
_SECONDS_KEPT = 5.0
"""What is left for a batch to be committed in."""


def schedule_backfill(tx: Transaction, type_id: UUID, now: datetime) -> None:
    """Have the records of a type described anew, as soon as somebody looks at what is due."""
    work_due.schedule(tx, "record_type", type_id, now)


def run_backfill(
    database: Database,
    tenant_id: UUID,
    type_id: UUID,
    now: datetime,
    seconds_left: Callable[[], float],
) -> bool:
    """Describe the type's records as the type is now, until all are or the time is up. Whether all are, and its mark
    is gone.

    New rows wait for their vectors; nudge the embedder when this returns. A type that was switched to `context: off`
    loses its rows; where Pulses are kept, they are marked stale. Nothing is written of a record that reads the same.
    """
    written = 0
    while seconds_left() > _SECONDS_KEPT:
        amount = database.run(tenant_id, lambda tx: _batch(tx, tenant_id, type_id, now))
        written += amount
        if amount == 0:
            done = database.run(tenant_id, lambda tx: store.complete_backfill(tx, type_id))
            log.info("records_backfilled", tenant_id=tenant_id, type_id=type_id, count=written, done=done)
            return done
    return False


def _batch(tx: Transaction, tenant_id: UUID, type_id: UUID, now: datetime) -> int:
    """How many records it came to; none are left, or somebody else has them, at 0."""
    kind = type_registry.find_record_type_by_id(tx, type_id)
    records = store.find_records_to_backfill(tx, type_id, _BATCH) if kind else []
    if kind is None or not records:
        return 0
    ids = [record.id for record in records]
    if kind.settings.is_searchable:
        rows: list[store.SnapshotRow] = []
        for record in records:
            draft = snapshot_row(
                kind.snapshot_template, record.key, record.name, record.properties, record.classification
            )
            rows.append((uuid7(now), record.id, draft))
        store.upsert_snapshots(tx, rows, now)
        scheduling.schedule_embedding(tx, tenant_id, now)
    else:
        store.delete_snapshots_and_deltas(tx, ids)
    store.mark_backfilled(tx, ids, kind.version)
    staleness.mark_stale_without_parents(tx, ids, "type_changed", now)
    return len(records)
