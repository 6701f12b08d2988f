"""What every change of a record leaves behind, in the transaction of the change: how the record reads now, what
changed, and whose Pulse is stale."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.ids import NewId
from parlour.infra.postgres import Transaction
from parlour.knowledge.index import pending
from parlour.knowledge.records import deltas, stale, store
from parlour.knowledge.records.changes import PACK
from parlour.knowledge.records.definition import Definition
from parlour.knowledge.records.deltas import Difference, Told
from parlour.knowledge.records.kinds import FINDING
from parlour.knowledge.records.record import DOCUMENT, Entity
from parlour.knowledge.records.snapshots import snapshot
from parlour.knowledge.records.store import DeltaRow
from parlour.principal import Principal


@dataclass(frozen=True, slots=True)
class Step:
    """A record that came to its next version.

    before      what it was, None of a new one; `found`: what is different.
    project_id  the project that it came to with it, and that one's level.
    """

    kind: Definition
    before: Told | None
    after: Told
    found: Sequence[Difference] = ()
    project_id: UUID | None = None
    project_level: int = 0

    @property
    def matters(self) -> bool:
        """Whether its Pulse is stale: when one of the tracked properties changed, or any, when its kind names none."""
        tracked = self.kind.settings.tracked_properties
        main = {*tracked, "name", "classification", "project"}
        return not tracked or self.before is None or any(one.name in main for one in self.found)

    @property
    def is_finding(self) -> bool:
        """Whether it is a finding that was not there before."""
        return self.before is None and self.kind.key == FINDING


@dataclass(frozen=True, slots=True)
class Joined:
    """An end of a link that came or went, the other end, and how that reads from this one."""

    kind: Definition
    entity: Entity
    other: Entity
    what: str

    def is_found(self, now: datetime) -> bool:
        """Whether the other end is a finding that was made by the act that linked it."""
        return self.other.type == FINDING and self.other.created_at == now


def made(principal: Principal, tx: Transaction, kind: Definition, entity: Entity, now: datetime, new_id: NewId) -> None:
    """The record is new."""
    _describe(tx, kind, entity, now, new_id)
    stepped(principal, tx, [Step(kind, None, entity)], now, new_id)


def changed(
    principal: Principal, tx: Transaction, step: Step, after: Entity, now: datetime, new_id: NewId, origin: str | None
) -> None:
    """The record is at its next version; `origin`: the call that did it."""
    _describe(tx, step.kind, after, now, new_id)
    stepped(principal, tx, [step], now, new_id, origin)


def stepped(
    principal: Principal,
    tx: Transaction,
    steps: Sequence[Step],
    now: datetime,
    new_id: NewId,
    origin: str | None = None,
) -> None:
    """Records, however many, came to their next versions and are described already: a handful of statements.

    What was said of a record while it was more open than it is now is closed with it; what was closed stays closed.
    """
    _tell(principal, tx, [_row(principal, one, now, new_id, origin) for one in steps if one.kind.settings.context], now)
    risen = [one.after for one in steps if one.before and one.before.classification < one.after.classification]
    store.close_rows(tx, [(record.id, record.classification) for record in risen])
    documents = [one.after for one in steps if one.before and one.after.type == DOCUMENT]
    store.follow_records(tx, [(record.id, record.name, record.classification) for record in documents], now)
    found = [] if origin == PACK else [one.after.id for one in steps if one.is_finding]
    stale.mark_found(tx, found, now)
    stale.mark_all(tx, [one.after.id for one in steps if one.matters and one.after.id not in found], "changed", now)


def joined(
    principal: Principal,
    tx: Transaction,
    ends: Sequence[Joined],
    now: datetime,
    new_id: NewId,
    origin: str | None = None,
) -> None:
    """Links came or went. Whoever reads of a record's reads of the other record, too."""
    rows = [
        (
            new_id(now),
            end.entity.id,
            deltas.delta(
                principal, end.kind, end.entity, end.what, now,
                max(end.entity.classification, end.other.classification), origin,
            ),
            end.other.id,
            True,
        )
        for end in ends
        if end.kind.settings.context
    ]  # fmt: skip
    _tell(principal, tx, rows, now)
    found = {end.entity.id for end in ends if origin != PACK and end.is_found(now)}
    stale.mark_all(tx, sorted(found), "finding_created", now)
    stale.mark_all(
        tx, list(dict.fromkeys(end.entity.id for end in ends if end.entity.id not in found)), "link_changed", now
    )


def _describe(tx: Transaction, kind: Definition, entity: Entity, now: datetime, new_id: NewId) -> None:
    if kind.settings.context:
        row = snapshot(kind.record_type, entity.key, entity.name, entity.properties, entity.classification)
        store.put_snapshots(tx, [(new_id(now), entity.id, row)], now)


def _row(principal: Principal, step: Step, now: datetime, new_id: NewId, origin: str | None) -> DeltaRow:
    """No more open than the record was and is, and than the project that it came to. That a pack brought a record is
    worth no vector."""
    if step.before is None and origin == PACK:
        return new_id(now), step.after.id, deltas.brought(principal, step.kind, step.after, now, PACK), None, False
    what = deltas.told(step.found) if step.before else "created"
    level = max(step.before.classification if step.before else 0, step.after.classification, step.project_level)
    draft = deltas.delta(principal, step.kind, step.after, what, now, level, origin)
    return new_id(now), step.after.id, draft, step.project_id, True


def _tell(principal: Principal, tx: Transaction, rows: Sequence[DeltaRow], now: datetime) -> None:
    if rows:
        store.add_deltas(tx, rows, now)
    if any(gets_vector for *_, gets_vector in rows):
        pending.mark(tx, principal.tenant_id, now)
