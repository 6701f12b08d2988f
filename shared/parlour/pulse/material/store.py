"""What stands around a record, in the database: for its Pulse."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction, jsonb
from parlour.infra.queries import Queries

SQL = Queries.beside(__file__)


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
    routing: JsonObject | None


@dataclass(frozen=True, slots=True)
class Level:
    """A classification level."""

    level: int


@dataclass(frozen=True, slots=True)
class Count:
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
    records: list[str]


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that changed, as its row tells it; `record` and `other` are what it is of, as table/id."""

    id: UUID
    title: str
    content: str
    classification: int
    created_at: datetime
    record: str
    other: str | None


@dataclass(frozen=True, slots=True)
class Row:
    """A searchable row near the record.

    score       how near, 1 at most; place: in that order, from 1; before it what has no vector yet.
    file_place  of its file among the newest, from 1; 0 for none of these. is_short: it tells of the whole file.
    owners      what it belongs to, as table/id.
    """

    id: UUID
    kind: str
    title: str
    content: str
    metadata: JsonObject
    classification: int
    created_at: datetime
    score: float
    file_place: int
    is_short: bool
    place: int
    owners: list[str]


@dataclass(frozen=True, slots=True)
class Named:
    """What a handle names, as table/id."""

    handle: str
    source: str


def subject(tx: Transaction, record_id: UUID) -> SubjectRow | None:
    return tx.first(SQL["subject"], SubjectRow, id=record_id)


def levels(tx: Transaction, record_id: UUID, **fixed: object) -> list[int]:
    return [one.level for one in tx.all(SQL["levels"], Level, id=record_id, **fixed)]


def counts(
    tx: Transaction, record_id: UUID, level: int, status: Sequence[str], *, named: int, **fixed: object
) -> list[Count]:
    return tx.all(
        SQL["counts"], Count, id=record_id, level=level, status=jsonb(list(status)), named=named, **fixed
    )  # fmt: skip


def changes(tx: Transaction, record_id: UUID, level: int, *, most: int, **fixed: object) -> list[Change]:
    return tx.all(SQL["changes"], Change, id=record_id, level=level, most=most, **fixed)


def rows(
    tx: Transaction, record_id: UUID, level: int, *, most: int, files: int, of_file: int, **fixed: object
) -> list[Row]:
    return tx.all(SQL["rows"], Row, id=record_id, level=level, most=most, files=files, of_file=of_file, **fixed)


def named(tx: Transaction, handles: Sequence[str]) -> dict[str, str]:
    """What some handles name, as table/id; those that are there."""
    return {one.handle: one.source for one in tx.all(SQL["named"], Named, handles=list(handles))} if handles else {}
