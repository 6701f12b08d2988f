"""Records as a pack has them, each searchable by a snapshot of what it says.

Writing takes two steps, as for documents: `prepare_record_import` returns the snapshots that need a vector,
`import_records` writes the records with these vectors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import InvalidRequest
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.records import crud, deltas, propagation, staleness, store
from parlour.records.propagation import RecordTransition
from parlour.records.record import PROJECT_TYPE, RecordKey
from parlour.records.record_type import RecordType
from parlour.records.snapshots import SnapshotTemplate, snapshot_row
from parlour.records.store import StoredRecord
from parlour.records.write_counts import PACK_ORIGIN, WriteCounts
from parlour.search.index import store as index
from parlour.search.index.context_rows import RowDraft, StoredRow, diff_rows
from parlour.search.index.embedders import Vectors
from parlour.search.index.row_sync import OwnerRows, group_by_owner, reject_duplicate_keys, sync_rows
from parlour.search.index.store import RowOwner


@dataclass(frozen=True, slots=True)
class RecordDraft:
    """An entity as it should be."""

    key: RecordKey
    name: str
    properties: JsonObject = field(default_factory=dict)
    classification: int = 0
    project: RecordKey | None = None


@dataclass(frozen=True, slots=True)
class ImportedRecord:
    """A record as it is, in the form of a draft. version: 1 as long as nobody changed it."""

    id: UUID
    version: int
    draft: RecordDraft


@dataclass(frozen=True, slots=True)
class RecordImportPlan:
    """Entities with their snapshots (none of a kind that is not searched), the texts among these that have no vector
    yet, and the entities' kinds."""

    drafts: Sequence[tuple[RecordDraft, Sequence[RowDraft]]]
    texts_to_embed: Sequence[str]
    record_types: Mapping[str, RecordType]


def prepare_record_import(
    tx: Transaction, drafts: Sequence[RecordDraft], types: Sequence[SnapshotTemplate], space: str
) -> RecordImportPlan:
    """Render the snapshots and compare them with what is stored; writes nothing. `space` is the embedder's.

    InvalidRequest when a draft's type is not among `types`, or two drafts have one key.
    """
    reject_duplicate_keys([draft.key for draft in drafts])
    kinds = {one.key: RecordType(one.key, one.display_name, one.properties, one.rag) for one in types}
    rendered = [(draft, _snapshots(draft, kinds)) for draft in drafts]
    stored = _stored(tx, drafts)
    rows = group_by_owner(index.list_snapshot_rows(tx, [entity.id for entity in stored.values()], space))
    texts = [
        text
        for draft, wanted in rendered
        for text in diff_rows(rows[stored[draft.key].id] if draft.key in stored else [], wanted).texts_to_embed
    ]
    return RecordImportPlan(rendered, texts, kinds)


def import_records(
    principal: Principal, tx: Transaction, plan: RecordImportPlan, vectors: Vectors, now: datetime
) -> WriteCounts:
    """Write what is new or changed, with everything that a change leaves behind; an entity that is stored as drafted
    is not touched, its snapshot is when its type's template changed. One that was deleted is made anew. The entity
    types must be there.

    Conflict when the tenant's entities changed since they were prepared, in a way that leaves a text
    without its vector.
    """
    index.lock_tenant(tx)
    drafts = [draft for draft, _ in plan.drafts]
    store.free_deleted_keys(tx, [draft.key for draft in drafts])
    stored = _stored(tx, drafts)
    rows = group_by_owner(index.list_snapshot_rows(tx, [entity.id for entity in stored.values()], vectors.space))
    entries: list[tuple[OwnerRows, Sequence[StoredRow]]] = []
    puts: list[tuple[RecordDraft, RowOwner]] = []
    for draft, wanted in plan.drafts:
        there = stored.get(draft.key)
        owner = RowOwner(None, there.id if there else uuid7(now))
        changed = there is None or _is_changed(there, draft)
        if changed:
            puts.append((draft, owner))
        entries.append((OwnerRows(owner, wanted, changed), rows[there.id] if there else []))
    # Projects are written first, since others belong to them; what somebody's record leaves is told before it leaves.
    leaving = [there.id for draft, _ in puts if (there := stored.get(draft.key)) and _project(there) != draft.project]
    staleness.mark_parents_stale(tx, leaving, now)
    ordered = sorted(puts, key=lambda put: put[0].key.type != PROJECT_TYPE)
    store.upsert_records(tx, [_columns(principal, draft, owner, now) for draft, owner in ordered])
    sync_rows(tx, entries, vectors, now)
    after = _stored(tx, [draft for draft, _ in puts])
    steps = [_transition(plan.record_types[key.type], stored.get(key), there) for key, there in after.items()]
    propagation.propagate_transitions(principal, tx, steps, now, PACK_ORIGIN)
    changes = WriteCounts.from_totals(len(drafts), len(stored), len(puts))
    log.info("records_imported", principal=principal.name, added=changes.created, changed=changes.changed)
    return changes


def list_pack_records(tx: Transaction) -> list[RecordKey]:
    """Return the keys of the records that packs made."""
    return [RecordKey(entity.type, entity.key) for entity in store.list_pack_records(tx)]


def read_records(tx: Transaction, keys: Sequence[RecordKey]) -> list[ImportedRecord]:
    """Return the records of these keys as they are, whatever their level; deleted ones are left out."""
    return [
        ImportedRecord(
            there.id,
            there.version,
            RecordDraft(key, there.name, there.properties, there.classification, _project(there)),
        )
        for key, there in _stored_by_key(tx, keys).items()
    ]


def list_records_with_additions(tx: Transaction, ids: Sequence[UUID]) -> list[UUID]:
    """Return those records that people attached something to: a link, a file, a document or a project's record."""
    return store.find_records_with_additions(tx, ids) if ids else []


def delete_records(principal: Principal, tx: Transaction, keys: Sequence[RecordKey], now: datetime) -> None:
    """Delete records with all that is about them. NotFound for one that is not there or above the clearance."""
    for key in keys:
        crud.delete_record(principal, tx, str(key), None, now)


def export_records(principal: Principal, tx: Transaction) -> list[RecordDraft]:
    """Every entity that the principal may see, by type and key, as it was drafted."""
    return [
        RecordDraft(
            RecordKey(entity.type, entity.key), entity.name, entity.properties, entity.classification, _project(entity)
        )
        for entity in store.list_all_records(tx, principal.clearance)
    ]


def _snapshots(draft: RecordDraft, kinds: Mapping[str, RecordType]) -> list[RowDraft]:
    kind = kinds.get(draft.key.type)
    if kind is None:
        raise InvalidRequest(f"entity {draft.key} has an unknown type; define the type first")
    if not kind.settings.is_searchable:
        return []
    return [snapshot_row(kind.snapshot_template, draft.key.key, draft.name, draft.properties, draft.classification)]


def _transition(kind: RecordType, before: StoredRecord | None, after: StoredRecord) -> RecordTransition:
    """Return the transition of an entity that was written."""
    if before is None:
        return RecordTransition(kind, None, after)
    found = deltas.diff_records(kind, before, after)
    if before.project == after.project:
        return RecordTransition(kind, before, after, found)
    return RecordTransition(
        kind,
        before,
        after,
        [*found, deltas.project_change(after.project)],
        after.project_id,
        after.project_classification,
    )


def _stored(tx: Transaction, drafts: Sequence[RecordDraft]) -> dict[RecordKey, StoredRecord]:
    """Return the stored records among these; deleted ones are left out."""
    return _stored_by_key(tx, [draft.key for draft in drafts])


def _stored_by_key(tx: Transaction, keys: Sequence[RecordKey]) -> dict[RecordKey, StoredRecord]:
    found = store.find_stored_records(tx, [key.type for key in keys], [key.key for key in keys]) if keys else []
    return {RecordKey(entity.type, entity.key): entity for entity in found if not entity.is_deleted}


def _is_changed(there: StoredRecord, draft: RecordDraft) -> bool:
    stored = (there.name, there.properties, there.classification, _project(there))
    return stored != (draft.name, draft.properties, draft.classification, draft.project)


def _project(there: StoredRecord) -> RecordKey | None:
    kind, _, key = (there.project or "").partition("/")
    return RecordKey(kind, key) if key else None


def _columns(principal: Principal, draft: RecordDraft, owner: RowOwner, now: datetime) -> Mapping[str, object]:
    return {
        "id": owner.entity_id,
        "type": draft.key.type,
        "key": draft.key.key,
        "name": draft.name,
        "properties": draft.properties,
        "classification": draft.classification,
        "project_type": draft.project.type if draft.project else None,
        "project_key": draft.project.key if draft.project else None,
        "origin": f"{PACK_ORIGIN}:{owner.entity_id}",
        "by": principal.name,
        "now": now,
    }
