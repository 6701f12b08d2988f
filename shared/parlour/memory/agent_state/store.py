"""The notes on a conversation in the database."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class AgentStateRow:
    """A session's notes; `version` counts their changes."""

    state: JsonObject
    version: int


@dataclass(frozen=True, slots=True)
class HandleRow:
    """An id or a handle."""

    handle: str


def lock_state(tx: Transaction, session_id: UUID, now: datetime) -> AgentStateRow | None:
    """None where the session was put away: nothing is held in mind of it."""
    return tx.first(SQL["lock_state"], AgentStateRow, session_id=session_id, now=now)


def store_state(tx: Transaction, session_id: UUID, state: JsonObject, now: datetime) -> None:
    tx.run(SQL["store_state"], session_id=session_id, state=state, now=now)


def find_visible_handles(tx: Transaction, session_id: UUID, handles: Collection[str]) -> set[str]:
    found = tx.all(SQL["find_visible_handles"], HandleRow, session_id=session_id, handles=sorted(handles))
    return {one.handle for one in found}
