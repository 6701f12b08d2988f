"""What the tools ask the database for beyond what the other parts hand out."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

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


def list_handles(tx: Transaction, kind: str, clearance: int) -> list[HandleRow]:
    return tx.all(SQL["list_handles"], HandleRow, kind=kind, clearance=clearance)


def find_created_records(tx: Transaction, origins: Sequence[str], clearance: int) -> list[HandleRow]:
    return tx.all(SQL["find_created_records"], HandleRow, origins=list(origins), clearance=clearance)
