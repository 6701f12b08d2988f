"""Bodies of requests and responses about files."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from parlour.api.schemas import Clearance, RequestModel, ResponseModel, SingleLine, Slug
from parlour.files.file import FileState

SizeBytes = Annotated[int, Field(ge=0, le=2**40)]
Handle = Annotated[str, Field(min_length=1, max_length=200)]


class NewUpload(RequestModel):
    """A file to upload: about a record (id or handle), or a team's own, or everybody's. 50 MB at most.

    `media_type` is what the sender takes it for; what it is, its name and its bytes say. `written_by_others` is false
    for the tenant's own text: what a model reads of other files counts as untrusted text, after which calls that change
    something ask a person.
    """

    name: SingleLine
    size_bytes: SizeBytes
    about: Handle | None = None
    team: Slug | None = None
    classification: Clearance | None = None
    written_by_others: bool = True
    media_type: SingleLine | None = None


class NewFileVersion(RequestModel):
    """A new version of a file; without a name it keeps the one it has."""

    size_bytes: SizeBytes
    name: SingleLine | Literal[""] = ""


class UploadCompletion(RequestModel):
    """Which version arrived, as the start of its upload told, and of a later one than the first who wrote it."""

    version: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    name: SingleLine | Literal[""] = ""
    written_by_others: bool = True


class FileView(ResponseModel):
    """A file. `problem` says why a failed one failed and what to do, or what a queued one waits for."""

    id: UUID
    name: str
    media_type: str
    size_bytes: int
    about: str | None
    team: str | None
    classification: int
    state: FileState
    problem: str | None
    pages: int | None
    tokens: int | None
    chunks: int | None
    version: int
    written_by_others: bool
    created_by: str
    created_at: datetime
    updated_at: datetime


class FilePageView(ResponseModel):
    """Files, the last changed first; `next_cursor` reads on, "" when these are the last."""

    files: list[FileView]
    next_cursor: str


class DeletedFileView(ResponseModel):
    """A file that was deleted with everything made of it."""

    deleted: Literal[True]


class FileDownload(ResponseModel):
    """Where to GET a file's bytes, without any credentials, for so many seconds."""

    url: str
    name: str
    size_bytes: int
    seconds: int


class UploadFormView(ResponseModel):
    """Where to POST the file: every field first, then the file as `file`. Good for 15 minutes."""

    url: str
    fields: dict[str, str]


class NewAttachment(RequestModel):
    """Something to upload, to be sent along with a message: 16 MB at most; pictures and text are taken."""

    name: SingleLine
    size_bytes: SizeBytes


class AttachmentStarted(ResponseModel):
    """Something that is about to arrive; a message sends it along by its id."""

    id: UUID
    name: str
    upload: UploadFormView


class UploadStarted(ResponseModel):
    """A file that is about to arrive."""

    file: FileView
    version: int
    upload: UploadFormView = Field(validation_alias="form")
