"""Files come and go: somebody says what they are about to upload, uploads it themselves, says that it is there.

The bytes never pass through the API: whoever starts an upload gets a form that the object store takes for one key,
one type, so many bytes, and a quarter of an hour. Uploading again makes a new version: the old one is found until the
new one was read. Deleting takes the rows out of every search at once, and the bytes; they are looked for once more when
no form is good any more (`files/ingest.py`), and then the file's id goes too.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from parlour.files import store
from parlour.files.file import UPLOAD_FORM_LIFETIME, File, FileQuery, NewFile, file_object_key
from parlour.files.file_types import MEDIA_TYPES, file_type_of_name
from parlour.files.problems import MAX_FILE_BYTES, unreadable_file
from parlour.files.store import FilePosition, StoredFile
from parlour.infra import log
from parlour.infra.errors import Conflict, Forbidden, InvalidRequest, NotFound, RetryError
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.objects import UploadForm, UploadStore
from parlour.infra.page_cursor import Page, cut_page, decode_id_cursor
from parlour.infra.postgres import Database, Transaction
from parlour.infra.queues import FifoQueue, QueueMessage
from parlour.jobs import sweep, work_due
from parlour.jobs.sweep import Finder, StaleWork
from parlour.jobs.work_due import DueWork
from parlour.principal import LEVEL_NAMES, Principal
from parlour.records import crud, file_tombstones, staleness, type_registry
from parlour.records.file_tombstones import CLEANUP_DELAY
from parlour.tenancy import audit, roles

EDITOR_ROLE = "editor"
"""Who may upload and delete."""

EVERY_FILE = FileQuery()

DOWNLOAD_LINK_LIFETIME = timedelta(minutes=1)
"""How long the address of a download is good: for whoever asked for it, at once."""

_LONGEST_NAME = 200

_FILES_AT_ONCE = 3
"""Of one tenant, of the five that are read at the same time (template.yaml): the others find a worker free."""


@dataclass(frozen=True, slots=True)
class StartedUpload:
    """A file, and the form that one version of it is uploaded with."""

    file: File
    version: int
    form: UploadForm


def start_upload(
    principal: Principal, tx: Transaction, uploads: UploadStore, new: NewFile, now: datetime, file_id: UUID
) -> StartedUpload:
    """Say what will be uploaded. `file_id` is made by the caller.

    Forbidden without the role editor or for a classification above one's own clearance; InvalidRequest for one below
    the record's; NotFound for a record or a team that is not there; UnreadableFile for what is too large or not taken.
    """
    roles.require_role(principal, EDITOR_ROLE)
    name, media_type = _validated_name(new.name, new.size_bytes)
    entity_id, level = _record_and_classification(principal, tx, new)
    content = store.FileContent(name, media_type, file_object_key(principal.tenant_id, file_id, 1), new.size_bytes)
    file = store.NewFileRow(file_id, entity_id, _team_id(tx, new.team), level, content, new.written_by_others)
    store.add_file(tx, file, principal.name, now)
    work_due.schedule(tx, "file", file_id, now + CLEANUP_DELAY)
    log.info("upload_started", principal=principal.name, file_id=file_id, bytes=new.size_bytes)
    return _start_version(principal, tx, uploads, file_id, 1, media_type)


def start_new_version(
    principal: Principal, tx: Transaction, uploads: UploadStore, file_id: UUID, name: str, size_bytes: int
) -> StartedUpload:
    """Say that a new version of a file will be uploaded; nothing changes until it is there. Errors as `start`.

    Of a file that never arrived it is the first one again.
    """
    roles.require_role(principal, EDITOR_ROLE)
    file = get_file(principal, tx, file_id)
    _, media_type = _validated_name(name or file.name, size_bytes)
    version = file.version if file.state == "uploading" else file.version + 1
    return _start_version(principal, tx, uploads, file_id, version, media_type)


@dataclass(frozen=True, slots=True)
class UploadedVersion:
    """A version that was uploaded. name: the file's new name, "" leaves it.

    written_by_others  who wrote it; of the first version the start of the upload says so.
    """

    file_id: UUID
    version: int = 1
    name: str = ""
    written_by_others: bool = True


def complete_upload(
    principal: Principal,
    database: Database,
    uploads: UploadStore,
    ingest_queue: FifoQueue,
    uploaded: UploadedVersion,
    now: datetime,
) -> File:
    """Have an uploaded version read. A repeated call only sends the version's message again.

    Conflict when nothing has arrived, or another version is the next; UnreadableFile when more arrived than is
    allowed, which is deleted.
    """
    file_id, version = uploaded.file_id, uploaded.version
    roles.require_role(principal, EDITOR_ROLE)
    database.run(principal, lambda tx: get_file(principal, tx, file_id))
    key = file_object_key(principal.tenant_id, file_id, version)
    size = uploads.size(key)
    if size is None:
        raise Conflict("the file has not arrived: send it with the upload form first, then repeat this request")
    if size > MAX_FILE_BYTES:
        uploads.delete([key])
        database.run(principal, lambda tx: _reject_version(tx, file_id, version, now))
        raise unreadable_file("too_large")
    waiting = database.run(principal, lambda tx: _queue_version(principal, tx, uploaded, size, now))
    if waiting:
        ingest_queue.send([ingest_message(principal.tenant_id, file_id, version, str(version))])
    return database.run(principal, lambda tx: get_file(principal, tx, file_id))


def get_file(principal: Principal, tx: Transaction, file_id: UUID) -> File:
    """One file; NotFound also when it is above the reader's clearance."""
    for file in store.list_files(tx, principal.clearance, FilePosition(file_id=file_id)):
        return file
    raise NotFound("file not found")


def list_files(
    principal: Principal, tx: Transaction, wanted: FileQuery = EVERY_FILE, cursor: str = "", limit: int = 100
) -> Page[File]:
    """Return a page of the files that the principal may see, the last changed first; those without a record too.

    InvalidRequest for a cursor that is none.
    """
    position = FilePosition(
        entity_id=crud.get_record(principal, tx, wanted.about).id if wanted.about else None,
        team_id=_team_id(tx, wanted.team),
        text=wanted.text,
        after=decode_id_cursor(cursor) if cursor else None,
    )
    rows = store.list_files(tx, principal.clearance, position, limit + 1)
    return cut_page(rows, limit, lambda file: (file.updated_at, file.id))


@dataclass(frozen=True, slots=True)
class Download:
    """Where a file's bytes may be downloaded from, for so many seconds; whoever has the address needs nothing else."""

    url: str
    name: str
    size_bytes: int
    seconds: int


def get_download(
    principal: Principal, database: Database, uploads: UploadStore, file_id: UUID, now: datetime
) -> Download:
    """Somewhere to download the newest version of a file from; it is written down who asked.

    NotFound when it is not there for this reader, or never arrived.
    """
    file = database.run(principal, lambda tx: get_file(principal, tx, file_id))
    key = file_object_key(principal.tenant_id, file_id, file.version)
    if uploads.size(key) is None:
        raise NotFound("the content of this file is missing: upload it again")
    act_id = uuid7(now)

    def note(tx: Transaction) -> None:
        details: JsonObject = {"version": file.version}
        audit.add_entry(principal, tx, "file.downloaded", f"file:{file_id}", details, now, entry_id=act_id)

    database.run(principal, note)
    seconds = int(DOWNLOAD_LINK_LIFETIME.total_seconds())
    return Download(uploads.make_download_link(key, file.name, seconds), file.name, file.size_bytes, seconds)


def delete_file(principal: Principal, database: Database, uploads: UploadStore, file_id: UUID, now: datetime) -> None:
    """Take a file and everything that was made of it away. NotFound when it is not there.

    Nobody finds it any more, nor its name. Should the store be away, its bytes go with the later look.
    """
    roles.require_role(principal, EDITOR_ROLE)
    act_id = uuid7(now)

    def bury(tx: Transaction) -> int:
        store.lock_record_of_file(tx, file_id)
        held = store.lock_file(tx, file_id)
        if held and held.is_deleted and held.updated_at == now:
            return held.version  # by this very call, when nobody heard of its commit
        file = get_file(principal, tx, file_id)
        store.delete_file_rows(tx, file_id)
        file_tombstones.tombstone_files(tx, [file_id], [], now)
        if held and held.entity_id:
            staleness.mark_stale(tx, held.entity_id, "file_deleted", now)
        audit.add_entry(
            principal, tx, "file.deleted", f"file:{file_id}", {"version": file.version}, now, entry_id=act_id
        )
        return file.version

    last = database.run(principal, bury)
    log.info("file_deleted", principal=principal.name, file_id=file_id)
    try:
        uploads.delete([file_object_key(principal.tenant_id, file_id, version) for version in range(1, last + 2)])
    except RetryError as problem:
        log.warning("file_objects_not_deleted", code=problem.code, tenant_id=principal.tenant_id, file_id=file_id)


def ingest_message(tenant_id: UUID, file_id: UUID, version: int, deduplication: str) -> QueueMessage:
    """Has a version read; one file's are read one after the other, and a few of one tenant's at once.

    deduplication  tells messages of one version apart.
    """
    body: JsonObject = {"tenant_id": str(tenant_id), "file_id": str(file_id), "version": version}
    group = f"{tenant_id}:{file_id.int % _FILES_AT_ONCE}"
    return QueueMessage(body, group, f"{file_id}:{version}:{deduplication}")


def find_unfinished_file(tx: Transaction, file_id: UUID) -> StoredFile | None:
    """Return the file that is to be read, to arrive or to be cleaned up; None when it is gone."""
    return store.lock_file(tx, file_id)


def finder(ingest: FifoQueue) -> Finder:
    """Return the finder of files that have arrived and were not read, or whose arrival nobody told."""

    def find(tx: Transaction, work: DueWork, _now: datetime) -> StaleWork | None:
        waiting = find_unfinished_file(tx, work.id)
        if waiting is None:
            return None
        woken = ingest_message(work.tenant_id, work.id, waiting.version, work.deduplication_id)
        return StaleWork(waiting.updated_at, sweep.message_sender(ingest, woken))

    return find


def _validated_name(name: str, size_bytes: int) -> tuple[str, str]:
    """Return a file's name as it is stored, and its media type."""
    plain = " ".join(name.replace("\\", "/").rsplit("/", 1)[-1].replace("\0", "").split())
    if not plain or len(plain) > _LONGEST_NAME:
        raise InvalidRequest(f"name: use a file's name of at most {_LONGEST_NAME} characters")
    kind = file_type_of_name(plain)
    if size_bytes > MAX_FILE_BYTES:
        raise unreadable_file("too_large")
    if size_bytes < 1:
        raise unreadable_file("empty")
    return plain, MEDIA_TYPES[kind]


def _record_and_classification(principal: Principal, tx: Transaction, new: NewFile) -> tuple[UUID | None, int]:
    """Return the record that a file is about, and the file's level.

    The record is locked: a transaction that restricts it meanwhile finds the file and restricts it, too.
    """
    entity_id, least, level = None, 0, 0
    if new.about:
        entity = crud.lock_record(principal, tx, new.about, None)
        entity_id, least = entity.id, entity.classification
        level = max(least, type_registry.get_record_type(tx, entity.type).settings.classification)
    level = level if new.classification is None else new.classification
    if not 0 <= level < len(LEVEL_NAMES):
        raise InvalidRequest(f"classification: use a number from 0 ({LEVEL_NAMES[0]}) to 3 ({LEVEL_NAMES[3]})")
    if level > principal.clearance:
        raise Forbidden(
            f"classification: {LEVEL_NAMES[level]} is above your own clearance, {LEVEL_NAMES[principal.clearance]}"
        )
    if level < least:
        raise InvalidRequest(
            f"classification: the record is {LEVEL_NAMES[least]}, and its files cannot be less restricted;"
            " omit the classification, or upload the file without the record"
        )
    return entity_id, level


def _team_id(tx: Transaction, slug: str | None) -> UUID | None:
    if not slug:
        return None
    found = store.find_team_id(tx, slug)
    if found is None:
        raise NotFound("team: unknown slug")
    return found


def _start_version(
    principal: Principal, tx: Transaction, uploads: UploadStore, file_id: UUID, version: int, media_type: str
) -> StartedUpload:
    key = file_object_key(principal.tenant_id, file_id, version)
    form = uploads.make_upload_form(key, media_type, MAX_FILE_BYTES, int(UPLOAD_FORM_LIFETIME.total_seconds()))
    return StartedUpload(get_file(principal, tx, file_id), version, form)


def _queue_version(principal: Principal, tx: Transaction, uploaded: UploadedVersion, size: int, now: datetime) -> bool:
    """Store that a version arrived; return whether it waits to be read."""
    file_id, version, name = uploaded.file_id, uploaded.version, uploaded.name
    held = store.lock_file(tx, file_id)
    if held is None or held.is_deleted or held.is_orphan:
        raise NotFound("the file or its record was deleted")
    expected = held.version if held.state == "uploading" else held.version + 1
    if version == held.version != expected:
        return held.state == "queued"
    if version != expected:
        raise Conflict(f"version: must be {expected}; start the upload again")
    kept, media_type = _validated_name(name or held.name, size)
    key = file_object_key(principal.tenant_id, file_id, version)
    written_by_others = uploaded.written_by_others if version > 1 else None
    store.queue_file(tx, file_id, version, store.FileContent(kept, media_type, key, size), now, written_by_others)
    work_due.schedule(tx, "file", file_id, now + work_due.SWEEP_DELAY)
    log.info("upload_completed", principal=principal.name, file_id=file_id, version=version, bytes=size)
    return True


def _reject_version(tx: Transaction, file_id: UUID, version: int, now: datetime) -> None:
    """Fail a file whose first version was too large; one that has been read stays as it is."""
    held = store.lock_file(tx, file_id)
    if held and held.state == "uploading" and held.version == version:
        store.fail_file(tx, file_id, str(unreadable_file("too_large")), now)
        work_due.complete(tx, "file", file_id)
