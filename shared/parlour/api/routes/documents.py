"""Documents: a project's tree, and what is written in it. Members with the role editor write; viewers read."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field, StringConstraints

from parlour.api.access import Editor, Reader
from parlour.api.schemas import Asked, Clearance, PackText, Told
from parlour.infra.postgres import Transaction
from parlour.knowledge.documents import catalogue, written
from parlour.knowledge.documents.catalogue import Document, Tree
from parlour.knowledge.documents.written import LONGEST, Revision

router = APIRouter(prefix="/v1", tags=["documents"])

Most = Annotated[int, Query(ge=1, le=100)]
Cursor = Annotated[str, Query(max_length=400)]
Version = Annotated[int, Field(ge=1, description="the version that was read; refused when there is a newer one")]
Title = Annotated[PackText, StringConstraints(min_length=1, max_length=300)]
Short = Annotated[PackText, StringConstraints(max_length=1_000)]
Content = Annotated[PackText, StringConstraints(max_length=LONGEST)]
Handle = Annotated[PackText, StringConstraints(min_length=1, max_length=400)]
Position = Annotated[int, Field(ge=0, le=100_000, description="from 0 among its siblings; left out: behind the last")]


class NewDocument(Asked):
    """A document to write; with a project it gets a place in its tree."""

    title: Title
    description: Short = ""
    content: Content = ""
    project: Handle | None = None
    parent: Handle | None = None
    position: Position | None = None
    state: Short = "draft"
    key: Annotated[PackText, StringConstraints(max_length=100)] = ""
    classification: Clearance | None = None


class DocumentChange(Asked):
    """What to change; what is left out stays."""

    title: Title | None = None
    description: Short | None = None
    content: Content | None = None
    state: Short | None = None
    classification: Clearance | None = None
    version: Version | None = None


class Place(Asked):
    """Where a document is to stand in its project's tree; no parent: at the top."""

    parent: Handle | None = None
    position: Position | None = None


class DocumentShown(Told):
    """What is known of a document apart from its text. `length`: characters."""

    handle: str
    key: str
    title: str
    description: str
    kind: str
    length: int
    classification: int
    version: int
    state: str
    is_context: bool
    project: str | None
    updated_at: datetime


class DocumentRead(DocumentShown):
    """A document with its text."""

    content: str


class DocumentPlaced(DocumentShown):
    """A document in a tree: how deep and as which of its siblings, from 0; null for one about the project that has no
    place in its tree."""

    depth: int | None
    position: int | None
    parent: str | None


@router.get("/projects/{ref:path}/documents")
def list_tree(ref: Handle, caller: Reader) -> dict[str, list[DocumentPlaced]]:
    """A project's documents in the order of its tree, every parent before what stands under it; no text."""
    with caller.transaction() as tx:
        return {"documents": _tree(catalogue.of_project(caller.principal, tx, ref))}


@router.get("/documents")
def list_documents(caller: Reader, cursor: Cursor = "", most: Most = 20) -> dict[str, list[DocumentShown] | str]:
    """Documents of the whole tenant, those changed last first; no text."""
    with caller.transaction() as tx:
        listed = catalogue.newest(caller.principal, tx, cursor, most)
    documents = [DocumentShown.model_validate(document) for document in listed.documents]
    return {"documents": documents, "next_cursor": listed.next_cursor}


@router.post("/documents", status_code=201)
def create_document(wanted: NewDocument, caller: Editor) -> DocumentShown:
    """Write a document."""
    with caller.transaction() as tx:
        document = written.create(
            caller.principal, tx, **wanted.model_dump(), now=caller.now, new_id=caller.services.new_id
        )  # fmt: skip
    caller.embed_soon()
    return DocumentShown.model_validate(document)


@router.put("/documents/{ref:path}/place")
def move_document(ref: Handle, place: Place, caller: Editor) -> dict[str, list[DocumentPlaced]]:
    """Move a document, and what stands under it, within its project's tree; the tree as it is then."""
    with caller.transaction() as tx:
        document = written.move(caller.principal, tx, ref, place.parent, place.position)
        return {"documents": _tree(catalogue.of_project(caller.principal, tx, _home(document)))}


@router.get("/documents/{ref:path}")
def get_document(ref: Handle, caller: Reader) -> DocumentRead:
    """A document with its whole text."""
    with caller.transaction() as tx:
        return _read(tx, catalogue.find(caller.principal, tx, ref))


@router.patch("/documents/{ref:path}")
def revise_document(ref: Handle, change: DocumentChange, caller: Editor) -> DocumentShown:
    """Change a document that was written here; one that came with a pack is changed there."""
    revision = Revision(**change.model_dump(exclude={"version"}))
    with caller.transaction() as tx:
        document = written.revise(
            caller.principal, tx, ref, revision, change.version, caller.now, caller.services.new_id
        )
    caller.embed_soon()
    return DocumentShown.model_validate(document)


@router.delete("/documents/{ref:path}", status_code=204)
def remove_document(ref: Handle, caller: Editor, version: Annotated[int | None, Query(ge=1)] = None) -> None:
    """Take a document away; what stood under it takes its place in the tree."""
    with caller.transaction() as tx:
        written.remove(caller.principal, tx, ref, version, caller.now, caller.services.new_id)
    caller.embed_soon()


def _home(document: Document) -> UUID:
    if document.project_id is None:
        raise LookupError("a document that was moved is in a tree")
    return document.project_id


def _read(tx: Transaction, document: Document) -> DocumentRead:
    shown = DocumentShown.model_validate(document)
    return DocumentRead(**shown.model_dump(), content=catalogue.text(tx, document))


def _tree(seen: Tree) -> list[DocumentPlaced]:
    placed = [_placed(seen.by_id[one.document_id], one.depth, one.position, seen, one.parent_id) for one in seen.placed]
    return [*placed, *(_placed(document, None, None, seen, None) for document in seen.others)]


def _placed(
    document: Document, depth: int | None, position: int | None, seen: Tree, parent_id: UUID | None
) -> DocumentPlaced:
    shown = {**DocumentShown.model_validate(document).model_dump(), "project": document.project or seen.project.handle}
    parent = seen.by_id[parent_id].handle if parent_id else None
    return DocumentPlaced(**shown, depth=depth, position=position, parent=parent)
