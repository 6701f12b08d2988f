"""What every change of a record leaves behind, in the transaction of the change: how the record reads now, what
changed, and whose Pulse is stale."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.records import deltas, staleness, store
from parlour.records.built_in_types import FINDING_TYPE
from parlour.records.deltas import FieldChange, RecordState
from parlour.records.record import DOCUMENT_TYPE, Record
from parlour.records.record_type import RecordType
from parlour.records.snapshots import snapshot_row
from parlour.records.store import DeltaRow
from parlour.records.write_counts import PACK_ORIGIN
from parlour.search.index import scheduling


@dataclass(frozen=True, slots=True)
class RecordTransition:
    """A record that came to its next version.

    before      what it was, None of a new one; `found`: what is different.
    project_id  the project that it came to with it, and that one's level.
    is_unverified  whether nobody but its creator sees it, so that nothing that others read becomes stale.
    """

    record_type: RecordType
    before: RecordState | None
    after: RecordState
    changes: Sequence[FieldChange] = ()
    project_id: UUID | None = None
    project_classification: int = 0
    is_unverified: bool = False

    @property
    def makes_pulse_stale(self) -> bool:
        """Whether its Pulse is stale: when one of the tracked properties changed, or any, when its kind names none."""
        tracked = self.record_type.settings.tracked_properties
        main = {*tracked, "name", "classification", "project"}
        return not tracked or self.before is None or any(one.name in main for one in self.changes)

    @property
    def is_new_finding(self) -> bool:
        """Whether it is a finding that was not there before."""
        return self.before is None and self.record_type.key == FINDING_TYPE


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """An end of a link that came or went, the other end, and how that reads from this one."""

    record_type: RecordType
    record: Record
    other: Record
    description: str

    def is_linked_to_new_finding(self, now: datetime) -> bool:
        """Whether the other end is a finding that was made by the act that linked it."""
        return self.other.type == FINDING_TYPE and self.other.created_at == now


def propagate_creation(principal: Principal, tx: Transaction, kind: RecordType, entity: Record, now: datetime) -> None:
    """Write what follows from a new record: its snapshot, its delta and the marks on its parents."""
    _write_snapshot(tx, kind, entity, now)
    step = RecordTransition(kind, None, entity, is_unverified=entity.unverified_by is not None)
    propagate_transitions(principal, tx, [step], now)


def propagate_update(
    principal: Principal,
    tx: Transaction,
    step: RecordTransition,
    after: Record,
    now: datetime,
    origin: str | None,
) -> None:
    """Write what follows from a record's next version; `origin` names the call that changed it."""
    _write_snapshot(tx, step.record_type, after, now)
    propagate_transitions(principal, tx, [step], now, origin)


def propagate_transitions(
    principal: Principal,
    tx: Transaction,
    steps: Sequence[RecordTransition],
    now: datetime,
    origin: str | None = None,
) -> None:
    """Write what follows from the next versions of records whose snapshots are written already; a few statements.

    What was said of a record while it was more open than it is now is restricted with it; what was restricted stays so.
    """
    _add_delta_rows(
        principal,
        tx,
        [_delta_row(principal, one, now, origin) for one in steps if one.record_type.settings.is_searchable],
        now,
    )
    risen = [one.after for one in steps if one.before and one.before.classification < one.after.classification]
    store.restrict_rows(tx, [(record.id, record.classification) for record in risen])
    documents = [one.after for one in steps if one.before and one.after.type == DOCUMENT_TYPE]
    store.sync_documents_with_records(
        tx, [(record.id, record.name, record.classification) for record in documents], now
    )
    if principal.write_rights != "all":
        return  # nobody else sees it, so nothing that others read has become stale
    seen = [one for one in steps if not one.is_unverified]
    found = [] if origin == PACK_ORIGIN else [one.after.id for one in seen if one.is_new_finding]
    staleness.mark_findings_stale(tx, found, now)
    staleness.mark_many_stale(
        tx, [one.after.id for one in seen if one.makes_pulse_stale and one.after.id not in found], "changed", now
    )


def propagate_links(
    principal: Principal,
    tx: Transaction,
    ends: Sequence[LinkEnd],
    now: datetime,
    origin: str | None = None,
) -> None:
    """Links came or went. Whoever reads of a record's reads of the other record, too."""
    rows = [
        (
            uuid7(now),
            end.record.id,
            deltas.delta_row(
                principal,
                end.record_type,
                end.record,
                end.description,
                now,
                max(end.record.classification, end.other.classification),
                origin,
            ),
            end.other.id,
            True,
        )
        for end in ends
        if end.record_type.settings.is_searchable
    ]
    _add_delta_rows(principal, tx, rows, now)
    if principal.write_rights != "all" or any(end.record.unverified_by for end in ends):
        return
    found = {end.record.id for end in ends if origin != PACK_ORIGIN and end.is_linked_to_new_finding(now)}
    staleness.mark_many_stale(tx, sorted(found), "finding_created", now)
    staleness.mark_many_stale(
        tx, list(dict.fromkeys(end.record.id for end in ends if end.record.id not in found)), "link_changed", now
    )


def _write_snapshot(tx: Transaction, kind: RecordType, entity: Record, now: datetime) -> None:
    if kind.settings.is_searchable:
        row = snapshot_row(kind.snapshot_template, entity.key, entity.name, entity.properties, entity.classification)
        store.upsert_snapshots(tx, [(uuid7(now), entity.id, row)], now)


def _delta_row(principal: Principal, step: RecordTransition, now: datetime, origin: str | None) -> DeltaRow:
    """No more open than the record was and is, and than the project that it came to. That a pack brought a record is
    worth no vector."""
    if step.before is None and origin == PACK_ORIGIN:
        return (
            uuid7(now),
            step.after.id,
            deltas.imported_delta_row(principal, step.record_type, step.after, now, PACK_ORIGIN),
            None,
            False,
        )
    what = deltas.format_changes(step.changes) if step.before else "created"
    level = max(
        step.before.classification if step.before else 0, step.after.classification, step.project_classification
    )
    draft = deltas.delta_row(principal, step.record_type, step.after, what, now, level, origin)
    return uuid7(now), step.after.id, draft, step.project_id, True


def _add_delta_rows(principal: Principal, tx: Transaction, rows: Sequence[DeltaRow], now: datetime) -> None:
    if rows:
        store.add_deltas(tx, rows, now)
    if any(gets_vector for *_, gets_vector in rows):
        scheduling.schedule_embedding(tx, principal.tenant_id, now)
