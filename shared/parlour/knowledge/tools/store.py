"""What the tools ask the database for beyond what the other parts hand out."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class CitedRow:
    """What a conversation's number stands for. `handle`: the record that it was read in, None without one."""

    number: int
    title: str
    locator: str
    metadata: JsonObject
    classification: int
    handle: str | None


@dataclass(frozen=True, slots=True)
class Handle:
    """How one record or document is named."""

    handle: str


def cited(tx: Transaction, session_id: UUID, numbers: Sequence[int], clearance: int) -> list[CitedRow]:
    return tx.all(SQL["cited"], CitedRow, session_id=session_id, numbers=list(numbers), clearance=clearance)


def handles(tx: Transaction, kind: str, clearance: int) -> list[Handle]:
    return tx.all(SQL["handles"], Handle, kind=kind, clearance=clearance)


def made(tx: Transaction, origins: Sequence[str], clearance: int) -> list[Handle]:
    return tx.all(SQL["made"], Handle, origins=list(origins), clearance=clearance)
