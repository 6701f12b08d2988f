"""What the tools ask the database for beyond what the other parts hand out."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.search.results import SearchResult

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class CitedSourceRow:
    """What a conversation's number stands for. `handle`: the record that it was read in, None without one."""

    number: int
    title: str
    locator: str
    metadata: JsonObject
    classification: int
    handle: str | None


@dataclass(frozen=True, slots=True)
class HandleRow:
    """How one record or document is named."""

    handle: str


def find_cited_sources(
    tx: Transaction, session_id: UUID, numbers: Sequence[int], clearance: int
) -> list[CitedSourceRow]:
    return tx.all(
        SQL["find_cited_sources"], CitedSourceRow, session_id=session_id, numbers=list(numbers), clearance=clearance
    )


def list_snapshot_rows(tx: Transaction, entity_ids: Sequence[UUID], clearance: int) -> list[SearchResult]:
    return tx.all(SQL["list_snapshot_rows"], SearchResult, entity_ids=list(entity_ids), clearance=clearance)


def list_handles(tx: Transaction, kind: str, clearance: int) -> list[HandleRow]:
    return tx.all(SQL["list_handles"], HandleRow, kind=kind, clearance=clearance)


def find_created_records(tx: Transaction, origins: Sequence[str], clearance: int) -> list[HandleRow]:
    return tx.all(SQL["find_created_records"], HandleRow, origins=list(origins), clearance=clearance)


@dataclass(frozen=True, slots=True)
class AgentWriteRow:
    """What one call did to one record; `handle` names the record, `version` is the one that it came to."""

    id: UUID
    action: Literal["create", "update", "link", "unlink"]
    entity_id: UUID
    target_id: UUID | None
    relation: str
    before: JsonObject | None
    version: int
    handle: str
    classification: int


@dataclass(frozen=True, slots=True)
class TurnChangeRow:
    """What one call of a turn did to one record, which has the handle and name that it has now.

    before, after   {"name", "properties", "classification", "text"} of an update; None for the other actions.
    other_handle    the linked record, "" where there is none or the reader may not see it.
    """

    action: Literal["create", "update", "link", "unlink"]
    handle: str
    name: str
    is_deleted: bool
    relation: str
    other_handle: str
    other_name: str
    before: JsonObject | None
    after: JsonObject | None
    at: datetime
    undone_at: datetime | None


@dataclass(frozen=True, slots=True)
class ChangeQuery:
    """Which changes are listed: of a record, from a time, before a time; None leaves a part open."""

    entity_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A change of a record by an agent, or its deletion or acceptance by a person; else as `TurnChangeRow`.

    turn_id, session_id  where an agent made it; None for a person, session_id also when the turn was deleted.
    by, by_name          the principal, and the name of the user who talked to the agent, or of the member or key.
    agent_name           the agent that made it; "" for a person's.
    can_undo             whether undoing the turn restores this.
    """

    id: UUID
    action: Literal["create", "update", "link", "unlink", "delete", "accept"]
    handle: str
    name: str
    is_deleted: bool
    relation: str
    other_handle: str
    other_name: str
    before: JsonObject | None
    after: JsonObject | None
    at: datetime
    undone_at: datetime | None
    turn_id: UUID | None
    session_id: UUID | None
    by: str
    by_name: str
    agent_name: str
    can_undo: bool


def list_changes(
    tx: Transaction, wanted: ChangeQuery, *, after: tuple[datetime, UUID] | None, clearance: int, limit: int
) -> list[ChangeRow]:
    after_at, after_id = after or (None, None)
    return tx.all(
        SQL["list_changes"],
        ChangeRow,
        **asdict(wanted),
        after_at=after_at,
        after_id=after_id,
        clearance=clearance,
        most=limit,
    )


def add_agent_write(tx: Transaction, row: Mapping[str, object]) -> bool:
    """Whether it was not there before."""
    return tx.run(SQL["add_agent_write"], **row) == 1


def lock_agent_writes(tx: Transaction, turn_id: UUID) -> list[AgentWriteRow]:
    return tx.all(SQL["lock_agent_writes"], AgentWriteRow, turn_id=turn_id)


def list_turn_changes(tx: Transaction, turn_id: UUID, clearance: int) -> list[TurnChangeRow]:
    return tx.all(SQL["list_turn_changes"], TurnChangeRow, turn_id=turn_id, clearance=clearance)


def mark_undone(tx: Transaction, write_id: UUID, by: str, now: datetime) -> None:
    tx.run(SQL["mark_undone"], id=write_id, by=by, now=now)
