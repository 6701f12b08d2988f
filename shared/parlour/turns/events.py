"""The feed of a session: numbered events that the web follows while a turn runs.

Every write of a turn goes through `Feed.write`: it passes the fence of the session's lease, and whatever
events are due are numbered and committed together with it.
"""

from collections.abc import Callable
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
    """Writes of one turn under one lease. `is_followed`: whether somebody may be waiting on the web; of a phone's
    messages alone nobody reads what comes, so there it stays empty."""

    principal: Principal
    database: Database
    lease: Lease
    turn_id: UUID
    clock: Callable[[], datetime]
    is_followed: bool
    _due: list[tuple[str, JsonObject]] = field(default_factory=list)
    _text: list[str] = field(default_factory=list)
    _since: datetime | None = None
    _last: int = field(init=False)

    def __post_init__(self) -> None:
        self._last = self.lease.last_event

    def add(self, kind: str, payload: JsonObject) -> None:
        """Have an event committed with the next write."""
        if self.is_followed:
            self._gather_text()
            self._due.append((kind, payload))

    def text(self, delta: str) -> None:
        """Stream a piece of the reply; it is committed about every 100 ms."""
        if not self.is_followed:
            return
        self._text.append(delta)
        self._since = self._since or self.clock()
        if self.clock() - self._since >= _FLUSH_EVERY:
            self.write(lambda _: None)

    def write[R](self, work: Callable[[Transaction], R]) -> R:
        """Commit `work` and the due events under the lease; LeaseLost when a newer worker has the session.

        On a connection that dies in the middle it is done once more: see `Database.run`.
        """
        self._gather_text()
        events = self._numbered()
        last = self._last + len(events)

        def fenced(tx: Transaction) -> R:
            if not store.fence(tx, self.lease, last):
                raise LeaseLost
            store.insert_events(tx, self.lease.id, events)
            return work(tx)

        done = self.database.run(self.principal, fenced)
        self._last = last
        self._due.clear()
        return done

    def _gather_text(self) -> None:
        if self._text:
            self._due.append(("text_delta", {"text": "".join(self._text)}))
            self._text.clear()
        self._since = None

    def _numbered(self) -> list[Event]:
        now = self.clock()
        return [
            Event(number, kind, payload, self.turn_id, now)
            for number, (kind, payload) in enumerate(self._due, start=self._last + 1)
        ]
