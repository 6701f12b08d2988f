"""Files: somebody starts an upload, sends the bytes to the bucket themselves, and says that they are there."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.authorization import Editor, Reader
from parlour.api.file_schemas import (
    DeletedFileView,
    FileDownload,
    FilePageView,
    FileView,
    NewFileVersion,
    NewUpload,
    UploadCompletion,
    UploadStarted,
)
from parlour.api.schemas import PageCursor, SingleLine
from parlour.files import uploads
from parlour.files.file import FileQuery, NewFile
from parlour.infra.ids import uuid7

router = APIRouter(prefix="/v1/files", tags=["files"])

Limit = Annotated[int, Query(ge=1, le=200)]
About = Annotated[str, Query(max_length=200, description="a record's id or handle, like project/NRS")]
SearchText = Annotated[SingleLine | None, Query(description="only those with this in their name")]
Team = Annotated[str, Query(max_length=63, description="a team's slug")]


@router.post("", status_code=201)
def start_upload(wanted: NewUpload, caller: Editor) -> UploadStarted:
    """Say what will be uploaded; the answer is a form to POST it with (multipart, the fields first, then `file`)."""
    services = caller.dependencies
    new = NewFile(**wanted.model_dump(exclude={"media_type"}))
    file_id = uuid7(caller.now)
    with caller.transaction() as tx:
        started = uploads.start_upload(caller.principal, tx, services.upload_bucket, new, caller.now, file_id)
    return UploadStarted.model_validate(started)


@router.post("/{file_id}/versions", status_code=201)
def start_new_version(file_id: UUID, wanted: NewFileVersion, caller: Editor) -> UploadStarted:
    """Start the upload of a new version of a file; the one before is found until the new one was read."""
    with caller.transaction() as tx:
        started = uploads.start_new_version(
            caller.principal, tx, caller.dependencies.upload_bucket, file_id, wanted.name, wanted.size_bytes
        )
    return UploadStarted.model_validate(started)


@router.post("/{file_id}/complete", status_code=202)
def complete_upload(file_id: UUID, caller: Editor, body: UploadCompletion | None = None) -> FileView:
    """Have an uploaded file read. Repeating the request is harmless."""
    services, said = caller.dependencies, body or UploadCompletion()
    with services.databases.borrow() as database:
        file = uploads.complete_upload(
            caller.principal,
            database,
            services.upload_bucket,
            services.ingest_queue,
            uploads.UploadedVersion(file_id, said.version, said.name, said.written_by_others),
            caller.now,
        )
    return FileView.model_validate(file)


@router.get("")
def list_files(
    caller: Reader,
    about: About = "",
    team: Team = "",
    text: SearchText = None,
    cursor: PageCursor = "",
    limit: Limit = 100,
) -> FilePageView:
    """List the files about a record, of a team, or all, those without a record too; the last changed first."""
    with caller.transaction() as tx:
        wanted = FileQuery(about or None, team or None, text)
        page = uploads.list_files(caller.principal, tx, wanted, cursor, limit)
    return FilePageView.model_validate({"files": page.rows, "next_cursor": page.next_cursor})


@router.get("/{file_id}")
def get_file(file_id: UUID, caller: Reader) -> FileView:
    """One file: how far it is, and why not further."""
    with caller.transaction() as tx:
        return FileView.model_validate(uploads.get_file(caller.principal, tx, file_id))


@router.get("/{file_id}/content")
def get_download(file_id: UUID, caller: Reader) -> FileDownload:
    """Return an address to download the file from, valid for a minute. Browsers save it, whatever it is."""
    services = caller.dependencies
    with services.databases.borrow() as database:
        found = uploads.get_download(caller.principal, database, services.upload_bucket, file_id, caller.now)
    return FileDownload.model_validate(found)


@router.delete("/{file_id}")
def delete_file(file_id: UUID, caller: Editor) -> DeletedFileView:
    """Take a file away, and everything that was made of it."""
    services = caller.dependencies
    with services.databases.borrow() as database:
        uploads.delete_file(caller.principal, database, services.upload_bucket, file_id, caller.now)
    caller.request_embedding()
    return DeletedFileView(deleted=True)
