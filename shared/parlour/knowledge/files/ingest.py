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
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import (
    DatabaseUnavailable,
    MalformedPayload,
    RetryError,
    StatementTooSlow,
    UnreadableFile,
)
from parlour.infra.ids import NewId
from parlour.infra.jsonable import JsonObject
from parlour.infra.objects import Uploads
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.infra.queues import Delays
from parlour.jobs import work_due
from parlour.knowledge.files import store
from parlour.knowledge.files.distil import Distiller
from parlour.knowledge.files.extract.parts import ReadFile
from parlour.knowledge.files.extract.run import Limits
from parlour.knowledge.files.file import LOOKED_AFTER, object_key
from parlour.knowledge.files.file_rows import file_rows
from parlour.knowledge.files.kinds import FileKind, kind_of_name
from parlour.knowledge.files.problems import LARGEST_BYTES, unreadable, waiting
from parlour.knowledge.files.store import HeldFile
from parlour.knowledge.index import pending
from parlour.knowledge.index.reindex import Entry, rewrite
from parlour.knowledge.index.rows import RowDraft
from parlour.knowledge.index.store import Owner
from parlour.knowledge.records import stale
from parlour.principal import Principal, system

MOST_ATTEMPTS = 4
"""A file that takes the worker with it every time is given up on."""

LONGEST_WAIT = timedelta(hours=24)
"""For what reading takes, since the file arrived; then it fails and says so."""

SECONDS_KEPT = 60.0
"""Left for everything but reading."""

_PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds between the tries to write down that the database was away; it is back, or the attempt counts."""

_LONGEST_READING = 240
_SHORTEST_READING = 10

type Extract = Callable[[bytes, FileKind, Limits], ReadFile]


@dataclass(frozen=True, slots=True)
class Services:
    """What the worker runs with. `embedding`: the queue of who gives the rows their vectors."""

    database: Database
    uploads: Uploads
    extract: Extract
    distiller: Distiller
    embedding: Delays
    clock: Callable[[], datetime]
    new_id: NewId
    sleep: Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which version of which file is to be read."""

    tenant_id: UUID
    file_id: UUID
    version: int


def read_message(body: JsonObject) -> Asked:
    """What a message of the queue asks for; MalformedPayload for anything else."""
    try:
        return Asked(UUID(str(body["tenant_id"])), UUID(str(body["file_id"])), int(str(body["version"])))
    except (KeyError, ValueError):
        raise MalformedPayload("this is not a file to be read") from None


def ingest(services: Services, asked: Asked, seconds_left: SecondsLeft) -> None:
    """Bring one file to `embedding` or to `failed`. Raises a RetryError when the database, the store or a queue is
    away; whatever is wrong with the file itself is written down with it and is no error here."""
    principal = system(asked.tenant_id)
    try:
        size = services.uploads.size(object_key(asked.tenant_id, asked.file_id, asked.version))
    except RetryError as problem:
        _put_back(services, principal, asked, problem)
        raise
    now = services.clock()
    begun = services.database.run(principal, lambda tx: _begun(tx, asked, size is not None, now))
    if isinstance(begun, _Leftovers):
        _clear(services, principal, begun)
    elif begun is not None:
        _take(services, principal, asked, begun, seconds_left)


@dataclass(frozen=True, slots=True)
class _Done:
    """What is written of a file that was read."""

    rows: list[RowDraft]
    pages: int
    tokens: int
    sha256: str


@dataclass(frozen=True, slots=True)
class _Leftovers:
    """Versions of a file, from the first, whose bytes nobody may find any more; of one that was deleted all of them."""

    file_id: UUID
    versions: int
    is_deleted: bool


def _begun(tx: Transaction, asked: Asked, has_arrived: bool, now: datetime) -> HeldFile | _Leftovers | None:
    """The file, if this version of it is still to be read; what is left of others; or nothing, when nothing has to be
    done about it any more."""
    held = store.hold_file(tx, asked.file_id)
    if held is None:
        work_due.complete(tx, "file", asked.file_id)
        return None
    if held.is_deleted or held.state in {"embedding", "failed"}:
        return _left_of(tx, held, now)
    if held.version != asked.version:
        return None
    if held.is_orphan or not has_arrived or held.attempts >= MOST_ATTEMPTS:
        _settle_failed(tx, held, unreadable("given_up" if held.attempts >= MOST_ATTEMPTS else "gone"), now)
        return None
    store.begin_file(tx, held.id)
    work_due.schedule(tx, "file", held.id, now + 2 * work_due.GRACE)
    return held


def _left_of(tx: Transaction, held: HeldFile, now: datetime) -> _Leftovers | None:
    """What may be left of a file that is deleted or read, when no form for it is good any more. While the last version
    could not be read, the one before is what is found, and stays."""
    if now < held.updated_at + LOOKED_AFTER:
        return None
    if held.is_deleted:
        return _Leftovers(held.id, held.version + 1, is_deleted=True)
    if held.state == "embedding" and held.version > 1:
        return _Leftovers(held.id, held.version - 1, is_deleted=False)
    work_due.complete(tx, "file", held.id)
    return None


def _clear(services: Services, principal: Principal, left: _Leftovers) -> None:
    keys = [object_key(principal.tenant_id, left.file_id, number) for number in range(1, left.versions + 1)]
    services.uploads.delete(keys)

    def settle(tx: Transaction) -> None:
        work_due.complete(tx, "file", left.file_id)
        if left.is_deleted:
            store.remove_file(tx, left.file_id)

    services.database.run(principal, settle)
    log.info("file_cleared", tenant_id=principal.tenant_id, file_id=left.file_id, deleted=left.is_deleted)


def _take(services: Services, principal: Principal, asked: Asked, held: HeldFile, seconds_left: SecondsLeft) -> None:
    """Read, write, wake the embedder. A statement that takes too long is the file's own doing: its attempt counts."""
    try:
        done = _read(services, principal, held, seconds_left)
        now = services.clock()
        is_written = services.database.run(principal, lambda tx: _write(services, principal, tx, held, done, now))
    except UnreadableFile as problem:
        _fail(services, principal, held, problem)
        return
    except StatementTooSlow:
        raise
    except RetryError as problem:
        _put_back(services, principal, asked, problem)
        raise
    if not is_written:
        return
    log.info("file_read", tenant_id=asked.tenant_id, file_id=held.id, rows=len(done.rows), tokens=done.tokens)
    pending.nudge(services.embedding, asked.tenant_id)
    _forget_earlier(services, asked)


def _forget_earlier(services: Services, asked: Asked) -> None:
    """The bytes of the versions before; should the store be away, the later look takes them."""
    try:
        earlier = range(1, asked.version)
        services.uploads.delete([object_key(asked.tenant_id, asked.file_id, number) for number in earlier])
    except RetryError as problem:
        log.warning("file_not_cleared", code=problem.code, tenant_id=asked.tenant_id, file_id=asked.file_id)


def _put_back(services: Services, principal: Principal, asked: Asked, problem: RetryError) -> None:
    """Have a file wait for what was away and say so; one that has waited for a day fails. The database is given half a
    minute to come back: an attempt that nobody could give back is used up."""
    now = services.clock()

    def write(tx: Transaction) -> None:
        held = store.hold_file(tx, asked.file_id)
        if held is None or held.version != asked.version or held.state not in {"queued", "parsing"}:
            return
        if now - held.updated_at > LONGEST_WAIT:
            _settle_failed(tx, held, unreadable("unavailable"), now)
        else:
            store.put_back_file(tx, held.id, held.version, waiting(problem))

    for pause in (*_PAUSES, None):
        try:
            services.database.run(principal, write)
        except DatabaseUnavailable:
            if pause is None:
                log.warning("file_not_put_back", tenant_id=asked.tenant_id, file_id=asked.file_id)
                return
            services.sleep(pause)
        else:
            return


def _read(services: Services, principal: Principal, held: HeldFile, seconds_left: SecondsLeft) -> _Done:
    data = services.uploads.get(held.object_key, LARGEST_BYTES)
    if data is None:
        raise unreadable("gone")
    time = max(_SHORTEST_READING, min(_LONGEST_READING, int(seconds_left() - SECONDS_KEPT)))
    read = services.extract(data, kind_of_name(held.name), Limits(seconds=time))
    summary = services.distiller.distil(principal, held.name, held.team_id, read.pieces, seconds_left)
    rows = file_rows(held.name, read, summary, held.classification)
    return _Done(rows, read.pages, read.tokens, hashlib.sha256(data).hexdigest())


def _write(
    services: Services, principal: Principal, tx: Transaction, held: HeldFile, done: _Done, now: datetime
) -> bool:
    """Rows, state and the mark on the record that it is about, together; False when another version came meanwhile."""
    is_gone = held.entity_id is not None and not store.hold_about(tx, held.entity_id)
    still = store.hold_file(tx, held.id)
    if is_gone or still is None or still.version != held.version or still.state not in {"parsing", "embedding"}:
        return False  # a deleted one has failed
    owner = Owner(None, still.entity_id, still.id, still.team_id)
    rows = [row if row.classification == still.classification else _at(row, still.classification) for row in done.rows]
    rewrite(tx, Entry(owner, rows, changed=True), store.file_rows(tx, held.id), now, services.new_id)
    store.settle_file(
        tx, held.id, "embedding", now, pages=done.pages, tokens=done.tokens, chunks=len(rows), sha256=done.sha256
    )  # fmt: skip
    if held.version > 1:
        work_due.schedule(tx, "file", held.id, now + LOOKED_AFTER)
    else:
        work_due.complete(tx, "file", held.id)
    if still.entity_id:
        stale.mark(tx, still.entity_id, "file_ingested", now)
    pending.mark(tx, principal.tenant_id, now)
    return True


def _at(row: RowDraft, classification: int) -> RowDraft:
    return RowDraft(row.kind, row.ordinal, row.title, row.content, classification, row.metadata)


def _fail(services: Services, principal: Principal, held: HeldFile, problem: UnreadableFile) -> None:
    now = services.clock()

    def settle(tx: Transaction) -> None:
        still = store.hold_file(tx, held.id)
        if still and still.version == held.version and not still.is_deleted:
            _settle_failed(tx, still, problem, now)

    services.database.run(principal, settle)


def _settle_failed(tx: Transaction, held: HeldFile, problem: UnreadableFile, now: datetime) -> None:
    store.settle_file(tx, held.id, "failed", now, problem=str(problem))
    work_due.complete(tx, "file", held.id)
    log.warning("file_not_taken", file_id=held.id, version=held.version, reason=problem.reason)
