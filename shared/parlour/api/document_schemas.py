"""Documents as they go in and out as JSON. A document is named by its handle (`document/site-notes`) or its id."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from parlour.api.schemas import Clearance, PackText, RequestModel, ResponseModel
from parlour.documents.authored_documents import MAX_CONTENT_CHARS

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
    """What is known of a document apart from its text.

    length        characters of its text.
    project       the project whose tree it is in; `about`: the record that a pack's document is about.
    origin        pack: it came with the tenant's pack; people: people or agents wrote it here.
    left_pack_at  since when the applied pack has it no more.
    """

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
    origin: Literal["pack", "people"]
    about: str | None
    left_pack_at: datetime | None
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


class DocumentPageView(ResponseModel):
    """Documents, the last changed first; `next_cursor` reads on, "" when these are the last."""

    documents: list[DocumentView]
    next_cursor: str


class DocumentTreeView(ResponseModel):
    """A project's documents in the order of its tree, every parent before its children."""

    documents: list[TreeDocumentView]
