"""Two tenants with a few types of record, a session to cite in, and an embedder that needs no model."""

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import pytest

from bench.corpus_ingestion import SESSION
from parlour.documents.pack_import import DocumentDraft, import_documents, prepare_document_import
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, Transaction
from parlour.infra.queries import Query
from parlour.principal import RESTRICTED, Principal
from parlour.records.pack_import import RecordDraft, import_records, prepare_record_import
from parlour.records.record_links import LinkDraft, import_links
from parlour.records.snapshots import SnapshotTemplate
from parlour.records.write_counts import WriteCounts
from parlour.search.index.embedders import Embedder, embed_texts, space_name

PROJECT = SnapshotTemplate("project", "Project", {}, {"semantic": "{{name}} is a {{type}}, status {{status}}"})
TASK = SnapshotTemplate("task", "Task")

_TENANT = """
INSERT INTO tenants (tenant_id, slug, display_name, created_at, updated_at)
VALUES (current_tenant(), %(slug)s, %(slug)s, %(now)s, %(now)s)
"""
_TYPE = """
INSERT INTO entity_types (tenant_id, id, key, display_name, created_at, updated_at)
VALUES (current_tenant(), %(id)s, %(key)s, %(name)s, %(now)s, %(now)s)
"""
LEASE_TOKEN = 7
"""The token of the lease that the session was last taken with."""


class WordEmbedder:
    """Texts with words in common point the same way: each word is a direction given by its hash."""

    def __init__(self, model: str = "words", dimensions: int = 64) -> None:
        self.model = model
        self.dimensions = dimensions

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dimensions
        for word in re.findall(r"\w+", text.casefold()):
            vector[hashlib.sha256(word.encode()).digest()[0] % self.dimensions] += 1.0
        length = math.hypot(*vector) or 1.0
        return [part / length for part in vector]


@dataclass(frozen=True)
class KnowledgeTenant:
    """One tenant's knowledge, as a test fills it and reads it."""

    database: Database
    principal: Principal
    session_id: UUID
    now: datetime
    embedder: Embedder

    def import_documents(self, *drafts: DocumentDraft) -> WriteCounts:
        with self.database.transaction(self.principal) as tx:
            plan = prepare_document_import(tx, drafts, space_name(self.embedder))
        vectors = embed_texts(self.embedder, plan.texts_to_embed)
        with self.database.transaction(self.principal) as tx:
            return import_documents(self.principal, tx, plan, vectors, self.now)

    def import_records(self, *drafts: RecordDraft, types: Sequence[SnapshotTemplate] = (PROJECT, TASK)) -> WriteCounts:
        with self.database.transaction(self.principal) as tx:
            plan = prepare_record_import(tx, drafts, types, space_name(self.embedder))
        vectors = embed_texts(self.embedder, plan.texts_to_embed)
        with self.database.transaction(self.principal) as tx:
            return import_records(self.principal, tx, plan, vectors, self.now)

    def import_links(self, *drafts: LinkDraft) -> WriteCounts:
        with self.database.transaction(self.principal) as tx:
            return import_links(self.principal, tx, drafts, self.now)

    def rows(self, *, changes: bool = False) -> list["StoredContextRow"]:
        """What is searched; what tells of changes only when asked for."""
        with self.database.transaction(self.principal) as tx:
            return tx.all(_ROWS, StoredContextRow, changes=changes)


@dataclass(frozen=True)
class StoredContextRow:
    """A searchable row as it is stored, with the spaces it has vectors in."""

    id: UUID
    entity: str | None
    document: str | None
    ordinal: int
    title: str
    content: str
    classification: int
    label: str
    spaces: list[str]


_ROWS = Query(
    "test.rows",
    "-",
    """
SELECT r.id, e.key AS entity, d.key AS document, r.ordinal, r.title, r.content, r.classification,
       r.metadata->>'kind' AS label, array_remove(array_agg(v.space ORDER BY v.space), NULL) AS spaces
  FROM context_rows r
  LEFT JOIN embeddings v ON v.row_id = r.id
  LEFT JOIN entities e ON e.id = r.entity_id
  LEFT JOIN documents d ON d.id = r.document_id
 WHERE %(changes)s OR r.kind <> 'delta'
 GROUP BY r.tenant_id, r.id, e.key, d.key
 ORDER BY d.key, r.title, r.ordinal
""",
)


def execute(tx: Transaction, sql: str, /, **values: object) -> int:
    """A statement that only a test needs."""
    return tx.run(Query("test.statement", "-", sql), **values)


def open_knowledge_tenant(database: Database, slug: str, now: datetime) -> KnowledgeTenant:
    principal = Principal(uuid7(now), "member", None, frozenset({"admin"}), clearance=RESTRICTED)
    session_id = uuid7(now)
    with database.transaction(principal) as tx:
        execute(tx, _TENANT, slug=slug, now=now)
        for record_type in (PROJECT, TASK):
            execute(tx, _TYPE, id=uuid7(now), key=record_type.key, name=record_type.display_name, now=now)
        tx.run(SESSION, id=session_id, now=now)
        execute(tx, "UPDATE sessions SET lease_token = %(token)s", token=LEASE_TOKEN)
    return KnowledgeTenant(database, principal, session_id, now, WordEmbedder())


@pytest.fixture
def library(database: Database, now: datetime) -> KnowledgeTenant:
    return open_knowledge_tenant(database, "acme", now)


@pytest.fixture
def other_library(library: KnowledgeTenant, database: Database, now: datetime) -> KnowledgeTenant:
    return open_knowledge_tenant(database, "brick", now)
