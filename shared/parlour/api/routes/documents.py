"""Documents: a project's tree, and what is written in it. Members with the role editor write; viewers read."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.authorization import Editor, Reader
from parlour.api.document_schemas import (
    DocumentPageView,
    DocumentPatchBody,
    DocumentPosition,
    DocumentTextView,
    DocumentTreeView,
    DocumentView,
    Handle,
    NewDocumentBody,
    TreeDocumentView,
)
from parlour.api.schemas import PageCursor, SingleLine
from parlour.documents import authored_documents, catalogue
from parlour.documents.authored_documents import DocumentPatch
from parlour.documents.catalogue import Document, DocumentTree

router = APIRouter(prefix="/v1", tags=["documents"])

Limit = Annotated[int, Query(ge=1, le=100)]
SearchText = Annotated[SingleLine | None, Query(description="only those with this in key, title or description")]


@router.get("/projects/{ref:path}/documents")
def list_project_documents(ref: Handle, caller: Reader) -> DocumentTreeView:
    """List a project's documents in the order of its tree, every parent before its children; without texts."""
    with caller.transaction() as tx:
        return _tree_view(catalogue.read_project_tree(caller.principal, tx, ref))


@router.get("/documents")
def list_documents(
    caller: Reader, text: SearchText = None, cursor: PageCursor = "", limit: Limit = 20
) -> DocumentPageView:
    """List all documents of the tenant, those without a record too, the last changed first; without their texts."""
    with caller.transaction() as tx:
        listed = catalogue.list_newest_documents(caller.principal, tx, cursor, limit, text=text)
    return DocumentPageView.model_validate(listed)


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
def move_document(ref: Handle, place: DocumentPosition, caller: Editor) -> DocumentTreeView:
    """Move a document, and what stands under it, within its project's tree; the tree as it is then."""
    with caller.transaction() as tx:
        document = authored_documents.move_document(caller.principal, tx, ref, place.parent, place.position)
        if document.project_id is None:
            raise LookupError("a document that was moved is in a tree")
        return _tree_view(catalogue.read_project_tree(caller.principal, tx, document.project_id))


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
    """Delete a document that people wrote, or that left its pack; its children in the tree take its place."""
    with caller.transaction() as tx:
        authored_documents.delete_document(caller.principal, tx, ref, version, caller.now)
    caller.request_embedding()


def _tree_view(seen: DocumentTree) -> DocumentTreeView:
    placed = [
        _placed_view(seen.by_id[one.document_id], one.depth, one.position, seen, one.parent_id) for one in seen.entries
    ]
    unplaced = [_placed_view(document, None, None, seen, None) for document in seen.unplaced]
    return DocumentTreeView(documents=[*placed, *unplaced])


def _placed_view(
    document: Document, depth: int | None, position: int | None, seen: DocumentTree, parent_id: UUID | None
) -> TreeDocumentView:
    shown = {**DocumentView.model_validate(document).model_dump(), "project": document.project or seen.project.handle}
    parent = seen.by_id[parent_id].handle if parent_id else None
    return TreeDocumentView(**shown, depth=depth, position=position, parent=parent)
