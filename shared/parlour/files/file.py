"""A file as its readers see it, and what it takes to upload one. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

UPLOAD_FORM_LIFETIME = timedelta(minutes=15)
"""How long a form takes a version's bytes."""

type FileState = Literal["uploading", "queued", "parsing", "embedding", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class File:
    """A file that somebody uploaded.

    about    the handle of the record that it is about, "type/key"; None also when the reader may not see that one.
    team     the slug of the team whose own it is; None for everybody's.
    state    uploading, queued, parsing (being read), embedding (keywords find it, meaning soon will), ready; or failed,
             with the `problem` in a sentence. One that is queued has a problem while it waits for what was away.
    pages    pages, slides or sheets; None until it was read, as are `tokens` of its text and `chunks`, its rows.
    version  counts its uploads, from 1.
    written_by_others  whether what a model reads of it counts as untrusted text.
    """

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


@dataclass(frozen=True, slots=True)
class FileQuery:
    """Which files are listed: those about a record (id or handle), of a team (slug), with a text in their name; None
    leaves a part open."""

    about: UUID | str | None = None
    team: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file to upload: about a record (its id or handle), or a team's own, or everybody's.

    classification  None: what the record's kind says, or what the record has, whichever is higher. Never lower than
                    what the record has.
    written_by_others  False: the editor says that it is the tenant's own text.
    """

    name: str
    size_bytes: int
    about: str | None = None
    team: str | None = None
    classification: int | None = None
    written_by_others: bool = True


def file_object_key(tenant_id: UUID, file_id: UUID, version: int) -> str:
    """Where the bytes of one version are kept."""
    return f"tenant/{tenant_id}/files/{file_id}/{version}"


def extracted_object_key(object_key: str) -> str:
    """Where the text of a version is handed over: for seconds; the bucket deletes what a dead worker left there."""
    return f"extracted/{object_key}"
