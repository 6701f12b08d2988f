"""A file that has arrived is read, summed up and made searchable: the worker's one piece of work.

It may be done again at any point: reading changes nothing, and the rows are written with the state in one transaction.
A version that came meanwhile has a message of its own, and what was read of the one before is thrown away.

What is wrong with a file is written down with it. What is wrong with what reading takes (the store, the database, a
secret) is not the file's fault: it waits, says why, and its attempts are not used up. A worker that dies uses one up.
Once no form for them is good any more, the bytes of a deleted file and of versions that were replaced are looked for
again: a form that was given out before may have brought some after their deletion.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from parlour.files import store
from parlour.files.file import extracted_object_key, file_object_key
from parlour.files.file_reader import FileReader
from parlour.files.file_rows import file_rows
from parlour.files.file_summary import FileSummariser
from parlour.files.file_types import file_type_of_name
from parlour.files.problems import MAX_FILE_BYTES, unreadable_file, waiting_text
from parlour.files.store import StoredFile
from parlour.infra import log
from parlour.infra.errors import (
    DatabaseUnavailable,
    MalformedPayload,
    RetryError,
    StatementTooSlow,
    UnreadableFile,
)
from parlour.infra.json_values import JsonObject
from parlour.infra.objects import UploadStore
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.infra.queues import DelayedQueue
from parlour.jobs import work_due
from parlour.principal import Principal, system_principal
from parlour.records import staleness
from parlour.records.file_tombstones import CLEANUP_DELAY
from parlour.search.index import scheduling
from parlour.search.index.context_rows import RowDraft
from parlour.search.index.row_sync import OwnerRows, sync_rows_without_vectors
from parlour.search.index.store import RowOwner

MAX_ATTEMPTS = 4
"""A file that takes the worker with it every time is given up on."""

MAX_WAIT = timedelta(hours=24)
"""For what reading takes, since the file arrived; then it fails and says so."""

RESERVED_SECONDS = 60.0
"""Left for everything but reading."""

_RETRY_PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds between the tries to write down that the database was away; it is back, or the attempt counts."""

_MAX_READ_SECONDS = 240
_MIN_READ_SECONDS = 10


@dataclass(frozen=True, slots=True)
class IngestDependencies:
    """What the worker runs with. `embedder_queue`: the queue of who gives the rows their vectors."""

    database: Database
    uploads: UploadStore
    read_file: FileReader
    summariser: FileSummariser
    embedder_queue: DelayedQueue
    clock: Callable[[], datetime]
    sleep: Callable[[float], None]


@dataclass(frozen=True, slots=True)
class FileVersion:
    """Which version of which file is to be read."""

    tenant_id: UUID
    file_id: UUID
    version: int


def parse_message(body: JsonObject) -> FileVersion:
    """Return the version that a message of the queue asks for; MalformedPayload for anything else."""
    try:
        return FileVersion(UUID(str(body["tenant_id"])), UUID(str(body["file_id"])), int(str(body["version"])))
    except (KeyError, ValueError):
        raise MalformedPayload("this is not a file to be read") from None


def ingest(services: IngestDependencies, version: FileVersion, seconds_left: SecondsLeft) -> None:
    """Bring one file to `embedding` or to `failed`. Raises a RetryError when the database, the store or a queue is
    away; whatever is wrong with the file itself is written down with it and is no error here."""
    principal = system_principal(version.tenant_id)
    try:
        size = services.uploads.size(file_object_key(version.tenant_id, version.file_id, version.version))
    except RetryError as problem:
        _requeue(services, principal, version, problem)
        raise
    now = services.clock()
    begun = services.database.run(principal, lambda tx: _begin(tx, version, size is not None, now))
    if isinstance(begun, _ObsoleteVersions):
        _delete_obsolete(services, principal, begun)
    elif begun is not None:
        _ingest_version(services, principal, version, begun, seconds_left)


@dataclass(frozen=True, slots=True)
class _ReadResult:
    """What is written of a file that was read."""

    rows: list[RowDraft]
    pages: int
    tokens: int
    sha256: str


@dataclass(frozen=True, slots=True)
class _ObsoleteVersions:
    """Versions of a file, from the first, whose bytes nobody may find any more; of one that was deleted all of them."""

    file_id: UUID
    versions: int
    is_deleted: bool


def _begin(
    tx: Transaction, asked: FileVersion, has_arrived: bool, now: datetime
) -> StoredFile | _ObsoleteVersions | None:
    """Return the file, if this version of it is still to be read, or the obsolete versions to delete, or None."""
    held = store.lock_file(tx, asked.file_id)
    if held is None:
        work_due.complete(tx, "file", asked.file_id)
        return None
    if held.is_deleted or held.state in {"embedding", "failed"}:
        return _obsolete_versions(tx, held, now)
    if held.version != asked.version:
        return None
    if held.is_orphan or not has_arrived or held.attempts >= MAX_ATTEMPTS:
        _finish_failed(tx, held, unreadable_file("given_up" if held.attempts >= MAX_ATTEMPTS else "gone"), now)
        return None
    store.mark_parsing(tx, held.id)
    work_due.schedule(tx, "file", held.id, now + 2 * work_due.SWEEP_DELAY)
    return held


def _obsolete_versions(tx: Transaction, held: StoredFile, now: datetime) -> _ObsoleteVersions | None:
    """Return the versions to delete of a file that is deleted or read, once no upload form for it is valid.

    While the last version could not be read, the one before is what is found, and stays.
    """
    if now < held.updated_at + CLEANUP_DELAY:
        return None
    if held.is_deleted:
        return _ObsoleteVersions(held.id, held.version + 1, is_deleted=True)
    if held.state == "embedding" and held.version > 1:
        return _ObsoleteVersions(held.id, held.version - 1, is_deleted=False)
    work_due.complete(tx, "file", held.id)
    return None


def _delete_obsolete(services: IngestDependencies, principal: Principal, left: _ObsoleteVersions) -> None:
    keys = [file_object_key(principal.tenant_id, left.file_id, number) for number in range(1, left.versions + 1)]
    services.uploads.delete([*keys, *map(extracted_object_key, keys)])

    def settle(tx: Transaction) -> None:
        work_due.complete(tx, "file", left.file_id)
        if left.is_deleted:
            store.delete_file(tx, left.file_id)

    services.database.run(principal, settle)
    log.info("file_objects_deleted", tenant_id=principal.tenant_id, file_id=left.file_id, deleted=left.is_deleted)


def _ingest_version(
    services: IngestDependencies, principal: Principal, asked: FileVersion, held: StoredFile, seconds_left: SecondsLeft
) -> None:
    """Read, write, wake the embedder. A statement that takes too long is the file's own doing: its attempt counts."""
    try:
        data = services.uploads.get(held.object_key, MAX_FILE_BYTES)
        if data is None:
            raise unreadable_file("gone")
        time = max(_MIN_READ_SECONDS, min(_MAX_READ_SECONDS, int(seconds_left() - RESERVED_SECONDS)))
        if len(data) > MAX_FILE_BYTES:
            raise unreadable_file("too_large")
        read = services.read_file(held.object_key, file_type_of_name(held.name), time)
        summary = services.summariser.summarise(principal, held.name, held.team_id, read.chunks, seconds_left)
        rows = file_rows(held.name, read, summary, held.classification)
        done = _ReadResult(rows, read.page_count, read.token_count, hashlib.sha256(data).hexdigest())
        now = services.clock()
        is_written = services.database.run(principal, lambda tx: _write(principal, tx, held, done, now))
    except UnreadableFile as problem:
        _fail(services, principal, held, problem)
        return
    except StatementTooSlow:
        raise
    except RetryError as problem:
        _requeue(services, principal, asked, problem)
        raise
    if not is_written:
        return
    log.info("file_ingested", tenant_id=asked.tenant_id, file_id=held.id, rows=len(done.rows), tokens=done.tokens)
    scheduling.wake_embedder(services.embedder_queue, asked.tenant_id)
    _delete_earlier_versions(services, asked)


def _delete_earlier_versions(services: IngestDependencies, asked: FileVersion) -> None:
    """Delete the bytes of earlier versions; if the store is unavailable, the later cleanup deletes them."""
    try:
        earlier = range(1, asked.version)
        services.uploads.delete([file_object_key(asked.tenant_id, asked.file_id, number) for number in earlier])
    except RetryError as problem:
        log.warning("file_objects_not_deleted", code=problem.code, tenant_id=asked.tenant_id, file_id=asked.file_id)


def _requeue(services: IngestDependencies, principal: Principal, asked: FileVersion, problem: RetryError) -> None:
    """Have a file wait for what was away and say so; one that has waited for a day fails. The database is given half a
    minute to come back: an attempt that nobody could give back is used up."""
    now = services.clock()

    def write(tx: Transaction) -> None:
        held = store.lock_file(tx, asked.file_id)
        if held is None or held.version != asked.version or held.state not in {"queued", "parsing"}:
            return
        if now - held.updated_at > MAX_WAIT:
            _finish_failed(tx, held, unreadable_file("unavailable"), now)
        else:
            store.requeue_file(tx, held.id, held.version, waiting_text(problem))

    for pause in (*_RETRY_PAUSES, None):
        try:
            services.database.run(principal, write)
        except DatabaseUnavailable:
            if pause is None:
                log.warning("file_requeue_failed", tenant_id=asked.tenant_id, file_id=asked.file_id)
                return
            services.sleep(pause)
        else:
            return


def _write(
    principal: Principal,
    tx: Transaction,
    held: StoredFile,
    done: _ReadResult,
    now: datetime,
) -> bool:
    """Rows, state and the mark on the record that it is about, together; False when another version came meanwhile."""
    is_gone = held.entity_id is not None and not store.lock_record(tx, held.entity_id)
    still = store.lock_file(tx, held.id)
    if is_gone or still is None or still.version != held.version or still.state not in {"parsing", "embedding"}:
        return False  # a deleted one has failed
    owner = RowOwner(None, still.entity_id, still.id, still.team_id)
    rows = [
        row if row.classification == still.classification else replace(row, classification=still.classification)
        for row in done.rows
    ]
    sync_rows_without_vectors(tx, OwnerRows(owner, rows, is_owner_changed=True), store.list_file_rows(tx, held.id), now)
    store.finish_file(tx, held.id, store.IngestResult(done.pages, done.tokens, len(rows), done.sha256), now)
    if held.version > 1:
        work_due.schedule(tx, "file", held.id, now + CLEANUP_DELAY)
    else:
        work_due.complete(tx, "file", held.id)
    if still.entity_id:
        staleness.mark_stale(tx, still.entity_id, "file_ingested", now)
    scheduling.schedule_embedding(tx, principal.tenant_id, now)
    return True


def _fail(services: IngestDependencies, principal: Principal, held: StoredFile, problem: UnreadableFile) -> None:
    now = services.clock()

    def settle(tx: Transaction) -> None:
        still = store.lock_file(tx, held.id)
        if still and still.version == held.version and not still.is_deleted:
            _finish_failed(tx, still, problem, now)

    services.database.run(principal, settle)


def _finish_failed(tx: Transaction, held: StoredFile, problem: UnreadableFile, now: datetime) -> None:
    store.fail_file(tx, held.id, str(problem), now)
    work_due.complete(tx, "file", held.id)
    log.warning("file_rejected", file_id=held.id, version=held.version, reason=problem.reason)
