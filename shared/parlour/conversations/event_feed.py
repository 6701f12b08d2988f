"""The feed of a session: numbered events that the web follows while a turn runs.

Every write of a turn goes through `commit`: it checks the session's lease, numbers the events that are due, and commits
them in the same transaction.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from parlour.conversations import store
from parlour.conversations.outgoing_links import LinkFilter, filter_links
from parlour.conversations.rows import AgentState, Event, Lease, OpenTurn, StopCause
from parlour.conversations.turn_stop import TurnStop
from parlour.conversations.turn_views import session_reader
from parlour.infra.errors import LeaseLost
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal
from parlour.text.citation_markers import CitationStream

_MIN_FLUSH_INTERVAL, _MAX_FLUSH_INTERVAL = timedelta(milliseconds=100), timedelta(seconds=2)

#: Events that name records; a name may hold an address.
_NAMING_KINDS = frozenset({"operation", "entity_patch"})

#: How long reasoning is gathered before it is committed.
_REASONING_FLUSH_INTERVAL = timedelta(seconds=1)


def flush_interval(so_far: timedelta) -> timedelta:
    """Return how long streamed text is gathered before it is committed: as long as the text has run, 2 seconds at most.

    A model writes five times as fast as people read, so the next words arrive while the reader is still at the earlier
    ones. A reply of ten seconds takes 10 commits instead of 100.
    """
    return max(_MIN_FLUSH_INTERVAL, min(_MAX_FLUSH_INTERVAL, so_far))


def list_events(principal: Principal, tx: Transaction, session_id: UUID, number: int, limit: int = 200) -> list[Event]:
    """Events of a session after `number`, in order; none when a user asks for somebody else's session."""
    return store.list_events_after(tx, session_id, session_reader(principal), number, limit)


def find_newest_numbers(tx: Transaction, session_ids: Collection[UUID]) -> Mapping[UUID, int]:
    """Return the number of the newest event, by session, of the tenant's sessions among these."""
    return store.find_newest_numbers(tx, session_ids)


def has_open_turn(tx: Transaction, session_id: UUID) -> bool:
    """Return whether a turn of the session is open or about to be, because a message waits for it."""
    return store.find_unanswered_since(tx, session_id) is not None


def tell_of_beginning(tx: Transaction, lease: Lease, turn: OpenTurn, now: datetime) -> Lease:
    """Tell the feed that the agent thinks, in the transaction that begins the turn: long before its prompt is ready.

    Return the lease with the number of the event.
    """
    number = lease.last_event_number + 1
    event = Event(number, "agent_state", {"state": "thinking"}, turn.id, now)
    if not store.insert_first_event(tx, lease.id, event):
        return lease  # this very transaction was committed before, and its answer was lost
    if store.pass_fence(tx, lease, turn.id, number) is None:
        raise LeaseLost
    return replace(lease, last_event_number=number)


@dataclass(slots=True)
class EventFeed:
    """Writes of one turn under one lease.

    is_followed  whether somebody may be waiting on the web; of a phone's messages alone nobody reads what comes, so
                 there it stays empty.
    link_filter  what streamed text and reasoning pass through; one ends before the other begins.
    citations    gives streamed text the reader's numbers; None until the turn's reader is known.
    stop         whether the turn is to end; every write reads it along.

    The transaction that began the turn has told that the agent thinks (`tell_of_beginning`).
    """

    principal: Principal
    database: Database
    lease: Lease
    turn_id: UUID
    clock: Callable[[], datetime]
    is_followed: bool
    link_filter: LinkFilter = field(default_factory=LinkFilter)
    citations: CitationStream | None = None
    stop: TurnStop = field(init=False)
    _pending_events: list[tuple[str, JsonObject]] = field(default_factory=list)
    _pending_text: list[str] = field(default_factory=list)
    _pending_reasoning: list[str] = field(default_factory=list)
    _text_block: int = 0
    _state: AgentState = "thinking"
    _text_began_at: datetime | None = None
    _reasoning_began_at: datetime | None = None
    _reasoning_flushed_at: datetime | None = None
    _flushed_at: datetime | None = None
    _last_event_number: int = field(init=False)

    def __post_init__(self) -> None:
        self._last_event_number = self.lease.last_event_number
        self.stop = TurnStop(self._find_stop_cause)

    def add_event(self, kind: str, payload: JsonObject) -> None:
        """Have an event committed with the next write."""
        if self.is_followed:
            if kind == "text_reset":
                self.link_filter.reset()
                if self.citations:
                    self.citations.reset(int(str(payload["step"])))
            self.finish_text()
            shown = self._filter_names(payload) if kind in _NAMING_KINDS else payload
            self._pending_events.append((kind, shown))

    def _filter_names(self, payload: JsonObject) -> JsonObject:
        """Return the payload with names of records and documents as the titles of sources are shown."""
        hosts = self.link_filter.allowed_hosts
        shown: JsonObject = {}
        for key, value in payload.items():
            if isinstance(value, dict) and key != "properties":
                shown[key] = self._filter_names(value)
            else:
                is_name = key == "entity_name" and isinstance(value, str)
                shown[key] = filter_links(str(value), hosts).text if is_name else value
        return shown

    def set_state(self, state: AgentState) -> None:
        """Have it told what the agent does, if that is new."""
        if state != self._state:
            self._state = state
            self.add_event("agent_state", {"state": state})

    def stream_reasoning(self, delta: str, block: int) -> None:
        """Stream a piece of what the model thinks, for members who follow: committed once a second, as progress.

        block  the step that thinks. A `reasoning_end` follows when it writes, calls a tool or ends.
        """
        if not self.is_followed:
            return
        if self._reasoning_began_at is None:
            self.finish_text()
            self._reasoning_began_at = self._reasoning_flushed_at = self.clock()
        self._text_block = block
        if shown := self.link_filter.add(delta):
            self._pending_reasoning.append(shown)
        self.flush_due_text()

    def stream_text(self, delta: str, block: int) -> None:
        """Stream a piece of the reply. The first is committed at once, later ones in growing batches.

        block  the step that writes it: each has a text of its own.
        """
        if not self.is_followed:
            return
        self._end_reasoning()
        self._text_block = block
        self._show_text(self.link_filter.add(delta))
        self._text_began_at = self._text_began_at or self.clock()
        self.flush_due_text()

    def flush_due_text(self) -> None:
        """Commit the text that was gathered, if it has waited long enough; called also while the model is silent."""
        now = self.clock()
        began_at = self._text_began_at or now
        if self._pending_text and (not self._flushed_at or now - self._flushed_at >= flush_interval(now - began_at)):
            self._flushed_at = now
            self.commit(lambda _: None)
        elif self._pending_reasoning and now - (self._reasoning_flushed_at or now) >= _REASONING_FLUSH_INTERVAL:
            self._reasoning_flushed_at = now
            self.commit(lambda _: None)

    def commit[R](self, work: Callable[[Transaction], R]) -> R:
        """Commit `work` and the due events under the lease; LeaseLost when a newer worker has the session.

        On a connection that dies in the middle it is done once more: see `Database.run`.
        """
        self._flush_reasoning()
        self._flush_text()
        now = self.clock()
        events = [
            Event(number, kind, payload, self.turn_id, now)
            for number, (kind, payload) in enumerate(self._pending_events, start=self._last_event_number + 1)
        ]
        last = self._last_event_number + len(events)

        def fenced(tx: Transaction) -> tuple[R, StopCause | None]:
            passed = store.pass_fence(tx, self.lease, self.turn_id, last)
            if passed is None:
                raise LeaseLost
            store.insert_events(tx, self.lease.id, events)
            return work(tx), passed.stop_cause

        done, stop_cause = self.database.run(self.principal, fenced)
        self.stop.record(stop_cause)
        self._last_event_number = last
        self._pending_events.clear()
        return done

    def finish_text(self) -> None:
        """End a text or reasoning that was streamed: what the filter of links still holds back is committed with the
        next write."""
        self._end_reasoning()
        self._show_text(self.link_filter.finish())
        self._flush_text()
        self._text_began_at = self._flushed_at = None

    def _show_text(self, text: str) -> None:
        shown = self.citations.add(text, self._text_block) if self.citations else text
        if shown:
            self._pending_text.append(shown)

    def _find_stop_cause(self) -> StopCause | None:
        cause: StopCause | None = self.database.run(self.principal, lambda tx: store.find_stop_cause(tx, self.turn_id))
        return cause

    def _end_reasoning(self) -> None:
        """End the reasoning that was streamed, if there is one, and tell how long it took."""
        if self._reasoning_began_at is None:
            return
        if rest := self.link_filter.finish():
            self._pending_reasoning.append(rest)
        self._flush_reasoning()
        took = self.clock() - self._reasoning_began_at
        ended: JsonObject = {"block": self._text_block, "milliseconds": round(took.total_seconds() * 1000)}
        self._pending_events.append(("reasoning_end", ended))
        self._reasoning_began_at = None

    def _flush_reasoning(self) -> None:
        if self._pending_reasoning:
            delta: JsonObject = {"text": "".join(self._pending_reasoning), "block": self._text_block}
            self._pending_events.append(("reasoning_delta", delta))
            self._pending_reasoning.clear()

    def _flush_text(self) -> None:
        if self._pending_text:
            delta: JsonObject = {"text": "".join(self._pending_text), "block": self._text_block}
            self._pending_events.append(("text_delta", delta))
            self._pending_text.clear()
