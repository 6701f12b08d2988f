"""What every change of a record leaves behind, in the transaction of the change: how the record reads now, what
changed, and whose Pulse is stale."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from parlour.infra.ids import NewId
from parlour.infra.postgres import Transaction
from parlour.knowledge.index import pending
from parlour.knowledge.index.rows import RowDraft
from parlour.knowledge.records import deltas, stale, store
from parlour.knowledge.records.definition import Definition
from parlour.knowledge.records.deltas import Difference
from parlour.knowledge.records.record import Entity
from parlour.knowledge.records.snapshots import snapshot
from parlour.principal import Principal


def made(principal: Principal, tx: Transaction, kind: Definition, entity: Entity, now: datetime, new_id: NewId) -> None:
    """The record is new."""
    _describe(tx, kind, entity, now, new_id)
    _tell(principal, tx, kind, entity, "created", now, new_id)
    stale.mark(tx, entity.id, "changed", now)


def changed(
    principal: Principal,
    tx: Transaction,
    kind: Definition,
    before: Entity,
    after: Entity,
    found: Sequence[Difference],
    project: Entity | None,
    now: datetime,
    new_id: NewId,
    origin: str | None = None,
) -> None:
    """The record is at its next version; `project`: the one that it came to with it; `origin`: the call that did it.

    Its Pulse is stale when one of the tracked properties changed, or any, when its kind names none. What was said of
    the record while it was more open than it is now is closed with it; what was closed stays closed.
    """
    _describe(tx, kind, after, now, new_id)
    level = max(before.classification, project.classification if project else 0)
    other_id = project.id if project else None
    _tell(principal, tx, kind, after, deltas.told(found), now, new_id, level=level, other_id=other_id, origin=origin)
    store.close_rows(tx, after.id, after.classification)
    store.follow_record(tx, after.id, after.name, after.classification, now)
    if _matters(kind, found):
        stale.mark(tx, after.id, "changed", now)


def linked(
    principal: Principal,
    tx: Transaction,
    kind: Definition,
    entity: Entity,
    other: Entity,
    what: str,
    now: datetime,
    new_id: NewId,
) -> None:
    """A link of the record's came or went. Whoever reads of it reads of the other record, too."""
    _tell(principal, tx, kind, entity, what, now, new_id, level=other.classification, other_id=other.id)
    stale.mark(tx, entity.id, "link_changed", now)


def _describe(tx: Transaction, kind: Definition, entity: Entity, now: datetime, new_id: NewId) -> None:
    if not kind.settings.context:
        return
    row = snapshot(kind.record_type, entity.key, entity.name, entity.properties, entity.classification)
    _put(tx, entity.id, row, now, new_id)


def _put(tx: Transaction, entity_id: UUID, row: RowDraft, now: datetime, new_id: NewId) -> None:
    store.put_snapshots(tx, [(new_id(now), entity_id, row)], now)


def _tell(
    principal: Principal,
    tx: Transaction,
    kind: Definition,
    entity: Entity,
    what: str,
    now: datetime,
    new_id: NewId,
    *,
    level: int = 0,
    other_id: UUID | None = None,
    origin: str | None = None,
) -> None:
    """One row, no more open than `level`; none for a kind that is not searched."""
    if not kind.settings.context:
        return
    row = deltas.delta(principal, kind, entity, what, now, max(level, entity.classification), origin)
    store.add_delta(tx, new_id(now), entity.id, row, other_id, now)
    pending.mark(tx, principal.tenant_id, now)


def _matters(kind: Definition, found: Sequence[Difference]) -> bool:
    tracked = kind.settings.tracked_properties
    return not tracked or any(one.name in tracked or one.name in {"name", "project"} for one in found)
