"""Somebody who writes records, as tests of records need them: each act in a transaction of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.infra.queries import Query
from parlour.principal import Principal
from parlour.records import crud, record_links
from parlour.records.crud import Record, RecordInput, RecordPage, RecordPatch, RecordRef
from parlour.records.record import RecordQuery
from parlour.records.record_links import Link
from tests.integration.knowledge_tenant import KnowledgeTenant, execute


@dataclass(frozen=True)
class RecordRow:
    """A searchable row of a record."""

    kind: str
    content: str
    classification: int
    pending: bool


_ROWS = Query(
    "test.rows_of",
    "-",
    "SELECT kind, content, classification, pending FROM context_rows WHERE entity_id = %(id)s"
    " ORDER BY kind, ordinal DESC, content",
)


@dataclass(frozen=True)
class Id:
    """An id."""

    id: UUID


_IDS = Query("test.ids", "-", "SELECT id FROM context_rows ORDER BY id")
_TYPE_ID = Query("test.type_id", "-", "SELECT id FROM entity_types WHERE key = %(key)s")

_TYPE = """
INSERT INTO entity_types (tenant_id, id, key, display_name, properties, rag, created_at, updated_at)
VALUES (current_tenant(), %(id)s, %(key)s, %(name)s, %(properties)s, %(rag)s, %(now)s, %(now)s)
"""


@dataclass
class RecordHarness:
    """A principal, the database and the time of the next act."""

    database: Database
    principal: Principal
    now: datetime

    def with_clearance(self, clearance: int) -> "RecordHarness":
        return RecordHarness(self.database, replace(self.principal, clearance=clearance), self.now)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self.database.transaction(self.principal) as tx:
            yield tx

    def create(self, new: RecordInput, origin: str | None = None) -> Record:
        with self.transaction() as tx:
            return crud.create_record(self.principal, tx, new, self.now, origin)

    def read(self, ref: RecordRef) -> Record:
        with self.transaction() as tx:
            return crud.get_record(self.principal, tx, ref)

    def change(self, ref: RecordRef, patch: RecordPatch, version: int | None = None) -> Record:
        with self.transaction() as tx:
            return crud.update_record(self.principal, tx, ref, patch, version, self.now)

    def delete(self, ref: RecordRef, version: int | None = None) -> None:
        with self.transaction() as tx:
            crud.delete_record(self.principal, tx, ref, version, self.now)

    def browse(self, *, cursor: str = "", limit: int = 20, **query: Any) -> RecordPage:
        with self.transaction() as tx:
            return crud.list_records(self.principal, tx, RecordQuery(**query), cursor=cursor, limit=limit)

    def link(self, source: RecordRef, target: RecordRef, relation: str, origin: str | None = None) -> Link:
        with self.transaction() as tx:
            return record_links.link(self.principal, tx, source, target, relation, self.now, origin)

    def unlink(self, source: RecordRef, target: RecordRef, relation: str) -> None:
        with self.transaction() as tx:
            record_links.unlink(self.principal, tx, source, target, relation, self.now)

    def define_type(self, key: str, properties: JsonObject, **rag: Json) -> None:
        """A kind of the tenant's own."""
        with self.transaction() as tx:
            name, columns = key.capitalize(), {"properties": properties, "rag": {**rag}}
            execute(tx, _TYPE, id=uuid7(self.now), key=key, name=name, now=self.now, **columns)

    def context_rows_of(self, entity: Record) -> list[RecordRow]:
        with self.transaction() as tx:
            return tx.all(_ROWS, RecordRow, id=entity.id)

    def count(self, table: str) -> int:
        with self.transaction() as tx:
            return execute(tx, f"SELECT FROM {table}")

    def row_ids(self) -> list[UUID]:
        """Every searchable row there is."""
        with self.transaction() as tx:
            return [row.id for row in tx.all(_IDS, Id)]

    def type_id(self, tx: Transaction, key: str) -> UUID:
        found: UUID = tx.value(_TYPE_ID, key=key)
        return found

    def clear_stale(self) -> None:
        with self.transaction() as tx:
            execute(tx, "UPDATE entities SET stale_since = NULL, stale_causes = '{}'")


def open_record_harness(library: KnowledgeTenant) -> RecordHarness:
    """The library's tenant with nothing but everybody's kinds."""
    with library.database.transaction(library.principal) as tx:
        execute(tx, "DELETE FROM entity_types")
    return RecordHarness(library.database, library.principal, library.now)
