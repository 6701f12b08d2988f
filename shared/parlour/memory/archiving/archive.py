"""A tenant's messages of more than ninety days ago go to object storage: JSON lines, some hundred of a session in one.

Where an archive will lie is written down before its bytes are there, and the words are taken from the database only
after: what breaks off in between is done again over the same object, and forgetting finds every one. What people search
for and recall are the messages' rows, which stay. The newest turns of a session stay whole, however old they are: the
next prompt tells them word for word.
"""

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra import log, work_due
from parlour.infra.errors import RetryError
from parlour.infra.objects import Objects
from parlour.infra.postgres import Database, SecondsLeft
from parlour.memory.archiving import lines, store
from parlour.memory.archiving.store import Place
from parlour.memory.order import Order
from parlour.memory.services import Services
from parlour.principal import Principal, system

AFTER = timedelta(days=90)
"""How long messages stay in the database."""

KEPT_TURNS = 24
"""A session's newest turns, which stay however old they are: what a prompt may tell verbatim."""

_KIND: work_due.Kind = "archive"
_NEXT_LOOK = timedelta(days=1)
_MESSAGES = 500
"""In one archive at most; a message has 64 KiB at most, some 300 bytes on average."""

_SESSIONS = 100
_SECONDS_KEPT = 20.0
"""With less time than this no further archive is begun."""


def run(services: Services, objects: Objects, order: Order, seconds_left: SecondsLeft) -> None:
    """Archive what is old enough of a tenant's messages, as far as the time allows; somebody looks again tomorrow, or
    at once where something is left. Raises a RetryError when the database or the store is away."""
    now = services.clock()
    until = now + timedelta(seconds=seconds_left())
    principal, database = system(order.tenant_id), services.database
    if not database.run(principal, lambda tx: work_due.hold(tx, _KIND, order.id, until, now)):
        return
    work = _Work(services, objects, principal, now)
    try:
        is_done = work.go_on(seconds_left)
    except RetryError:
        with suppress(RetryError):
            database.run(principal, lambda tx: work_due.let_go(tx, _KIND, order.id, until, now))
        raise
    again = now + _NEXT_LOOK if is_done else now
    database.run(principal, lambda tx: work_due.let_go(tx, _KIND, order.id, until, again))


@dataclass(frozen=True, slots=True)
class _Work:
    """One look at a tenant's old messages."""

    services: Services
    objects: Objects
    principal: Principal
    now: datetime

    @property
    def _database(self) -> Database:
        return self.services.database

    def go_on(self, seconds_left: SecondsLeft) -> bool:
        """Session after session; whether nothing is left."""
        before = self.now - AFTER
        while True:
            found = self._database.run(
                self.principal, lambda tx: store.old_sessions(tx, before, KEPT_TURNS, _SESSIONS)
            )  # fmt: skip
            for session_id in found:
                more = True
                while more:
                    more = self._archive(session_id, before)
                    if seconds_left() < _SECONDS_KEPT:
                        return False
            if len(found) < _SESSIONS:
                return True

    def _archive(self, session_id: UUID, before: datetime) -> bool:
        """One archive; whether there may be more."""
        messages = self._database.run(
            self.principal, lambda tx: store.old_messages(tx, session_id, before, KEPT_TURNS, _MESSAGES)
        )  # fmt: skip
        if not messages:
            return False
        data, archive_id = lines.written(messages), self.services.new_id(self.now)
        wanted = Place(archive_id, lines.object_key(self.principal.tenant_id, session_id, archive_id))
        sha256 = hashlib.sha256(data).hexdigest()
        place = self._database.run(
            self.principal,
            lambda tx: store.begin_archive(tx, session_id, wanted, messages, len(data), sha256, self.now),
        )
        self.objects.put(place.object_key, data, lines.TYPE)
        ids = [one.id for one in messages]
        moved = self._database.run(self.principal, lambda tx: store.end_archive(tx, place.id, ids))
        log.info("messages_archived", tenant_id=self.principal.tenant_id, session_id=session_id, messages=moved)
        return len(messages) == _MESSAGES and moved > 0
