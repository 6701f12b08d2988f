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
from parlour.infra.objects import Objects
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import work_due
from parlour.memory.archiving import lines, store
from parlour.memory.archiving.store import Place
from parlour.memory.order import Order
from parlour.memory.services import Services
from parlour.principal import Principal, system

AFTER = timedelta(days=90)
"""How long messages stay in the database."""

KEPT_TURNS = 24
"""The newest turns of a session that is not silent for as long: what a prompt may tell verbatim."""

_KIND: work_due.Kind = "archive"
_NEXT_LOOK = timedelta(days=1)
_MESSAGES = 500
"""In one archive at most; a message has 64 KiB at most, some 300 bytes on average."""

_SESSIONS = 100
_BEFORE_ALL = UUID(int=0)
_SECONDS_KEPT = 20.0
"""With less time than this no further archive is begun."""


def run(services: Services, objects: Objects, order: Order, seconds_left: SecondsLeft) -> None:
    """Archive what is old enough of a tenant's messages, as far as the time allows; somebody looks again tomorrow, or
    at once where something is left. Raises a RetryError when the database or the store is away."""
    now = services.clock()
    until = now + timedelta(seconds=seconds_left())
    principal, database = system(order.tenant_id), services.database
    if not database.run(principal, lambda tx: _is_ours(tx, order, until, now)):
        return
    work = _Work(services, objects, principal, until, now)
    try:
        is_done = work.go_on(seconds_left)
    except RetryError:
        with suppress(RetryError):
            database.run(principal, lambda tx: work_due.release(tx, _KIND, order.id, until, now))
        raise
    again = now + _NEXT_LOOK if is_done else now
    database.run(principal, lambda tx: work_due.release(tx, _KIND, order.id, until, again))


def _is_ours(tx: Transaction, order: Order, until: datetime, now: datetime) -> bool:
    """Whether it is time, and nobody else is at it: who forgets something puts it off for some minutes."""
    due = work_due.find(tx, _KIND, order.id)
    return (due is None or due.due_at <= now) and work_due.lease(tx, _KIND, order.id, until, now)


class _Taken(Exception):
    """Somebody has taken the work away."""


@dataclass(frozen=True, slots=True)
class _Work:
    """One look at a tenant's old messages. `until`: what it is held by."""

    services: Services
    objects: Objects
    principal: Principal
    until: datetime
    now: datetime

    def go_on(self, seconds_left: SecondsLeft) -> bool:
        """Session after session; whether nothing is left. One that cannot be archived is left for tomorrow."""
        before, last = self.now - AFTER, _BEFORE_ALL
        while True:
            found = self._run(partial(_old_sessions, last, before))
            for session_id in found:
                try:
                    if not self._session(session_id, before, seconds_left):
                        return False
                except _Taken:
                    return False
                except RetryError:
                    raise
                except Exception as problem:  # noqa: BLE001 - the others of the tenant are not to wait for it
                    log.error("messages_not_archived", problem, **self._ids(session_id))
                    log.count("MemoryGivenUp")
            if len(found) < _SESSIONS:
                return True
            last = found[-1]

    def _session(self, session_id: UUID, before: datetime, seconds_left: SecondsLeft) -> bool:
        """Archive after archive; False when there is no time for more."""
        more = True
        while more:
            place = self._begin(session_id, before)
            moved = self._move(session_id, place, before) if place else 0
            if place:
                log.info("messages_archived", messages=moved, **self._ids(session_id))
            more = moved == _MESSAGES
            if seconds_left() < _SECONDS_KEPT:
                return False
        return True

    def _begin(self, session_id: UUID, before: datetime) -> Place | None:
        """Where the next archive will lie; None when there is nothing for one."""
        archive_id = self.services.new_id(self.now)
        wanted = Place(archive_id, lines.object_key(self.principal.tenant_id, session_id, archive_id))

        def begin(tx: Transaction) -> Place | None:
            self._lock(tx)
            messages = store.old_messages(tx, session_id, before, KEPT_TURNS, _MESSAGES)
            return store.begin_archive(tx, session_id, wanted, messages, self.now) if messages else None

        return self._run(begin)

    def _move(self, session_id: UUID, place: Place, before: datetime) -> int:
        """Move the words there; how many messages went."""

        def move(tx: Transaction) -> int:
            self._lock(tx)
            messages = store.old_messages(tx, session_id, before, KEPT_TURNS, _MESSAGES)
            if not messages:
                return 0
            data = lines.written(messages)
            self.objects.put(place.object_key, data, lines.TYPE)
            return store.end_archive(tx, place.id, messages, len(data), hashlib.sha256(data).hexdigest())

        return self._run(move)

    def _lock(self, tx: Transaction) -> None:
        if not work_due.lock(tx, _KIND, self.principal.tenant_id, self.until):
            raise _Taken

    def _run[R](self, work: Callable[[Transaction], R]) -> R:
        return self.services.database.run(self.principal, work)

    def _ids(self, session_id: UUID) -> dict[str, UUID]:
        return {"tenant_id": self.principal.tenant_id, "session_id": session_id}


def _old_sessions(after: UUID, before: datetime, tx: Transaction) -> list[UUID]:
    return store.old_sessions(tx, after, before, KEPT_TURNS, _SESSIONS)
