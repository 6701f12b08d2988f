"""Documents: a project's tree, and what is written in it. Members with the role editor write; viewers read."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field, StringConstraints

from parlour.api.authorization import Editor, Reader
from parlour.api.schemas import Clearance, PackText, RequestModel, ResponseModel
from parlour.documents import authored_documents, catalogue
from parlour.documents.authored_documents import MAX_CONTENT_CHARS, DocumentPatch
from parlour.documents.catalogue import Document, DocumentTree

router = APIRouter(prefix="/v1", tags=["documents"])

Limit = Annotated[int, Query(ge=1, le=100)]
Cursor = Annotated[str, Query(max_length=400)]
Version = Annotated[int, Field(ge=1, description="the version you read; the request fails if there is a newer one")]
Title = Annotated[PackText, StringConstraints(min_length=1, max_length=300)]
ShortText = Annotated[PackText, StringConstraints(max_length=1_000)]
Content = Annotated[PackText, StringConstraints(max_length=MAX_CONTENT_CHARS)]
Handle = Annotated[PackText, StringConstraints(min_length=1, max_length=400)]
Position = Annotated[int, Field(ge=0, le=100_000, description="position among its siblings, from 0; default: last")]


class NewDocumentBody(RequestModel):
    """A document to write; with a project it gets a place in its tree."""

    title: Title
    description: ShortText = ""
    content: Content = ""
    project: Handle | None = None
    parent: Handle | None = None
    position: Position | None = None
    state: ShortText = "draft"
    key: Annotated[PackText, StringConstraints(max_length=100)] = ""
    classification: Clearance | None = None


class DocumentPatchBody(RequestModel):
    """What to change; what is left out stays."""

    title: Title | None = None
    description: ShortText | None = None
    content: Content | None = None
    state: ShortText | None = None
    classification: Clearance | None = None
    version: Version | None = None


class DocumentPosition(RequestModel):
    """Where a document is to stand in its project's tree; no parent: at the top."""

    parent: Handle | None = None
    position: Position | None = None


class DocumentView(ResponseModel):
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


class DocumentTextView(DocumentView):
    """A document with its text."""

    content: str


class TreeDocumentView(DocumentView):
    """A document in a tree: how deep and as which of its siblings, from 0; null for one about the project that has no
    place in its tree."""

    depth: int | None
    position: int | None
    parent: str | None


@router.get("/projects/{ref:path}/documents")
def list_project_documents(ref: Handle, caller: Reader) -> dict[str, list[TreeDocumentView]]:
    """List a project's documents in the order of its tree, every parent before its children; without texts."""
    with caller.transaction() as tx:
        return {"documents": _tree_views(catalogue.read_project_tree(caller.principal, tx, ref))}


@router.get("/documents")
def list_documents(caller: Reader, cursor: Cursor = "", limit: Limit = 20) -> dict[str, list[DocumentView] | str]:
    """Documents of the whole tenant, those changed last first; no text."""
    with caller.transaction() as tx:
        listed = catalogue.list_newest_documents(caller.principal, tx, cursor, limit)
    documents = [DocumentView.model_validate(document) for document in listed.documents]
    return {"documents": documents, "next_cursor": listed.next_cursor}


@router.post("/documents", status_code=201)
def create_document(wanted: NewDocumentBody, caller: Editor) -> DocumentView:
    """Write a document."""
    with caller.transaction() as tx:
        document = authored_documents.create_document(
            caller.principal, tx, authored_documents.NewDocument(**wanted.model_dump()), now=caller.now
        )
    caller.request_embedding()
    return DocumentView.model_validate(document)


@router.put("/documents/{ref:path}/place")
def move_document(ref: Handle, place: DocumentPosition, caller: Editor) -> dict[str, list[TreeDocumentView]]:
    """Move a document, and what stands under it, within its project's tree; the tree as it is then."""
    with caller.transaction() as tx:
        document = authored_documents.move_document(caller.principal, tx, ref, place.parent, place.position)
        if document.project_id is None:
            raise LookupError("a document that was moved is in a tree")
        return {"documents": _tree_views(catalogue.read_project_tree(caller.principal, tx, document.project_id))}


@router.get("/documents/{ref:path}")
def get_document(ref: Handle, caller: Reader) -> DocumentTextView:
    """Return a document with its whole text."""
    with caller.transaction() as tx:
        document = catalogue.get_document(caller.principal, tx, ref)
        shown = DocumentView.model_validate(document)
        return DocumentTextView(**shown.model_dump(), content=catalogue.read_text(tx, document))


@router.patch("/documents/{ref:path}")
def update_document(ref: Handle, change: DocumentPatchBody, caller: Editor) -> DocumentView:
    """Change a document that was written here; one that came with a pack is changed there."""
    revision = DocumentPatch(**change.model_dump())
    with caller.transaction() as tx:
        document = authored_documents.revise_document(caller.principal, tx, ref, revision, caller.now)
    caller.request_embedding()
    return DocumentView.model_validate(document)


@router.delete("/documents/{ref:path}", status_code=204)
def delete_document(ref: Handle, caller: Editor, version: Annotated[int | None, Query(ge=1)] = None) -> None:
    """Take a document away; what stood under it takes its place in the tree."""
    with caller.transaction() as tx:
        authored_documents.delete_document(caller.principal, tx, ref, version, caller.now)
    caller.request_embedding()


def _tree_views(seen: DocumentTree) -> list[TreeDocumentView]:
    placed = [
        _tree_view(seen.by_id[one.document_id], one.depth, one.position, seen, one.parent_id) for one in seen.entries
    ]
    return [*placed, *(_tree_view(document, None, None, seen, None) for document in seen.unplaced)]


def _tree_view(
    document: Document, depth: int | None, position: int | None, seen: DocumentTree, parent_id: UUID | None
) -> TreeDocumentView:
    shown = {**DocumentView.model_validate(document).model_dump(), "project": document.project or seen.project.handle}
    parent = seen.by_id[parent_id].handle if parent_id else None
    return TreeDocumentView(**shown, depth=depth, position=position, parent=parent)
