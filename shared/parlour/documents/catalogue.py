"""Which documents there are, for whoever may see them: by name, the newest, a project's tree; and their text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from parlour.documents import pages, store, tree
from parlour.documents.pages import TextPage
from parlour.documents.store import Document, ReaderAccess, TreeDocument
from parlour.documents.tree import OutlineLine, TreeNode, VisibleNode
from parlour.infra.errors import InvalidRequest, NotFound
from parlour.infra.page_cursor import decode_cursor, encode_cursor
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.records import crud
from parlour.records.record import Record, RecordRef, printable_reference
from parlour.search.results import SearchResult

__all__ = ["Document", "DocumentPage", "DocumentTree", "ReaderAccess"]

PROJECT_TYPE = "project"
"""The kind of record that has a tree of documents."""

_HANDLE = "document/"
_IDENTIFYING_CHARS = 80
"""Characters by which a piece is known in a text."""


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Some documents, newest change first, and where to read on: "" when these are the last."""

    documents: Sequence[Document]
    next_cursor: str = ""


@dataclass(frozen=True, slots=True)
class DocumentTree:
    """A project's documents as a reader sees them.

    entries   the tree, every parent before its children.
    unplaced  documents about the project, or about what belongs to it, that have no place in the tree.
    by_id     all of these.
    nodes     every place, also of documents that the reader may not see.
    """

    project: Record
    entries: Sequence[VisibleNode]
    unplaced: Sequence[Document]
    by_id: Mapping[UUID, Document]
    nodes: Mapping[UUID, TreeNode]

    def outline_lines(self) -> list[OutlineLine]:
        """Return an outline line for each document, in order."""
        return _outline_lines(self.entries, self.unplaced, self.by_id)


def reader_access(principal: Principal, team_id: UUID | None = None) -> ReaderAccess:
    """Return what the principal may see in a conversation of that team's.

    Who works for the tenant sees every team's documents, a user only those of the team that they talk to.
    """
    return ReaderAccess(principal.clearance, team_id, principal.kind != "user")


def get_document(principal: Principal, tx: Transaction, ref: RecordRef, team_id: UUID | None = None) -> Document:
    """Return a document by its handle, key or id; NotFound also when the reader may not see it."""
    found, missing = find_documents(principal, tx, [ref], team_id)
    if missing:
        raise NotFound(f"document {printable_reference(ref)} not found; list the documents for their handles")
    return found[0]


def find_documents(
    principal: Principal, tx: Transaction, refs: Sequence[RecordRef], team_id: UUID | None = None
) -> tuple[list[Document], list[str]]:
    """Return the named documents, in order, and the names of which the reader has none."""
    keys = {ref: _parse_reference(ref) for ref in refs}
    ids = [key for key in keys.values() if isinstance(key, UUID)]
    names = [key for key in keys.values() if isinstance(key, str)]
    rows = store.find_documents(tx, reader_access(principal, team_id), ids, names)
    known: dict[UUID | str, Document] = {row.id: row for row in rows} | {row.key: row for row in rows}
    found = dict.fromkeys(known[key] for key in keys.values() if key in known)
    return list(found), [printable_reference(ref) for ref, key in keys.items() if key not in known]


def list_newest_documents(
    principal: Principal,
    tx: Transaction,
    cursor: str = "",
    limit: int = 20,
    team_id: UUID | None = None,
    text: str | None = None,
) -> DocumentPage:
    """Documents of the whole tenant, those changed last first; InvalidRequest for a cursor that is none.

    text  only those with this in their key, title or description.
    """
    after = decode_cursor(cursor) if cursor else None
    rows = store.list_newest_documents(tx, reader_access(principal, team_id), after, limit + 1, text)
    last = rows[limit - 1] if len(rows) > limit else None
    return DocumentPage(rows[:limit], encode_cursor(last.updated_at, last.key) if last else "")


def get_project(principal: Principal, tx: Transaction, ref: RecordRef) -> Record:
    """Return a project; NotFound when the principal may not see one of that name, InvalidRequest for another type."""
    found = crud.get_record(principal, tx, ref)
    if found.type != PROJECT_TYPE:
        raise InvalidRequest(f"project: {found.handle} is a {found.type}; only a project has a tree of documents")
    return found


def read_project_tree(
    principal: Principal, tx: Transaction, ref: RecordRef, team_id: UUID | None = None
) -> DocumentTree:
    """Return a project's documents with their places. Raises as `get_project`."""
    return read_tree(principal, tx, get_project(principal, tx, ref), team_id)


def read_tree(principal: Principal, tx: Transaction, project: Record, team_id: UUID | None = None) -> DocumentTree:
    """Return the documents of a project that was read already, without their texts; one query."""
    rows = store.list_tree_documents(tx, reader_access(principal, team_id), project.id)
    placed, others, known, nodes = _build_tree(rows)
    return DocumentTree(project, placed, others, known, nodes)


def read_outline_lines(
    principal: Principal, tx: Transaction, project_id: UUID, team_id: UUID | None = None
) -> list[OutlineLine]:
    """Return the outline lines of a project that the principal is known to see, in order; one query."""
    placed, others, known, _ = _build_tree(store.list_tree_documents(tx, reader_access(principal, team_id), project_id))
    return _outline_lines(placed, others, known)


def _build_tree(
    rows: Sequence[TreeDocument],
) -> tuple[Sequence[VisibleNode], Sequence[Document], dict[UUID, Document], dict[UUID, TreeNode]]:
    """Return the tree as its reader sees it, the documents without a place, all of these by id, and every place."""
    nodes = _nodes(rows)
    known: dict[UUID, Document] = {row.id: row for row in rows if row.is_visible}
    unplaced = [row for row in rows if row.position is None]
    newest_first = sorted(unplaced, key=lambda row: row.updated_at, reverse=True)
    return tree.visible_nodes(nodes, known), newest_first, known, nodes


def _outline_lines(
    placed: Sequence[VisibleNode], others: Sequence[Document], known: Mapping[UUID, Document]
) -> list[OutlineLine]:
    tops = [VisibleNode(document.id, None, 0, 0, 0) for document in others]
    shown = ((known[node.document_id], node.depth) for node in (*placed, *tops))
    return [
        OutlineLine(document.handle, document.title, document.description, document.length, depth, document.is_context)
        for document, depth in shown
    ]


def read_tree_nodes(principal: Principal, tx: Transaction, project_id: UUID) -> dict[UUID, TreeNode]:
    """Every place of a project's tree, whoever may see what stands there."""
    return _nodes(store.list_tree_documents(tx, reader_access(principal), project_id))


def read_text(tx: Transaction, document: Document) -> str:
    """Return the whole text of a document that was found."""
    return store.read_text(tx, document.id)


def find_rows_on_page(
    principal: Principal, tx: Transaction, document: Document, content: str, page: TextPage
) -> list[tuple[str, SearchResult | None]]:
    """Return the text of a page in parts, each with the searchable row that it is cited by.

    A part is what stands under one heading on one page of the original. One without a row of its own joins the next.
    """
    rows = store.list_document_rows(tx, document.id, principal.clearance)
    parts: list[tuple[str, SearchResult | None]] = []
    pending = ""
    for part in pages.split_page(content, page):
        row = _find_row(rows, part)
        if row is None:
            pending += part.text
        elif parts and parts[-1][1] == row:
            parts[-1] = (parts[-1][0] + pending + part.text, row)
            pending = ""
        else:
            parts.append((pending + part.text, row))
            pending = ""
    if pending:
        text, row = parts.pop() if parts else ("", next(iter(rows), None))
        parts.append((text + pending, row))
    return parts


def _find_row(rows: Sequence[SearchResult], part: TextPage) -> SearchResult | None:
    """Return the first row under the heading of a part, preferably one whose text it has.

    Rows leave out a heading that repeats the title.
    """
    name = part.heading[-1] if part.heading else ""
    headings = [(row, str(row.metadata.get("heading") or "")) for row in rows]
    under = [row for row, heading in headings if name and f" > {heading}".endswith(f" > {name}")]
    unnamed = [row for row, heading in headings if not heading]
    there = [row for row in (*under, *unnamed) if _last_line(row) and _last_line(row) in part.text]
    return next(iter(there or under), None)


def _last_line(piece: SearchResult) -> str:
    """Return how a row's text ends, which identifies it: it may begin with a repeated header or line."""
    return piece.body.strip().rpartition("\n")[2][-_IDENTIFYING_CHARS:]


def _parse_reference(ref: RecordRef) -> UUID | str:
    """Return an id, or the document's key."""
    if isinstance(ref, UUID):
        return ref
    try:
        return UUID(ref.strip())
    except ValueError:
        return ref.strip().removeprefix(_HANDLE).replace("\0", "").encode(errors="ignore").decode()


def _nodes(rows: Sequence[TreeDocument]) -> dict[UUID, TreeNode]:
    return {row.id: TreeNode(row.id, row.parent_id, row.position) for row in rows if row.position is not None}
