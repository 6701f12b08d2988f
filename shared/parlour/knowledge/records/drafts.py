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
from parlour.knowledge.records import deltas, stale, store, trail
from parlour.knowledge.records.changes import PACK, Changes
from parlour.knowledge.records.definition import Definition
from parlour.knowledge.records.record import PROJECT, EntityKey
from parlour.knowledge.records.snapshots import RecordType, snapshot
from parlour.knowledge.records.store import StoredEntity
from parlour.knowledge.records.trail import Step
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
    """Entities with their snapshots (none of a kind that is not searched), the texts among these that have no vector
    yet, and the entities' kinds."""

    drafts: Sequence[tuple[EntityDraft, Sequence[RowDraft]]]
    texts: Sequence[str]
    kinds: Mapping[str, Definition]


def prepare_entities(
    tx: Transaction, drafts: Sequence[EntityDraft], types: Sequence[RecordType], space: str
) -> EntitiesPlan:
    """Render the snapshots and compare them with what is stored; writes nothing. `space` is the embedder's.

    InvalidRequest when a draft's type is not among `types`, or two drafts have one key.
    """
    refuse_repeated([draft.key for draft in drafts])
    kinds = {one.key: Definition(one.key, one.display_name, one.properties, one.rag) for one in types}
    rendered = [(draft, _snapshots(draft, kinds)) for draft in drafts]
    stored = _stored(tx, drafts)
    rows = by_owner(index.entity_rows(tx, [entity.id for entity in stored.values()], space))
    texts = [
        text
        for draft, wanted in rendered
        for text in compare(rows[stored[draft.key].id] if draft.key in stored else [], wanted).texts
    ]
    return EntitiesPlan(rendered, texts, kinds)


def write_entities(
    principal: Principal, tx: Transaction, plan: EntitiesPlan, vectors: Vectors, now: datetime, new_id: NewId
) -> Changes:
    """Write what is new or changed, with everything that a change leaves behind; an entity that is stored as drafted
    is not touched, its snapshot is when its type's template changed. One that was deleted is made anew. The entity
    types must be there.

    Conflict when the tenant's entities changed since they were prepared, in a way that leaves a text
    without its vector.
    """
    index.hold_tenant(tx)
    drafts = [draft for draft, _ in plan.drafts]
    store.free_keys(tx, [draft.key for draft in drafts])
    stored = _stored(tx, drafts)
    rows = by_owner(index.entity_rows(tx, [entity.id for entity in stored.values()], vectors.space))
    entries: list[tuple[Entry, Sequence[StoredRow]]] = []
    puts: list[tuple[EntityDraft, Owner]] = []
    for draft, wanted in plan.drafts:
        there = stored.get(draft.key)
        owner = Owner(None, there.id if there else new_id(now))
        changed = there is None or _differs(there, draft)
        if changed:
            puts.append((draft, owner))
        entries.append((Entry(owner, wanted, changed), rows[there.id] if there else []))
    _put(principal, tx, puts, stored, now)
    reindex(tx, entries, vectors, now, new_id)
    after = _stored(tx, [draft for draft, _ in puts])
    steps = [_step(plan.kinds[key.type], stored.get(key), there) for key, there in after.items()]
    trail.stepped(principal, tx, steps, now, new_id, PACK)
    changes = Changes.tally(len(drafts), len(stored), len(puts))
    log.info("entities_written", principal=principal.name, added=changes.created, changed=changes.changed)
    return changes


def left_entities(tx: Transaction, drafts: Sequence[EntityDraft]) -> list[str]:
    """The handles of what packs made and is not among these."""
    drafted = {draft.key for draft in drafts}
    made = [EntityKey(entity.type, entity.key) for entity in store.pack_entities(tx)]
    return [str(key) for key in made if key not in drafted]


def read_entities(principal: Principal, tx: Transaction) -> list[EntityDraft]:
    """Every entity that the principal may see, by type and key, as it was drafted."""
    return [
        EntityDraft(
            EntityKey(entity.type, entity.key), entity.name, entity.properties, entity.classification, _project(entity)
        )
        for entity in store.all_entities(tx, principal.clearance)
    ]


def _snapshots(draft: EntityDraft, kinds: Mapping[str, Definition]) -> list[RowDraft]:
    kind = kinds.get(draft.key.type)
    if kind is None:
        raise InvalidRequest(f"entity {draft.key} is of a type that does not exist; define the type first")
    if not kind.settings.context:
        return []
    return [snapshot(kind.record_type, draft.key.key, draft.name, draft.properties, draft.classification)]


def _put(
    principal: Principal,
    tx: Transaction,
    puts: Sequence[tuple[EntityDraft, Owner]],
    stored: Mapping[EntityKey, StoredEntity],
    now: datetime,
) -> None:
    """Projects first, since others belong to them; what somebody's record leaves is told before it leaves."""
    leaving = [there.id for draft, _ in puts if (there := stored.get(draft.key)) and _project(there) != draft.project]
    stale.mark_wholes(tx, leaving, now)
    ordered = sorted(puts, key=lambda put: put[0].key.type != PROJECT)
    store.put_entities(tx, [_columns(principal, draft, owner, now) for draft, owner in ordered])


def _step(kind: Definition, before: StoredEntity | None, after: StoredEntity) -> Step:
    """What an entity that was written came to."""
    if before is None:
        return Step(kind, None, after)
    found = deltas.differences(kind, before, after)
    if before.project == after.project:
        return Step(kind, before, after, found)
    return Step(kind, before, after, [*found, deltas.moved(after.project)], after.project_id, after.project_level)


def _stored(tx: Transaction, drafts: Sequence[EntityDraft]) -> dict[EntityKey, StoredEntity]:
    """What there is of them; what was deleted is not."""
    types, keys = [draft.key.type for draft in drafts], [draft.key.key for draft in drafts]
    found = store.stored_entities(tx, types, keys) if drafts else []
    return {EntityKey(entity.type, entity.key): entity for entity in found if not entity.deleted}


def _differs(there: StoredEntity, draft: EntityDraft) -> bool:
    stored = (there.name, there.properties, there.classification, _project(there))
    return stored != (draft.name, draft.properties, draft.classification, draft.project)


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
        "origin": f"{PACK}:{owner.entity_id}",
        "by": principal.name,
        "now": now,
    }
