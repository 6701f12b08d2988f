"""Records: made, read, changed, deleted and listed by people, agents and the API.

Every change leaves its trail (`records/trail.py`) in the transaction that makes it. After the commit the caller has
the new rows embedded: `index.pending.nudge`. Nobody reads, changes or counts a record above their clearance: it is not
there. What is said of roles is checked at the doors; here everybody who can see a record may change it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import Conflict, Forbidden, InvalidRequest, NotFound
from parlour.infra.ids import NewId
from parlour.infra.postgres import Transaction
from parlour.knowledge.files import store as files
from parlour.knowledge.records import cursor as places
from parlour.knowledge.records import deltas, registry, stale, store, trail
from parlour.knowledge.records.definition import Definition
from parlour.knowledge.records.deltas import Difference
from parlour.knowledge.records.in_use import kind_in_use
from parlour.knowledge.records.properties import check_filter, merged
from parlour.knowledge.records.record import (
    PROJECT,
    Entity,
    EntityKey,
    NewEntity,
    Page,
    Patch,
    Ref,
    check_key,
    check_name,
    made_keys,
    named,
    shown,
)
from parlour.knowledge.records.trail import Step
from parlour.principal import LEVELS, Principal
from parlour.tenancy import audit

__all__ = [
    "Entity", "EntityKey", "NewEntity", "Page", "Patch", "Ref", "browse", "change", "create", "delete", "find_entities",
    "hold", "read", "read_many", "was_changed",
]  # fmt: skip

MOST = 100
"""Records in a page."""


def create(
    principal: Principal, tx: Transaction, new: NewEntity, now: datetime, new_id: NewId, origin: str | None = None
) -> Entity:
    """Make a record. The same `origin` again gives the record that was made the first time.

    InvalidRequest says what of it does not fit its kind; Conflict: there is one of that key already, or what `origin`
    made was deleted since or is of another kind; NotFound: there is no such project; Forbidden: above the principal's
    own clearance.
    """
    store.join_writers(tx)
    if origin and (there := _made_before(principal, tx, origin, new.type)):
        return there
    kind = kind_in_use(principal, tx, new.type, now, new_id)
    project = _project(principal, tx, new.project)
    columns = {
        "type": kind.key,
        "name": check_name(new.name),
        "properties": merged(kind.properties, {}, new.properties, kind.key),
        "classification": _level(principal, kind, new.classification, project),
        "project_id": project.id if project else None,
        "origin": origin,
        "by": principal.name,
        "now": now,
    }
    record_id = _added(tx, columns, check_key(new.key) if new.key else "", new_id(now))
    if record_id is None and origin and (there := _made_before(principal, tx, origin, new.type)):
        return there
    if record_id is None:
        raise Conflict(f"key: {kind.key}/{new.key} is taken; choose another, or none, and one is made from the name")
    trail.made(principal, tx, kind, read(principal, tx, record_id), now, new_id)
    log.info("record_created", principal=principal.name, entity_id=record_id)
    return read(principal, tx, record_id)


def read(principal: Principal, tx: Transaction, ref: Ref) -> Entity:
    """One record; NotFound when there is none of that name for this reader."""
    for entity in read_many(principal, tx, [ref]):
        return entity
    raise NotFound(f"there is no record '{shown(ref)}'; records are named type/key, like 'task/T-112'")


def read_many(principal: Principal, tx: Transaction, refs: Sequence[Ref]) -> list[Entity]:
    """The records so named, each once, in that order; what is not there for this reader is left out."""
    wanted = [one for one in dict.fromkeys(map(named, refs)) if one is not None]
    ids = [one for one in wanted if isinstance(one, UUID)]
    keys = [one for one in wanted if isinstance(one, EntityKey)]
    found = store.records(tx, ids, keys, principal.clearance) if wanted else []
    by_name: dict[UUID | EntityKey, Entity] = {entity.id: entity for entity in found}
    by_name |= {EntityKey(entity.type, entity.key): entity for entity in found}
    return list({by_name[one].id: by_name[one] for one in wanted if one in by_name}.values())


def change(
    principal: Principal,
    tx: Transaction,
    ref: Ref,
    patch: Patch,
    version: int | None,
    now: datetime,
    new_id: NewId,
    also: Sequence[Difference] = (),
    origin: str | None = None,
) -> Entity:
    """Give a record its next version; a patch that changes nothing gives it as it is.

    `version`: the one that the caller has read; Conflict when the record is at another by now. None does not ask.
    `also`: what changed with it that is kept elsewhere, such as a document's text. `origin`: the call that changes it,
    of which `was_changed` tells afterwards.
    Otherwise the errors of `create`.
    """
    before = hold(principal, tx, ref, version)
    kind = kind_in_use(principal, tx, before.type, now, new_id)
    project, moved = _move(principal, tx, before, patch)
    level = before.classification if patch.classification is None else patch.classification
    after = replace(
        before,
        name=before.name if patch.name is None else check_name(patch.name),
        properties=merged(kind.properties, before.properties, patch.properties, kind.key),
        classification=_allowed(principal, level),
        version=before.version + 1,
    )
    found = deltas.differences(kind, before, after) + (
        [deltas.moved(project.handle if project else None)] if moved else []
    )
    found += also
    if not found:
        return before
    if moved:
        stale.mark_wholes(tx, [before.id], now)
    store.change_record(
        tx, after, moved=moved, project_id=project.id if project else None, by=principal.name, now=now
    )  # fmt: skip
    to = (project.id, project.classification) if project and moved else (None, 0)
    trail.changed(principal, tx, Step(kind, before, after, found, *to), after, now, new_id, origin)
    log.info("record_changed", principal=principal.name, entity_id=after.id, version=after.version)
    return read(principal, tx, after.id)


def delete(principal: Principal, tx: Transaction, ref: Ref, version: int | None, now: datetime, new_id: NewId) -> None:
    """Take a record away, and with it the documents and files about it, all that is searched of these, and a project's
    context document. Its links stay and are not shown; its key is free. Errors of `change`."""
    entity = hold(principal, tx, ref, version)
    stale.mark_wholes(tx, [entity.id], now)
    stale.mark_all(tx, store.linked_to(tx, entity.id), "link_changed", now)
    others = store.context_of(tx, entity.id) if entity.type == PROJECT else []
    store.delete_records(tx, [entity.id, *others], principal.name, now)
    files.bury_files(tx, [], [entity.id, *others], now)
    audit.record(principal, tx, "record.deleted", f"entity:{entity.id}", {"type": entity.type}, now, new_id)
    log.info("record_deleted", principal=principal.name, entity_id=entity.id)


def hold(principal: Principal, tx: Transaction, ref: Ref, version: int | None) -> Entity:
    """A record, and nobody else's to change until the transaction ends; Conflict when it is at another version."""
    store.join_writers(tx)
    store.hold_record(tx, read(principal, tx, ref).id)
    entity = read(principal, tx, ref)
    if version is not None and version != entity.version:
        raise Conflict(
            f"{entity.handle} is at version {entity.version}, and this changes version {version};"
            " read it again and repeat the change"
        )
    return entity


def was_changed(tx: Transaction, record_id: UUID, origin: str) -> bool:
    """Whether that call has changed the record before; nobody can tell of a kind that is not searched."""
    return store.was_changed(tx, record_id, origin)


def browse(
    principal: Principal,
    tx: Transaction,
    *,
    type: str | None = None,  # noqa: A002 - the word for it
    project: Ref | None = None,
    where: Mapping[str, str] | None = None,
    text: str = "",
    cursor: str = "",
    most: int = 20,
) -> Page:
    """Records, the newest change first, at most `most` (1 to 100).

    where   values that properties have, as text
    text    part of the name or key, in any case
    cursor  the `next_cursor` of the page before

    InvalidRequest: there is no such kind, it has no such property or choice, or the cursor is none; NotFound: there is
    no such project.
    """
    kind = registry.definition(tx, type) if type else None
    if kind:
        check_filter(kind.properties, where or {})
    after_at, after_handle = places.place(cursor) if cursor else (None, "")
    limit = min(max(most, 1), MOST)
    found = store.browse(
        tx,
        type=kind.key if kind else None,
        project_id=_project_of(principal, tx, project).id if project else None,
        where={_storable(name): _storable(value) for name, value in (where or {}).items()},
        text=_storable(text).strip(),
        after_at=after_at,
        after_handle=after_handle,
        clearance=principal.clearance,
        most=limit + 1,
    )
    return Page(found[:limit], places.behind(found[limit - 1]) if len(found) > limit else "")


def find_entities(tx: Transaction, keys: Sequence[EntityKey]) -> dict[EntityKey, UUID]:
    """The ids of the entities so named; InvalidRequest names one that does not exist."""
    wanted = list(dict.fromkeys(keys))
    found = store.entity_ids(tx, [key.type for key in wanted], [key.key for key in wanted]) if wanted else []
    ids = {EntityKey(entity.type, entity.key): entity.id for entity in found}
    if missing := [str(key) for key in wanted if key not in ids]:
        raise InvalidRequest(f"there is no entity {missing[0]}; write it first, or correct the name")
    return ids


def _storable(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "ignore").decode()


def _made_before(principal: Principal, tx: Transaction, origin: str, kind: str) -> Entity | None:
    """The record that the same call made; Conflict when it is there no more, or was another kind of call."""
    made = store.record_of_origin(tx, origin)
    if made is None:
        return None
    if made.deleted:
        raise Conflict("this call made a record before, and it was deleted since; make a new call")
    if made.type != kind:
        raise Conflict(f"this call made a {made.type} before, and no {shown(kind)}; make a new call")
    return read(principal, tx, made.id)


def _added(tx: Transaction, columns: Mapping[str, object], key: str, record_id: UUID) -> UUID | None:
    """The new record's id, under the key or one made for it; None when the key or the call's origin is taken."""
    for one in [key] if key else made_keys(str(columns["name"]), record_id):
        if store.add_record(tx, {**columns, "id": record_id, "key": one}):
            return record_id
    if key and store.free_keys(tx, [EntityKey(str(columns["type"]), key)]):
        return record_id if store.add_record(tx, {**columns, "id": record_id, "key": key}) else None
    return None


def _project(principal: Principal, tx: Transaction, ref: Ref | None) -> Entity | None:
    return _project_of(principal, tx, ref) if ref else None


def _project_of(principal: Principal, tx: Transaction, ref: Ref) -> Entity:
    project = read(principal, tx, ref)
    if project.type != PROJECT:
        raise InvalidRequest(f"project: {project.handle} is not a project")
    return project


def _move(principal: Principal, tx: Transaction, before: Entity, patch: Patch) -> tuple[Entity | None, bool]:
    """The project that a patch puts the record into, and whether that is another than it was in."""
    if isinstance(patch.project, str | None):
        project = _project(principal, tx, patch.project)
        if project and project.id == before.id:
            raise InvalidRequest("project: a project does not belong to itself")
        return project, (project.id if project else None) != before.project_id
    return None, False


def _level(principal: Principal, kind: Definition, given: int | None, project: Entity | None) -> int:
    """What a new record is classified: as said, else as its kind says or its project is, whichever is higher."""
    default = max(kind.settings.classification, project.classification if project else 0)
    return _allowed(principal, default if given is None else given)


def _allowed(principal: Principal, level: int) -> int:
    if not 0 <= level < len(LEVELS):
        raise InvalidRequest(f"classification: use a number from 0 ({LEVELS[0]}) to 3 ({LEVELS[3]})")
    if level > principal.clearance:
        raise Forbidden(f"classification: {LEVELS[level]} is above your own clearance, {LEVELS[principal.clearance]}")
    return level
