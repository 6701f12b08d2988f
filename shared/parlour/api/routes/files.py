"""Files: somebody starts an upload, sends the bytes to the bucket themselves, and says that they are there."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.access import Editor, Reader
from parlour.api.file_shapes import AgainUpload, CompleteUpload, FileContent, FileShown, NewUpload, UploadStarted
from parlour.knowledge.files import uploads
from parlour.knowledge.files.file import NewFile
from parlour.knowledge.files.uploads import Started

router = APIRouter(prefix="/v1/files", tags=["files"])

Most = Annotated[int, Query(ge=1, le=200)]
About = Annotated[str, Query(max_length=200, description="a record's id or handle, like project/NRS")]
Team = Annotated[str, Query(max_length=63, description="a team's slug")]


@router.post("", status_code=201)
def start_upload(wanted: NewUpload, caller: Editor) -> UploadStarted:
    """Say what will be uploaded; the answer is a form to POST it with (multipart, the fields first, then `file`)."""
    services = caller.services
    new = NewFile(wanted.name, wanted.size_bytes, wanted.about, wanted.team, wanted.classification)
    file_id = services.new_id(caller.now)
    with caller.transaction() as tx:
        return _told(uploads.start(caller.principal, tx, services.uploads, new, caller.now, file_id))


@router.post("/{file_id}/versions", status_code=201)
def start_version(file_id: UUID, wanted: AgainUpload, caller: Editor) -> UploadStarted:
    """The same for a new version of a file; the one before is found until this one was read."""
    with caller.transaction() as tx:
        started = uploads.start_again(
            caller.principal, tx, caller.services.uploads, file_id, wanted.name, wanted.size_bytes
        )
    return _told(started)


@router.post("/{file_id}/complete", status_code=202)
def complete_upload(file_id: UUID, caller: Editor, done: CompleteUpload | None = None) -> FileShown:
    """The bytes are there: have them read. Saying so again is harmless."""
    services, said = caller.services, done or CompleteUpload()
    with services.connections.rent() as database:
        file = uploads.complete(
            caller.principal, database, services.uploads, services.ingest, file_id, caller.now,
            version=said.version, name=said.name,
        )  # fmt: skip
    return FileShown.model_validate(file)


@router.get("")
def list_files(caller: Reader, about: About = "", team: Team = "", most: Most = 100) -> dict[str, list[FileShown]]:
    """The files about a record, of a team, or all, the last changed first."""
    with caller.transaction() as tx:
        found = uploads.browse(caller.principal, tx, about or None, team or None, most)
    return {"files": [FileShown.model_validate(file) for file in found]}


@router.get("/{file_id}")
def get_file(file_id: UUID, caller: Reader) -> FileShown:
    """One file: how far it is, and why not further."""
    with caller.transaction() as tx:
        return FileShown.model_validate(uploads.read(caller.principal, tx, file_id))


@router.get("/{file_id}/content")
def get_content(file_id: UUID, caller: Reader) -> FileContent:
    """An address to download the file from, good for a minute. It is saved as a file, whatever it is."""
    services = caller.services
    with services.connections.rent() as database:
        found = uploads.content(caller.principal, database, services.uploads, file_id, caller.now, services.new_id)
    return FileContent.model_validate(found)


@router.delete("/{file_id}")
def delete_file(file_id: UUID, caller: Editor) -> dict[str, bool]:
    """Take a file away, and everything that was made of it."""
    services = caller.services
    with services.connections.rent() as database:
        uploads.delete(caller.principal, database, services.uploads, file_id, caller.now, services.new_id)
    caller.embed_soon()
    return {"deleted": True}


def _told(started: Started) -> UploadStarted:
    return UploadStarted.model_validate(
        {
            "file": FileShown.model_validate(started.file),
            "version": started.version,
            "upload": {"url": started.form.url, "fields": started.form.fields},
        }
    )
