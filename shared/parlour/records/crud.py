"""Records: made, read, changed, deleted and listed by people, agents and the API.

Every change leaves its trail (`records/trail.py`) in the transaction that makes it. After the commit the caller has
the new rows embedded: `index.pending.nudge`. Nobody reads, changes or counts a record above their clearance: it is not
there. Roles are checked at the doors; a user's rights to write are checked here (`records/write_rights.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import Conflict, Forbidden, InvalidRequest, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.page_cursor import decode_cursor, encode_cursor
from parlour.infra.postgres import Transaction
from parlour.principal import LEVEL_NAMES, Principal
from parlour.records import deltas, file_tombstones, propagation, staleness, store, type_registry
from parlour.records.propagation import RecordTransition
from parlour.records.properties import merge_properties, validate_filter
from parlour.records.record import (
    ANY_RECORD,
    PROJECT_TYPE,
    Record,
    RecordInput,
    RecordKey,
    RecordPage,
    RecordPatch,
    RecordQuery,
    RecordRef,
    generate_keys,
    parse_reference,
    printable_reference,
    validate_key,
    validate_name,
)
from parlour.records.type_provisioning import provision_record_type
from parlour.records.write_rights import require_change_rights, require_creation_rights
from parlour.tenancy import audit

__all__ = [
    "Record",
    "RecordInput",
    "RecordKey",
    "RecordPage",
    "RecordPatch",
    "RecordRef",
    "accept_record",
    "create_record",
    "delete_record",
    "find_records",
    "get_record",
    "has_change_of_origin",
    "list_records",
    "lock_record",
    "resolve_record_ids",
    "update_record",
]

MAX_PAGE_SIZE = 100
"""Records in a page."""


def create_record(
    principal: Principal, tx: Transaction, new: RecordInput, now: datetime, origin: str | None = None
) -> Record:
    """Make a record. The same `origin` again gives the record that was made the first time.

    InvalidRequest says what of it does not fit its kind; Conflict: there is one of that key already, or what `origin`
    made was deleted since or is of another kind; NotFound: there is no such project; Forbidden: above the principal's
    own clearance.
    """
    require_creation_rights(principal)
    store.lock_tenant(tx)
    if origin and (there := _find_by_origin(principal, tx, origin, new.type)):
        return there
    kind = provision_record_type(principal, tx, new.type, now)
    project = _project(principal, tx, new.project)
    default = max(kind.settings.classification, project.classification if project else 0)
    columns = {
        "type": kind.key,
        "name": validate_name(new.name),
        "properties": merge_properties(kind.properties, {}, new.properties, kind.key),
        "classification": _validate_classification(
            principal, default if new.classification is None else new.classification
        ),
        "project_id": project.id if project else None,
        "origin": origin,
        "by": principal.name,
        "unverified_by": principal.name if new.is_unverified or principal.write_rights != "all" else None,
        "now": now,
    }
    record_id = _insert(tx, columns, validate_key(new.key) if new.key else "", uuid7(now))
    if record_id is None and origin and (there := _find_by_origin(principal, tx, origin, new.type)):
        return there
    if record_id is None:
        raise Conflict(f"key: {kind.key}/{new.key} is taken; choose another, or omit it to generate one")
    propagation.propagate_creation(principal, tx, kind, get_record(principal, tx, record_id), now)
    log.info("record_created", principal=principal.name, entity_id=record_id)
    return get_record(principal, tx, record_id)


def get_record(principal: Principal, tx: Transaction, ref: RecordRef) -> Record:
    """One record; NotFound when there is none of that name for this reader."""
    for entity in find_records(principal, tx, [ref]):
        return entity
    raise NotFound(f"record '{printable_reference(ref)}' not found; a handle is type/key, like 'task/T-112'")


def find_records(principal: Principal, tx: Transaction, refs: Sequence[RecordRef]) -> list[Record]:
    """Return the named records, each once, in order; those that the reader may not see are left out."""
    wanted = [one for one in dict.fromkeys(map(parse_reference, refs)) if one is not None]
    ids = [one for one in wanted if isinstance(one, UUID)]
    keys = [one for one in wanted if isinstance(one, RecordKey)]
    found = store.find_records(tx, ids, keys, principal.clearance) if wanted else []
    by_name: dict[UUID | RecordKey, Record] = {entity.id: entity for entity in found}
    by_name |= {RecordKey(entity.type, entity.key): entity for entity in found}
    return list({by_name[one].id: by_name[one] for one in wanted if one in by_name}.values())


def update_record(
    principal: Principal,
    tx: Transaction,
    ref: RecordRef,
    patch: RecordPatch,
    version: int | None,
    now: datetime,
    origin: str | None = None,
) -> Record:
    """Change a record and return its new version; a patch that changes nothing returns the record as it is.

    version  the one that the caller has read: Conflict when the record is at another by now. None does not check.
    origin   names the call that changes it, for `has_change_of_origin`.

    Otherwise raises as `create_record`.
    """
    before = lock_record(principal, tx, ref, version)
    kind = provision_record_type(principal, tx, before.type, now)
    project, moved = _new_project(principal, tx, before, patch)
    level = before.classification if patch.classification is None else patch.classification
    after = replace(
        before,
        name=before.name if patch.name is None else validate_name(patch.name),
        properties=merge_properties(kind.properties, before.properties, patch.properties, kind.key),
        classification=_validate_classification(principal, level),
        version=before.version + 1,
    )
    found = deltas.diff_records(kind, before, after) + (
        [deltas.project_change(project.handle if project else None)] if moved else []
    )
    found += patch.further_changes
    if not found:
        return before
    if moved:
        staleness.mark_parents_stale(tx, [before.id], now)
    store.update_record(
        tx, after, is_moved=moved, project_id=project.id if project else None, by=principal.name, now=now
    )
    project_id, project_level = (project.id, project.classification) if project and moved else (None, 0)
    is_unverified = after.unverified_by is not None
    step = RecordTransition(kind, before, after, found, project_id, project_level, is_unverified)
    propagation.propagate_update(principal, tx, step, after, now, origin)
    log.info("record_updated", principal=principal.name, entity_id=after.id, version=after.version)
    return get_record(principal, tx, after.id)


def delete_record(principal: Principal, tx: Transaction, ref: RecordRef, version: int | None, now: datetime) -> None:
    """Take a record away, and with it the documents and files about it, all that is searched of these, and a project's
    context document. Its links stay and are not shown; its key is free. Errors of `change`."""
    entity = lock_record(principal, tx, ref, version)
    staleness.mark_parents_stale(tx, [entity.id], now)
    staleness.mark_many_stale(tx, store.find_linked_record_ids(tx, entity.id), "link_changed", now)
    others = store.find_context_document_records(tx, entity.id) if entity.type == PROJECT_TYPE else []
    store.delete_records(tx, [entity.id, *others], principal.name, now)
    file_tombstones.tombstone_files(tx, [], [entity.id, *others], now)
    audit.add_entry(principal, tx, "record.deleted", f"entity:{entity.id}", {"type": entity.type}, now)
    log.info("record_deleted", principal=principal.name, entity_id=entity.id)


def lock_record(principal: Principal, tx: Transaction, ref: RecordRef, version: int | None) -> Record:
    """Lock and return a record that is to be changed.

    Conflict when it is at another version, Forbidden when the principal may not change it.
    """
    store.lock_tenant(tx)
    store.lock_record(tx, get_record(principal, tx, ref).id)
    entity = get_record(principal, tx, ref)
    require_change_rights(principal, entity)
    if version is not None and version != entity.version:
        raise Conflict(
            f"{entity.handle} is at version {entity.version}, but you changed version {version};"
            " read it again and repeat the change"
        )
    return entity


def accept_record(principal: Principal, tx: Transaction, ref: RecordRef, now: datetime) -> Record:
    """Verify a record that a user created: every reader finds it, and the user cannot change it. Audited.

    The caller checks the role.

    Conflict when it is accepted already.
    """
    entity = lock_record(principal, tx, ref, None)
    if not store.accept_record(tx, entity.id, principal.name, now):
        raise Conflict(f"{entity.handle} is accepted already")
    audit.add_entry(principal, tx, "record.accepted", f"entity:{entity.id}", {"created_by": entity.created_by}, now)
    staleness.mark_stale(tx, entity.id, "changed", now)
    staleness.mark_parents_stale(tx, [entity.id], now)
    staleness.mark_many_stale(tx, store.find_linked_record_ids(tx, entity.id), "link_changed", now)
    return get_record(principal, tx, entity.id)


def has_change_of_origin(tx: Transaction, record_id: UUID, origin: str) -> bool:
    """Whether that call has changed the record before; nobody can tell of a kind that is not searched."""
    return store.has_change_of_origin(tx, record_id, origin)


def list_records(
    principal: Principal,
    tx: Transaction,
    query: RecordQuery = ANY_RECORD,
    *,
    cursor: str = "",
    limit: int = 20,
) -> RecordPage:
    """Return a page of records, the last changed first, at most `limit` (1 to 100).

    `cursor` is the `next_cursor` of the page before. InvalidRequest for an unknown type, property, choice or cursor,
    NotFound for an unknown project.
    """
    kind = type_registry.get_record_type(tx, query.type) if query.type else None
    if kind:
        validate_filter(kind.properties, query.where)
    after_at, after_handle = decode_cursor(cursor) if cursor else (None, "")
    limit = min(max(limit, 1), MAX_PAGE_SIZE)
    found = store.list_records(
        tx,
        type=kind.key if kind else None,
        project_id=_get_project(principal, tx, query.project).id if query.project else None,
        where={_storable(name): _storable(value) for name, value in query.where.items()},
        text=_storable(query.text).strip(),
        only_unverified=query.only_unverified,
        after_at=after_at,
        after_handle=after_handle,
        clearance=principal.clearance,
        most=limit + 1,
    )
    last = found[limit - 1] if len(found) > limit else None
    return RecordPage(found[:limit], encode_cursor(last.updated_at, last.handle) if last else "")


def resolve_record_ids(tx: Transaction, keys: Sequence[RecordKey]) -> dict[RecordKey, UUID]:
    """Return the ids of the named entities; InvalidRequest names one that does not exist."""
    wanted = list(dict.fromkeys(keys))
    found = store.find_record_ids(tx, [key.type for key in wanted], [key.key for key in wanted]) if wanted else []
    ids = {RecordKey(entity.type, entity.key): entity.id for entity in found}
    if missing := [str(key) for key in wanted if key not in ids]:
        raise InvalidRequest(f"entity {missing[0]} not found; create it first or correct the name")
    return ids


def _storable(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "ignore").decode()


def _find_by_origin(principal: Principal, tx: Transaction, origin: str, kind: str) -> Record | None:
    """Return the record that the same call made; Conflict when it was deleted, or the call was of another kind."""
    made = store.find_record_by_origin(tx, origin)
    if made is None:
        return None
    if made.is_deleted:
        raise Conflict("this call created a record that was deleted since; make a new call")
    if made.type != kind:
        raise Conflict(f"this call already created a {made.type}, not a {printable_reference(kind)}; make a new call")
    return get_record(principal, tx, made.id)


def _insert(tx: Transaction, columns: Mapping[str, object], key: str, record_id: UUID) -> UUID | None:
    """Insert the record under its key or a generated one; return None when the key or the origin is taken."""
    for one in [key] if key else generate_keys(str(columns["name"]), record_id):
        if store.add_record(tx, {**columns, "id": record_id, "key": one}):
            return record_id
    if key and store.free_deleted_keys(tx, [RecordKey(str(columns["type"]), key)]):
        return record_id if store.add_record(tx, {**columns, "id": record_id, "key": key}) else None
    return None


def _project(principal: Principal, tx: Transaction, ref: RecordRef | None) -> Record | None:
    return _get_project(principal, tx, ref) if ref else None


def _get_project(principal: Principal, tx: Transaction, ref: RecordRef) -> Record:
    project = get_record(principal, tx, ref)
    if project.type != PROJECT_TYPE:
        raise InvalidRequest(f"project: {project.handle} is not a project")
    return project


def _new_project(
    principal: Principal, tx: Transaction, before: Record, patch: RecordPatch
) -> tuple[Record | None, bool]:
    """Return the project that a patch moves the record into, and whether that is another one."""
    if isinstance(patch.project, str | None):
        project = _project(principal, tx, patch.project)
        if project and project.id == before.id:
            raise InvalidRequest("project: a project cannot belong to itself")
        return project, (project.id if project else None) != before.project_id
    return None, False


def _validate_classification(principal: Principal, level: int) -> int:
    if not 0 <= level < len(LEVEL_NAMES):
        raise InvalidRequest(f"classification: use a number from 0 ({LEVEL_NAMES[0]}) to 3 ({LEVEL_NAMES[3]})")
    if level > principal.clearance:
        raise Forbidden(
            f"classification: {LEVEL_NAMES[level]} is above your own clearance, {LEVEL_NAMES[principal.clearance]}"
        )
    return level
