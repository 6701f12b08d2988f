"""Documents in the database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.documents.tree import TreeNode
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.search.results import SearchResult

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document's id, key, the hash of what it was made from, and the entity it is about; `written`: by somebody here,
    not by a pack."""

    id: UUID
    key: str
    content_hash: str
    entity_id: UUID | None
    is_authored: bool


@dataclass(frozen=True, slots=True)
class DocumentWithText:
    """A document with its text, and the entity it is about, if any."""

    key: str
    title: str
    kind: str
    content: str
    classification: int
    metadata: JsonObject
    entity_type: str | None
    entity_key: str | None


@dataclass(frozen=True, slots=True)
class ReaderAccess:
    """What a reader may see: up to a clearance, and the documents of one team or of every team besides everybody's."""

    clearance: int
    team_id: UUID | None
    sees_all_teams: bool

    @property
    def parameters(self) -> dict[str, object]:
        return {"clearance": self.clearance, "team_id": self.team_id, "every_team": self.sees_all_teams}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What is known of a document apart from its text.

    length              characters of its text.
    version             counts the changes of its text, title and description, from 1.
    team_id             the team that owns it; None is every team's.
    own_entity_id       its own record, when it was written as one; a pack's documents have none.
    own_entity_version  that record's version.
    project             the handle of the project whose tree it is in; None also when the reader may not see that one.
    left_pack_at        since when its pack has it no more; None while it has it, and for what people wrote.
    about               the handle of the record that a pack's document is about; None also when that is not visible.
    """

    id: UUID
    key: str
    title: str
    description: str
    kind: str
    length: int
    classification: int
    version: int
    state: str
    is_context: bool
    team_id: UUID | None
    own_entity_id: UUID | None
    own_entity_version: int | None
    project_id: UUID | None
    project: str | None
    updated_at: datetime
    left_pack_at: datetime | None
    about: str | None

    @property
    def origin(self) -> Literal["pack", "people"]:
        """Who brought it: a pack, or people and agents here."""
        return "pack" if self.own_entity_id is None else "people"

    @property
    def handle(self) -> str:
        """How people, the API and tools name it."""
        return f"document/{self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeDocument(Document):
    """A document about a project with its place in the tree; `position` is None without one. What is not `visible`
    is a place only."""

    parent_id: UUID | None
    position: int | None
    is_visible: bool


@dataclass(frozen=True, slots=True)
class RecordDocument:
    """A record's own document: the project whose tree it is in, and the project that its record is in."""

    id: UUID
    project_id: UUID | None
    record_project_id: UUID | None
    is_context: bool
    description: str
    content_hash: str
    version: int


@dataclass(frozen=True, slots=True)
class _RecordOfDocument:
    entity_id: UUID | None


@dataclass(frozen=True, slots=True)
class _Text:
    content: str


@dataclass(frozen=True, slots=True)
class _Id:
    id: UUID


def find_stored_documents(tx: Transaction, keys: Sequence[str]) -> list[StoredDocument]:
    return tx.all(SQL["stored_documents"], StoredDocument, keys=list(keys))


def list_pack_documents(tx: Transaction) -> list[StoredDocument]:
    return tx.all(SQL["pack_documents"], StoredDocument)


def free_deleted_keys(tx: Transaction, keys: Sequence[str]) -> int:
    """Let what was deleted go on under other names. How many that were."""
    return tx.run(SQL["free_document_keys"], keys=list(keys))


def upsert_documents(tx: Transaction, rows: Sequence[Mapping[str, object]]) -> None:
    tx.run_many(SQL["upsert_document"], rows)


def list_all_documents(tx: Transaction, clearance: int) -> list[DocumentWithText]:
    return tx.all(SQL["all_documents"], DocumentWithText, clearance=clearance)


def list_documents_with_text(tx: Transaction, keys: Sequence[str]) -> list[DocumentWithText]:
    return tx.all(SQL["documents_with_text"], DocumentWithText, keys=list(keys))


def delete_pack_documents(tx: Transaction, keys: Sequence[str], now: datetime) -> list[UUID | None]:
    """Delete documents with their rows; the record that each is about, or None."""
    found = tx.all(SQL["delete_pack_documents"], _RecordOfDocument, keys=list(keys), now=now)
    return [row.entity_id for row in found]


def find_documents(tx: Transaction, sight: ReaderAccess, ids: Sequence[UUID], keys: Sequence[str]) -> list[Document]:
    return tx.all(SQL["find_documents"], Document, ids=list(ids), keys=list(keys), **sight.parameters)


def list_newest_documents(
    tx: Transaction, sight: ReaderAccess, after: tuple[datetime, str] | None, limit: int, text: str | None
) -> list[Document]:
    at, key = after or (None, None)
    wanted = {"after_at": at, "after_key": key, "text": text, "most": limit}
    return tx.all(SQL["list_newest_documents"], Document, **wanted, **sight.parameters)


def mark_documents_left(tx: Transaction, keys: Sequence[str], now: datetime) -> None:
    tx.run(SQL["mark_documents_left"], keys=list(keys), now=now)


def list_tree_documents(tx: Transaction, sight: ReaderAccess, project_id: UUID) -> list[TreeDocument]:
    return tx.all(SQL["list_tree_documents"], TreeDocument, project_id=project_id, **sight.parameters)


def read_text(tx: Transaction, document_id: UUID) -> str:
    return tx.one(SQL["read_text"], _Text, id=document_id).content


def find_document_of_record(tx: Transaction, record_id: UUID) -> RecordDocument | None:
    return tx.first(SQL["find_document_of_record"], RecordDocument, record_id=record_id)


def move_document(tx: Transaction, document_id: UUID, project_id: UUID | None, now: datetime) -> None:
    tx.run(SQL["move_document"], id=document_id, project_id=project_id, now=now)


def add_document(tx: Transaction, columns: Mapping[str, object]) -> bool:
    return tx.run(SQL["add_document"], **columns) > 0


def update_document(tx: Transaction, columns: Mapping[str, object]) -> bool:
    return tx.run(SQL["update_document"], **columns) > 0


def list_document_rows(tx: Transaction, document_id: UUID, clearance: int) -> list[SearchResult]:
    return tx.all(SQL["list_document_rows"], SearchResult, document_id=document_id, clearance=clearance)


def lock_project(tx: Transaction, project_id: UUID) -> None:
    tx.one(SQL["lock_project"], _Id, project_id=project_id)


def add_node(tx: Transaction, project_id: UUID, node: TreeNode) -> None:
    tx.run(
        SQL["add_node"],
        project_id=project_id,
        document_id=node.document_id,
        parent_id=node.parent_id,
        position=node.position,
    )


def move_nodes(tx: Transaction, project_id: UUID, nodes: Sequence[TreeNode]) -> None:
    if nodes:
        tx.run(
            SQL["move_nodes"],
            project_id=project_id,
            document_ids=[node.document_id for node in nodes],
            parent_ids=[node.parent_id for node in nodes],
            positions=[node.position for node in nodes],
        )


def remove_node(tx: Transaction, project_id: UUID, document_id: UUID) -> None:
    tx.run(SQL["remove_node"], project_id=project_id, document_id=document_id)
