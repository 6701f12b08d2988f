"""The inbox's way to the database: the named queries, and the records they read and write."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from parlour.inbox.thread import Thread, ThreadReason
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class LockedThread:
    """A session, locked, with its binding's `inbox` setting; thread: None when it never was in the inbox."""

    session_id: UUID
    settings: JsonObject
    thread: Thread | None


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event of the inbox; see `events`."""

    id: UUID
    number: int
    session_id: UUID
    kind: str
    actor: str
    actor_name: str
    message_id: UUID | None
    body: str
    details: JsonObject
    at: datetime


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member of the tenant."""

    id: UUID
    display_name: str
    roles: Sequence[str]
    clearance: int
    active: bool

    def has_roles(self, roles: frozenset[str]) -> bool:
        """Whether they hold all of these; administrators do."""
        return "admin" in self.roles or roles <= set(self.roles)


@dataclass(frozen=True, slots=True)
class UnheardThread:
    """A conversation that waits for a person while nobody was notified; binding: the slug of the one that answers."""

    session_id: UUID
    binding: str
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """A conversation in the list. last_message: {text, direction, at}; last_inbound_at: when the user last wrote.

    undecided_count  items that a person has to decide: unknown outcomes, replies that were not sent, failed turns.
    """

    thread: Thread
    undecided_count: int
    title: str
    channel: str
    binding: str
    binding_name: str
    user_id: UUID
    user_name: str | None
    last_message: JsonObject | None
    unanswered_count: int
    last_inbound_at: datetime | None


@dataclass(frozen=True, slots=True)
class ContextRow:
    """What a person needs to know of a session. tried, open_effects: [{name, state, code, at}], newest first."""

    summary: str | None
    tried: list[JsonObject] | None
    open_effects: list[JsonObject] | None


@dataclass(frozen=True, slots=True)
class ThreadCounts:
    """How many conversations are held, by state; mine: the reader's own; escalated: those that waited too long.

    undecided  those that are not held, and in which a person has to decide something.
    """

    waiting: int
    person: int
    snoozed: int
    mine: int
    escalated: int
    undecided: int


@dataclass(frozen=True, slots=True)
class ThreadFilter:
    """Which conversations are listed; None leaves a part open. assignee: a principal's name.

    undecided  beside those in one of `states`: those in which a person has to decide something.
    """

    states: Sequence[str] | None = None
    undecided: bool = False
    assignee: str | None = None
    binding: str | None = None
    reason: str | None = None
    session_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class _LockedRow:
    session_id: UUID
    settings: JsonObject
    thread: JsonObject | None


@dataclass(frozen=True, slots=True)
class _ListedRow:
    thread: JsonObject
    undecided_count: int
    title: str
    channel: str
    binding: str
    binding_name: str
    user_id: UUID
    user_name: str | None
    last_message: JsonObject | None
    unanswered_count: int
    last_inbound_at: datetime | None


def lock_thread(tx: Transaction, session_id: UUID) -> LockedThread | None:
    """Return the session's place in the inbox, locked until the transaction ends; None when there is no session."""
    if tx.value(SQL["lock_session"], session_id=session_id) is None:
        return None
    row = tx.one(SQL["read_thread"], _LockedRow, session_id=session_id)
    return LockedThread(row.session_id, row.settings, _thread(row.thread) if row.thread else None)


def find_thread(tx: Transaction, session_id: UUID) -> Thread | None:
    """Return the session's thread; None when it never was in the inbox."""
    row = tx.first(SQL["read_thread"], _LockedRow, session_id=session_id)
    return _thread(row.thread) if row and row.thread else None


def save_thread(tx: Transaction, thread: Thread, now: datetime) -> None:
    """Store a thread as a move leaves it."""
    tx.run(SQL["save_thread"], **asdict(thread), now=now)


def find_member(tx: Transaction, member_id: UUID) -> MemberRow | None:
    """Return a member of the tenant."""
    return tx.first(SQL["find_member"], MemberRow, member_id=member_id)


def list_answerers(tx: Transaction, roles: frozenset[str], clearance: int, limit: int) -> list[MemberRow]:
    """Return the active members of at least this clearance who hold all of these roles, by name."""
    return tx.all(SQL["list_answerers"], MemberRow, roles=sorted(roles), clearance=clearance, most=limit)


def list_unheard(tx: Transaction, clearance: int, limit: int, session_id: UUID | None) -> list[UnheardThread]:
    """Return the conversations, or one, that wait for a person while nobody was notified, oldest first."""
    query = SQL["list_unheard"]
    return tx.all(query, UnheardThread, clearance=clearance, session_id=session_id, most=limit)


def clear_instruction(tx: Transaction, session_id: UUID, instruction: str) -> None:
    """Forget an instruction that a turn has answered with."""
    tx.run(SQL["clear_instruction"], session_id=session_id, instruction=instruction)


def insert_event(tx: Transaction, event: object) -> None:
    """Store an event once."""
    tx.run(SQL["insert_event"], **asdict(event))  # type: ignore[call-overload]


def list_events_after(
    tx: Transaction, clearance: int, number: int, session_id: UUID | None, limit: int
) -> list[EventRow]:
    """Return events after a number, oldest first."""
    values = {"clearance": clearance, "number": number, "session_id": session_id, "most": limit}
    return tx.all(SQL["list_events_after"], EventRow, **values)


def list_threads(
    tx: Transaction,
    clearance: int,
    filters: ThreadFilter,
    limit: int,
    after: tuple[int, datetime, UUID] | None = None,
) -> list[ThreadRow]:
    """Return conversations of the inbox, the most urgent and the oldest first."""
    priority, at, session_id = after or (None, None, None)
    rows = tx.all(
        SQL["list_threads"],
        _ListedRow,
        clearance=clearance,
        states=list(filters.states) if filters.states is not None else None,
        undecided=filters.undecided,
        assignee=filters.assignee,
        binding=filters.binding,
        reason=filters.reason,
        session_id=filters.session_id,
        after_priority=priority,
        after_at=at,
        after_id=session_id,
        most=limit,
    )
    columns = [one.name for one in fields(_ListedRow) if one.name != "thread"]
    return [ThreadRow(_thread(row.thread), **{name: getattr(row, name) for name in columns}) for row in rows]


def read_context(tx: Transaction, session_id: UUID, clearance: int) -> ContextRow:
    """Return what a person needs to know of a session."""
    return tx.one(SQL["read_context"], ContextRow, session_id=session_id, clearance=clearance)


def find_undecided_reason(tx: Transaction, session_id: UUID, held_after: datetime | None = None) -> ThreadReason | None:
    """Return why a person has to look at a conversation; None when nothing in it is undecided.

    held_after  look only at replies that were held after this time.
    """
    values = {"session_id": session_id, "held_after": held_after}
    reason: ThreadReason | None = tx.value(SQL["find_undecided_reason"], **values)
    return reason


def count_threads(tx: Transaction, clearance: int, assignee: str) -> ThreadCounts:
    """Return how many conversations are held."""
    found = tx.first(SQL["count_threads"], ThreadCounts, clearance=clearance, assignee=assignee)
    return found or ThreadCounts(0, 0, 0, 0, 0, 0)


def _thread(row: JsonObject) -> Thread:
    """Return a thread from its row as JSON; what is left out is null."""
    values: dict[str, Any] = {one.name: row.get(one.name) for one in fields(Thread)}
    for name, value in values.items():
        if value is not None and (name.endswith("_at") or name == "snoozed_until"):
            values[name] = datetime.fromisoformat(str(value)).astimezone(UTC)
    return Thread(**{**values, "session_id": UUID(str(row["session_id"]))})
