"""The feed of a session: numbered events that the web follows while a turn runs.

Every write of a turn goes through `Feed.writing`: it passes the fence of the session's lease, and whatever
events are due are numbered and committed together with it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra.errors import LeaseLost
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal
from parlour.turns import store
from parlour.turns.read import reader
from parlour.turns.records import Event, Lease

_FLUSH_EVERY = timedelta(milliseconds=100)
"""How long streamed text is gathered before it is committed (design section 4)."""


def after(principal: Principal, tx: Transaction, session_id: UUID, number: int, most: int = 200) -> list[Event]:
    """Events of a session after `number`, in order; none when a user asks for somebody else's session."""
    return store.events_after(tx, session_id, reader(principal), number, most)


@dataclass(slots=True)
class Feed:
    """Writes of one turn under one lease. Nobody reads a messaging channel's feed, so there it stays empty."""

    principal: Principal
    database: Database
    lease: Lease
    turn_id: UUID
    clock: Callable[[], datetime]
    _due: list[tuple[str, JsonObject]] = field(default_factory=list)
    _text: list[str] = field(default_factory=list)
    _since: datetime | None = None

    def add(self, kind: str, payload: JsonObject) -> None:
        """Have an event committed with the next write."""
        if self.lease.channel == "web":
            self._gather_text()
            self._due.append((kind, payload))

    def text(self, delta: str) -> None:
        """Stream a piece of the reply; it is committed about every 100 ms."""
        if self.lease.channel != "web":
            return
        self._text.append(delta)
        self._since = self._since or self.clock()
        if self.clock() - self._since >= _FLUSH_EVERY:
            with self.writing():
                pass

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction of the turn, with the due events in it; LeaseLost when a newer worker has the session."""
        self._gather_text()
        with self.database.transaction(self.principal) as tx:
            last = store.fence(tx, self.lease, len(self._due))
            if last is None:
                raise LeaseLost
            store.insert_events(tx, self.lease.id, self._numbered(last))
            yield tx
        self._due.clear()

    def _gather_text(self) -> None:
        if self._text:
            self._due.append(("text_delta", {"text": "".join(self._text)}))
            self._text.clear()
        self._since = None

    def _numbered(self, last: int) -> list[Event]:
        first = last - len(self._due) + 1
        now = self.clock()
        return [
            Event(number, kind, payload, self.turn_id, now)
            for number, (kind, payload) in enumerate(self._due, start=first)
        ]
