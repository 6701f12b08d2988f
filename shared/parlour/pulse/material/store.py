"""What stands around a record, in the database: for its Pulse."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction, jsonb
from parlour.infra.queries import Queries
from parlour.search.results import RowKind

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """A record and its kind; `routing` is None for a tenant without agents."""

    id: UUID
    type: str
    type_name: str
    type_properties: JsonObject
    rag: JsonObject
    key: str
    name: str
    properties: JsonObject
    classification: int
    model_routing: JsonObject | None


@dataclass(frozen=True, slots=True)
class LevelRow:
    """A classification level."""

    level: int


@dataclass(frozen=True, slots=True)
class ValueCount:
    """How many records of a kind have one value of a property.

    level    the highest among them; records: some of them, as table/id.
    """

    type: str
    type_name: str
    property: str
    label: str
    value: str
    total: int
    level: int
    record_ids: list[str]


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One thing that changed, as its row tells it; `record` and `other` are what it is of, as table/id."""

    id: UUID
    title: str
    content: str
    classification: int
    created_at: datetime
    record_id: str
    related_record_id: str | None


@dataclass(frozen=True, slots=True)
class NearbyRow:
    """A searchable row near the record.

    score            the similarity, 1 at most.
    rank             the position in the order of similarity, from 1.
    file_rank        the position of its file among the newest, from 1; 0 for none of these.
    is_file_summary  whether it describes its complete file.
    owner_ids        its row owners, as table/id.
    """

    id: UUID
    kind: RowKind
    title: str
    content: str
    metadata: JsonObject
    classification: int
    created_at: datetime
    score: float
    file_rank: int
    is_file_summary: bool
    rank: int
    owner_ids: list[str]


@dataclass(frozen=True, slots=True)
class HandleRow:
    """What a handle names, as table/id."""

    handle: str
    source_id: str


def find_subject(tx: Transaction, record_id: UUID) -> SubjectRow | None:
    return tx.first(SQL["find_subject"], SubjectRow, id=record_id)


def find_levels(tx: Transaction, record_id: UUID, **fixed: object) -> list[int]:
    return [one.level for one in tx.all(SQL["find_levels"], LevelRow, id=record_id, **fixed)]


def count_values(
    tx: Transaction, record_id: UUID, level: int, status: Sequence[str], *, named: int, **fixed: object
) -> list[ValueCount]:
    return tx.all(
        SQL["count_values"], ValueCount, id=record_id, level=level, status=jsonb(list(status)), named=named, **fixed
    )


def list_changes(tx: Transaction, record_id: UUID, level: int, *, most: int, **fixed: object) -> list[ChangeRow]:
    return tx.all(SQL["list_changes"], ChangeRow, id=record_id, level=level, most=most, **fixed)


def find_nearby_rows(tx: Transaction, record_id: UUID, level: int, *, focus: str, **limits: object) -> list[NearbyRow]:
    """Return the rows around the record, best first.

    focus   the text whose words count.
    limits  by the names of the query.
    """
    return tx.all(SQL["find_nearby_rows"], NearbyRow, id=record_id, level=level, focus=focus, **limits)


def find_source_ids(tx: Transaction, handles: Sequence[str]) -> dict[str, str]:
    """Return what the handles name, as table/id; missing ones are left out."""
    return (
        {one.handle: one.source_id for one in tx.all(SQL["find_source_ids"], HandleRow, handles=list(handles))}
        if handles
        else {}
    )
