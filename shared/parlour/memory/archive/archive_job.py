"""A tenant's messages of more than ninety days ago go to object storage: JSON lines, some hundred of a session in one.

Where an archive will lie is written down before its bytes are there, so that forgetting finds every one. The words are
then read, kept there and taken from the database in one transaction, which holds the work itself: whoever forgets takes
it away first, and waits while words are on their way. What people search for and recall are the messages' rows, which
stay. Where somebody spoke within the ninety days the newest turns stay whole, however old they are: the next prompt
tells them word for word.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import RetryError
from parlour.infra.ids import uuid7
from parlour.infra.objects import ObjectWriter
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import work_due
from parlour.memory.archive import archive_lines, store
from parlour.memory.archive.store import ArchiveLocation
from parlour.memory.dependencies import MemoryDependencies
from parlour.memory.memory_job import MemoryJob
from parlour.principal import Principal, system_principal

ARCHIVE_AGE = timedelta(days=90)
"""How long messages stay in the database."""

MIN_KEPT_TURNS = 24
"""The newest turns of a session that is not silent for as long: what a prompt may tell verbatim."""

_KIND: work_due.WorkKind = "archive"
_INTERVAL = timedelta(days=1)
_MAX_ARCHIVE_MESSAGES = 500
"""In one archive at most; a message has 64 KiB at most, some 300 bytes on average."""

_SESSION_PAGE_SIZE = 100
_LOWEST_ID = UUID(int=0)
_MIN_ROUND_SECONDS = 20.0
"""With less time than this no further archive is begun."""


def run_archive(
    dependencies: MemoryDependencies, objects: ObjectWriter, memory_job: MemoryJob, seconds_left: SecondsLeft
) -> None:
    """Archive what is old enough of a tenant's messages, as far as the time allows; somebody looks again tomorrow, or
    at once where something is left. Raises a RetryError when the database or the store is away."""
    now = dependencies.clock()
    until = now + timedelta(seconds=seconds_left())
    principal, database = system_principal(memory_job.tenant_id), dependencies.database
    if not database.run(principal, lambda tx: _lease(tx, memory_job, until, now)):
        return
    work = _ArchiveRun(dependencies, objects, principal, until, now)
    try:
        is_done = work.archive_sessions(seconds_left)
    except RetryError:
        with suppress(RetryError):
            database.run(principal, lambda tx: work_due.release(tx, _KIND, memory_job.target_id, until, now))
        raise
    again = now + _INTERVAL if is_done else now
    database.run(principal, lambda tx: work_due.release(tx, _KIND, memory_job.target_id, until, again))


def _lease(tx: Transaction, memory_job: MemoryJob, leased_until: datetime, now: datetime) -> bool:
    """Whether it is time, and nobody else is at it: who forgets something puts it off for some minutes."""
    due = work_due.find(tx, _KIND, memory_job.target_id)
    return (due is None or due.due_at <= now) and work_due.lease(tx, _KIND, memory_job.target_id, leased_until, now)


class _LeaseLost(Exception):
    """Somebody has taken the work away."""


@dataclass(frozen=True, slots=True)
class _ArchiveRun:
    """One look at a tenant's old messages. `until`: what it is held by."""

    dependencies: MemoryDependencies
    objects: ObjectWriter
    principal: Principal
    leased_until: datetime
    now: datetime

    def archive_sessions(self, seconds_left: SecondsLeft) -> bool:
        """Session after session; whether nothing is left. One that cannot be archived is left for tomorrow."""
        before, last = self.now - ARCHIVE_AGE, _LOWEST_ID
        while True:
            found = self._run_transaction(partial(_find_old_sessions, last, before))
            for session_id in found:
                try:
                    if not self._archive_session(session_id, before, seconds_left):
                        return False
                except _LeaseLost:
                    return False
                except RetryError:
                    raise
                except Exception as problem:  # noqa: BLE001 - the others of the tenant are not to wait for it
                    log.error("message_archive_failed", problem, **self._log_ids(session_id))
                    log.count("MemoryGivenUp")
            if len(found) < _SESSION_PAGE_SIZE:
                return True
            last = found[-1]

    def _archive_session(self, session_id: UUID, archive_before: datetime, seconds_left: SecondsLeft) -> bool:
        """Archive after archive; False when there is no time for more."""
        more = True
        while more:
            place = self._begin_archive(session_id, archive_before)
            moved = self._move_messages(session_id, place, archive_before) if place else 0
            if place:
                log.info("messages_archived", messages=moved, **self._log_ids(session_id))
            more = moved == _MAX_ARCHIVE_MESSAGES
            if seconds_left() < _MIN_ROUND_SECONDS:
                return False
        return True

    def _begin_archive(self, session_id: UUID, archive_before: datetime) -> ArchiveLocation | None:
        """Where the next archive will lie; None when there is nothing for one."""
        archive_id = uuid7(self.now)
        wanted = ArchiveLocation(archive_id, archive_lines.object_key(self.principal.tenant_id, session_id, archive_id))

        def begin(tx: Transaction) -> ArchiveLocation | None:
            self._lock_lease(tx)
            messages = store.lock_old_messages(tx, session_id, archive_before, MIN_KEPT_TURNS, _MAX_ARCHIVE_MESSAGES)
            return store.begin_archive(tx, session_id, wanted, messages, self.now) if messages else None

        return self._run_transaction(begin)

    def _move_messages(self, session_id: UUID, location: ArchiveLocation, archive_before: datetime) -> int:
        """Move the words there; how many messages went."""

        def move(tx: Transaction) -> int:
            self._lock_lease(tx)
            messages = store.lock_old_messages(tx, session_id, archive_before, MIN_KEPT_TURNS, _MAX_ARCHIVE_MESSAGES)
            if not messages:
                return 0
            data = archive_lines.to_json_lines(messages)
            self.objects.put(location.object_key, data, archive_lines.CONTENT_TYPE)
            return store.end_archive(tx, location.id, messages, len(data), hashlib.sha256(data).hexdigest())

        return self._run_transaction(move)

    def _lock_lease(self, tx: Transaction) -> None:
        if not work_due.lock_leased(tx, _KIND, self.principal.tenant_id, self.leased_until):
            raise _LeaseLost

    def _run_transaction[R](self, operation: Callable[[Transaction], R]) -> R:
        return self.dependencies.database.run(self.principal, operation)

    def _log_ids(self, session_id: UUID) -> dict[str, UUID]:
        return {"tenant_id": self.principal.tenant_id, "session_id": session_id}


def _find_old_sessions(after_session_id: UUID, archive_before: datetime, tx: Transaction) -> list[UUID]:
    return store.find_old_sessions(tx, after_session_id, archive_before, MIN_KEPT_TURNS, _SESSION_PAGE_SIZE)
