"""Which documents there are, for whoever may see them: by name, the newest, a project's tree; and their text."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from parlour.infra.errors import InvalidRequest, NotFound
from parlour.infra.jsonable import canonical
from parlour.infra.postgres import Transaction
from parlour.knowledge.documents import pages, store, tree
from parlour.knowledge.documents.pages import Page
from parlour.knowledge.documents.store import Document, ProjectDocument, Sight
from parlour.knowledge.documents.tree import Line, Node, Placed
from parlour.knowledge.records import entities
from parlour.knowledge.records.cursor import place
from parlour.knowledge.records.record import Entity, Ref, shown
from parlour.knowledge.search.found import Found
from parlour.principal import Principal

__all__ = ["Document", "Listed", "Sight", "Tree"]

PROJECT = "project"
"""The kind of record that has a tree of documents."""

_HANDLE = "document/"
_TELLING = 80
"""Characters by which a piece is known in a text."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Some documents, newest change first, and where to read on: "" when these are the last."""

    documents: Sequence[Document]
    next_cursor: str = ""


@dataclass(frozen=True, slots=True)
class Tree:
    """A project's documents as a reader sees them.

    placed   the tree, every parent before what stands under it.
    others   documents about the project, or about what belongs to it, that have no place in the tree.
    by_id    all of these.
    nodes    every place, also of documents that the reader may not see.
    """

    project: Entity
    placed: Sequence[Placed]
    others: Sequence[Document]
    by_id: Mapping[UUID, Document]
    nodes: Mapping[UUID, Node]

    def lines(self) -> list[Line]:
        """What an outline says of each, in order."""
        return _lines(self.placed, self.others, self.by_id)


def sight(principal: Principal, team_id: UUID | None = None) -> Sight:
    """What the principal may see, in a conversation of that team's: whoever works for the tenant sees every team's
    documents, its users those of the team that they talk to."""
    return Sight(principal.clearance, team_id, principal.kind != "user")


def find(principal: Principal, tx: Transaction, ref: Ref, team_id: UUID | None = None) -> Document:
    """A document by its handle, key or id; NotFound also when the reader may not see it."""
    found, missing = find_many(principal, tx, [ref], team_id)
    if missing:
        raise NotFound(f"there is no document {shown(ref)}; list the documents for their names")
    return found[0]


def find_many(
    principal: Principal, tx: Transaction, refs: Sequence[Ref], team_id: UUID | None = None
) -> tuple[list[Document], list[str]]:
    """The documents so named, in order, and the names of which there is none (for this reader)."""
    keys = {ref: _named(ref) for ref in refs}
    ids = [key for key in keys.values() if isinstance(key, UUID)]
    names = [key for key in keys.values() if isinstance(key, str)]
    rows = store.named_documents(tx, sight(principal, team_id), ids, names)
    known: dict[UUID | str, Document] = {row.id: row for row in rows} | {row.key: row for row in rows}
    found = dict.fromkeys(known[key] for key in keys.values() if key in known)
    return list(found), [shown(ref) for ref, key in keys.items() if key not in known]


def newest(
    principal: Principal, tx: Transaction, cursor: str = "", most: int = 20, team_id: UUID | None = None
) -> Listed:
    """Documents of the whole tenant, those changed last first; InvalidRequest for a cursor that is none."""
    after = place(cursor) if cursor else None
    rows = store.newest_documents(tx, sight(principal, team_id), after, most + 1)
    return Listed(rows[:most], _behind(rows[most - 1]) if len(rows) > most else "")


def project(principal: Principal, tx: Transaction, ref: Ref) -> Entity:
    """A project; NotFound when there is none that the principal may see, InvalidRequest for another kind of record."""
    found = entities.read(principal, tx, ref)
    if found.type != PROJECT:
        raise InvalidRequest(f"project: {found.handle} is a {found.type}; only a project has a tree of documents")
    return found


def of_project(principal: Principal, tx: Transaction, ref: Ref, team_id: UUID | None = None) -> Tree:
    """A project's documents with their places. Errors as for `project`."""
    return tree_of(principal, tx, project(principal, tx, ref), team_id)


def tree_of(principal: Principal, tx: Transaction, home: Entity, team_id: UUID | None = None) -> Tree:
    """The documents of a project that was read already: one query, and no text."""
    rows = store.project_documents(tx, sight(principal, team_id), home.id)
    placed, others, known, nodes = _placed(rows)
    return Tree(home, placed, others, known, nodes)


def lines_of(principal: Principal, tx: Transaction, project_id: UUID, team_id: UUID | None = None) -> list[Line]:
    """What an outline says of each document of a project that the principal is known to see, in order: one query."""
    placed, others, known, _ = _placed(store.project_documents(tx, sight(principal, team_id), project_id))
    return _lines(placed, others, known)


def _placed(
    rows: Sequence[ProjectDocument],
) -> tuple[Sequence[Placed], Sequence[Document], dict[UUID, Document], dict[UUID, Node]]:
    """The tree as its reader sees it, what has no place in it, all of these by id, and every place."""
    nodes = _nodes(rows)
    known: dict[UUID, Document] = {row.id: row for row in rows if row.visible}
    return tree.seen(nodes, known), _by_change([row for row in rows if row.position is None]), known, nodes


def _lines(placed: Sequence[Placed], others: Sequence[Document], known: Mapping[UUID, Document]) -> list[Line]:
    tops = [Placed(document.id, None, 0, 0, 0) for document in others]
    return [_line(known[one.document_id], one.depth) for one in (*placed, *tops)]


def places(principal: Principal, tx: Transaction, project_id: UUID) -> dict[UUID, Node]:
    """Every place of a project's tree, whoever may see what stands there."""
    return _nodes(store.project_documents(tx, sight(principal), project_id))


def text(tx: Transaction, document: Document) -> str:
    """The whole text of a document that was found."""
    return store.content(tx, document.id)


def piece_of(principal: Principal, tx: Transaction, document: Document, page: Page) -> Found | None:
    """The first searchable piece of a document that stands on a page, to cite the page by; its very first piece when
    none is told from the others."""
    pieces = store.pieces(tx, document.id, principal.clearance)
    names = {*page.heading[-1:], *(heading.text for heading in pages.headings(page.contents))}
    there = [piece for piece in pieces if _tells(piece) and _tells(piece) in page.contents]
    under = [piece for piece in there if str(piece.metadata.get("heading") or "").rpartition(" > ")[2] in names]
    return next(iter(under or there or pieces), None)


def _tells(piece: Found) -> str:
    """What a piece is known by in its text: how it ends. It may begin with a header or a line that is repeated."""
    return piece.body.strip().rpartition("\n")[2][-_TELLING:]


def _named(ref: Ref) -> UUID | str:
    """An id, or the key that the document has."""
    if isinstance(ref, UUID):
        return ref
    try:
        return UUID(ref.strip())
    except ValueError:
        return ref.strip().removeprefix(_HANDLE).replace("\0", "").encode(errors="ignore").decode()


def _nodes(rows: Sequence[ProjectDocument]) -> dict[UUID, Node]:
    return {row.id: Node(row.id, row.parent_id, row.position) for row in rows if row.position is not None}


def _by_change(rows: Sequence[ProjectDocument]) -> list[Document]:
    return sorted(rows, key=lambda row: row.updated_at, reverse=True)


def _behind(document: Document) -> str:
    """The cursor behind a document; read with `place`, as those of records."""
    told = canonical([document.updated_at.isoformat(), document.key])
    return base64.urlsafe_b64encode(told.encode()).decode().rstrip("=")


def _line(document: Document, depth: int) -> Line:
    return Line(
        document.handle, document.title, document.description, document.length, depth, document.is_context
    )  # fmt: skip
