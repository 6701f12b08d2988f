"""Records as a pack has them, each searchable by a snapshot of what it says.

Writing takes two steps, as for documents: `prepare_entities` says which snapshots need a vector,
`write_entities` writes with the vectors at hand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from parlour.infra import log
from parlour.infra.errors import InvalidRequest
from parlour.infra.ids import NewId
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.index import store as index
from parlour.knowledge.index.embed import Vectors
from parlour.knowledge.index.reindex import Entry, by_owner, refuse_repeated, reindex
from parlour.knowledge.index.rows import RowDraft, StoredRow, compare
from parlour.knowledge.index.store import Owner
from parlour.knowledge.records import store
from parlour.knowledge.records.changes import Changes
from parlour.knowledge.records.record import PROJECT, EntityKey
from parlour.knowledge.records.snapshots import RecordType, snapshot
from parlour.knowledge.records.store import StoredEntity
from parlour.principal import Principal


@dataclass(frozen=True, slots=True)
class EntityDraft:
    """An entity as it should be."""

    key: EntityKey
    name: str
    properties: JsonObject = field(default_factory=dict)
    classification: int = 0
    project: EntityKey | None = None


@dataclass(frozen=True, slots=True)
class EntitiesPlan:
    """Entities with their snapshots, and the texts among these that have no vector yet."""

    drafts: Sequence[tuple[EntityDraft, RowDraft]]
    texts: Sequence[str]


def prepare_entities(
    tx: Transaction, drafts: Sequence[EntityDraft], types: Sequence[RecordType], space: str
) -> EntitiesPlan:
    """Render the snapshots and compare them with what is stored; writes nothing. `space` is the embedder's.

    InvalidRequest when a draft's type is not among `types`, or two drafts have one key.
    """
    refuse_repeated([draft.key for draft in drafts])
    rendered = [(draft, _snapshot(draft, types)) for draft in drafts]
    stored = _stored(tx, drafts)
    rows = by_owner(index.entity_rows(tx, [entity.id for entity in stored.values()], space))
    texts = [
        text
        for draft, row in rendered
        for text in compare(rows[stored[draft.key].id] if draft.key in stored else [], [row]).texts
    ]
    return EntitiesPlan(rendered, texts)


def write_entities(
    principal: Principal, tx: Transaction, plan: EntitiesPlan, vectors: Vectors, now: datetime, new_id: NewId
) -> Changes:
    """Write what is new or changed; an entity that is stored as drafted is not touched, its snapshot is when its
    type's template changed. The entity types must be there.

    Conflict when the tenant's entities changed since they were prepared, in a way that leaves a text
    without its vector.
    """
    index.hold_tenant(tx)
    drafts = [draft for draft, _ in plan.drafts]
    stored = _stored(tx, drafts)
    rows = by_owner(index.entity_rows(tx, [entity.id for entity in stored.values()], vectors.space))
    entries: list[tuple[Entry, Sequence[StoredRow]]] = []
    puts: list[Mapping[str, object]] = []
    for draft, row in plan.drafts:
        there = stored.get(draft.key)
        owner = Owner(None, there.id if there else new_id(now))
        changed = there is None or _differs(there, draft)
        if changed:
            puts.append(_columns(principal, draft, owner, now))
        entries.append((Entry(owner, [row], changed), rows[there.id] if there else []))
    store.put_entities(tx, sorted(puts, key=lambda put: put["type"] != PROJECT))
    reindex(tx, entries, vectors, now, new_id)
    changes = Changes.tally(len(drafts), len(stored), len(puts))
    log.info("entities_written", principal=principal.name, added=changes.created, changed=changes.changed)
    return changes


def read_entities(principal: Principal, tx: Transaction) -> list[EntityDraft]:
    """Every entity that the principal may see, by type and key, as it was drafted."""
    return [
        EntityDraft(
            EntityKey(entity.type, entity.key), entity.name, entity.properties, entity.classification, _project(entity)
        )
        for entity in store.all_entities(tx, principal.clearance)
    ]


def _snapshot(draft: EntityDraft, types: Sequence[RecordType]) -> RowDraft:
    for record_type in types:
        if record_type.key == draft.key.type:
            return snapshot(record_type, draft.key.key, draft.name, draft.properties, draft.classification)
    raise InvalidRequest(f"entity {draft.key} is of a type that does not exist; define the type first")


def _stored(tx: Transaction, drafts: Sequence[EntityDraft]) -> dict[EntityKey, StoredEntity]:
    types, keys = [draft.key.type for draft in drafts], [draft.key.key for draft in drafts]
    return {EntityKey(entity.type, entity.key): entity for entity in store.stored_entities(tx, types, keys)}


def _differs(there: StoredEntity, draft: EntityDraft) -> bool:
    stored = (there.name, there.properties, there.classification, _project(there), there.deleted)
    return stored != (draft.name, draft.properties, draft.classification, draft.project, False)


def _project(there: StoredEntity) -> EntityKey | None:
    kind, _, key = (there.project or "").partition("/")
    return EntityKey(kind, key) if key else None


def _columns(principal: Principal, draft: EntityDraft, owner: Owner, now: datetime) -> Mapping[str, object]:
    return {
        "id": owner.entity_id,
        "type": draft.key.type,
        "key": draft.key.key,
        "name": draft.name,
        "properties": draft.properties,
        "classification": draft.classification,
        "project_type": draft.project.type if draft.project else None,
        "project_key": draft.project.key if draft.project else None,
        "by": principal.name,
        "now": now,
    }
