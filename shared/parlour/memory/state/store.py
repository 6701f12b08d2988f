"""The notes on a conversation in the database."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class StateRow:
    """A session's notes; `version` counts their changes."""

    state: JsonObject
    version: int


@dataclass(frozen=True, slots=True)
class Name:
    """An id or a handle."""

    name: str


def hold(tx: Transaction, session_id: UUID, now: datetime) -> StateRow | None:
    """None where the session was put away: nothing is held in mind of it."""
    return tx.first(SQL["hold_state"], StateRow, session_id=session_id, now=now)


def keep(tx: Transaction, session_id: UUID, state: JsonObject, now: datetime) -> None:
    tx.run(SQL["keep_state"], session_id=session_id, state=state, now=now)


def records_to_name(tx: Transaction, session_id: UUID, handles: Collection[str]) -> set[str]:
    found = tx.all(SQL["records_to_name"], Name, session_id=session_id, handles=sorted(handles))
    return {one.name for one in found}
