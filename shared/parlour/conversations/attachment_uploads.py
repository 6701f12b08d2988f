"""What somebody on the web sends along with a message: what they upload for it, and files that are there already.

The bytes of an upload never pass through the API: whoever writes in a session gets a form that the object store takes
for one key, so many bytes, and a quarter of an hour. What arrived is looked at when a message names it, and what it is
is told by its bytes. A file of the tenant's is sent along by its words, as they are then.
"""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.channels.attachment_content import (
    MAX_ATTACHMENT_BYTES,
    MAX_IMAGE_BYTES,
    MAX_TEXT_CHARS,
    plain_file_name,
    read_content,
)
from parlour.conversations import store
from parlour.conversations.rows import NewAttachment, NewMessage, NewUpload, PendingUpload, WritableSession
from parlour.files.file import UPLOAD_FORM_LIFETIME
from parlour.files.file_text import FileText, read_file_text
from parlour.infra.errors import AccessRefused, Conflict, InvalidRequest, NotFound, ObjectsUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.objects import UploadForm, UploadStore
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal

MAX_ATTACHMENTS = 5
"""What one message may come with."""

MAX_WAITING_UPLOADS = 20
"""Uploads of a session that no message came with: whoever talks at a public door fills no bucket."""

ABANDONED_AFTER = 4 * UPLOAD_FORM_LIFETIME
"""An upload that no message came with by then is taken away."""

_BINARY_MEDIA_TYPE = "application/octet-stream"
_NO_SESSION = "session not found; open one with POST /v1/sessions"


@dataclass(frozen=True, slots=True)
class AttachmentType:
    """A kind of file that a message may come with; what an upload really is, its bytes say."""

    kind: Literal["image", "text"]
    name: str
    media_type: str
    extensions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AttachmentRules:
    """What a message may come with, so that a page can refuse a file before its upload. refusal: the reason."""

    types: Sequence[AttachmentType]
    refusal: str
    max_count: int = MAX_ATTACHMENTS
    max_bytes: int = MAX_ATTACHMENT_BYTES
    max_image_bytes: int = MAX_IMAGE_BYTES
    max_text_chars: int = MAX_TEXT_CHARS


_TYPES = (
    AttachmentType("image", "JPEG", "image/jpeg", (".jpg", ".jpeg")),
    AttachmentType("image", "PNG", "image/png", (".png",)),
    AttachmentType("image", "GIF", "image/gif", (".gif",)),
    AttachmentType("image", "WebP", "image/webp", (".webp",)),
    AttachmentType("text", "plain", "text/plain", (".txt", ".log")),
    AttachmentType("text", "Markdown", "text/markdown", (".md", ".markdown")),
    AttachmentType("text", "CSV", "text/csv", (".csv",)),
    AttachmentType("text", "JSON", "application/json", (".json",)),
)


_IMAGE_NAMES, _TEXT_NAMES = (", ".join(one.name for one in _TYPES if one.kind == kind) for kind in ("image", "text"))

RULES = AttachmentRules(
    _TYPES, f"cannot be sent with a message; images ({_IMAGE_NAMES}) and text ({_TEXT_NAMES}; UTF-8) are"
)
"""The one description of what is taken: checks, errors and pages use it."""


@dataclass(frozen=True, slots=True)
class AttachmentReference:
    """One thing that a message is to come with: an upload of its session, or a file of the tenant's."""

    upload_id: UUID | None = None
    file_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class StartedUpload:
    """An upload, and the form that it is sent with."""

    id: UUID
    name: str
    upload_form: UploadForm


@dataclass(slots=True)
class _ReferencedContent:
    """What was named, as the database has it; `is_sent` when the message is there already."""

    is_sent: bool = False
    uploads: dict[UUID, PendingUpload] = field(default_factory=dict)
    files: dict[UUID, FileText] = field(default_factory=dict)


def start_upload(
    principal: Principal,
    tx: Transaction,
    media: UploadStore,
    session_id: UUID,
    upload: NewUpload,
    now: datetime,
) -> StartedUpload:
    """Announce an upload in the principal's own session and return its form.

    Deletes the tenant's abandoned uploads on the way. NotFound for another user's session, InvalidRequest for an empty
    file or one over `MAX_ATTACHMENT_BYTES`, Conflict when too many uploads of the session are not sent yet.
    """
    get_own_session(principal, tx, session_id)
    if not 0 < upload.size_bytes <= MAX_ATTACHMENT_BYTES:
        raise InvalidRequest(
            f"size_bytes: 1 byte to {MAX_ATTACHMENT_BYTES // 1024 // 1024} MB can be sent with a message"
        )
    # Take uploads away that were given up, their bytes first: where the store does not do it, somebody
    # tries later.
    if left := store.lock_abandoned_uploads(tx, now - ABANDONED_AFTER, MAX_WAITING_UPLOADS):
        with suppress(AccessRefused, ObjectsUnavailable):
            media.delete([one.object_key for one in left])
            store.delete_uploads(tx, [one.id for one in left])
    key = f"tenant/{principal.tenant_id}/media/{session_id}/{upload.id}"
    upload = replace(upload, name=plain_file_name(upload.name))
    is_started = store.create_upload(
        tx,
        session_id,
        upload,
        object_key=key,
        max_waiting=MAX_WAITING_UPLOADS,
        abandoned_before=now - ABANDONED_AFTER,
        now=now,
    )
    if not is_started:
        raise Conflict(
            f"{MAX_WAITING_UPLOADS} uploads of this session are not sent yet; send some of them, or open a new session"
        )
    form = media.make_upload_form(
        key, _BINARY_MEDIA_TYPE, MAX_ATTACHMENT_BYTES, int(UPLOAD_FORM_LIFETIME.total_seconds())
    )
    return StartedUpload(upload.id, upload.name, form)


def resolve_attachments(
    principal: Principal,
    database: Database,
    media: UploadStore,
    session_id: UUID,
    references: Sequence[AttachmentReference],
    provider_message_id: str,
    now: datetime,
) -> list[NewAttachment]:
    """Return the attachments of a message, checked; none for a message that is stored already under that name.

    Posting a message again is therefore harmless. NotFound for what is not there or not the writer's to see, Conflict
    for what has not arrived, is still being read or was sent with another message, InvalidRequest for what is too large
    or of an unsupported type.
    """
    if not references:
        return []

    def look(tx: Transaction) -> _ReferencedContent:
        session = get_own_session(principal, tx, session_id)
        if store.has_message(tx, session.binding_id, provider_message_id):
            return _ReferencedContent(is_sent=True)
        ids = [one.upload_id for one in references if one.upload_id]
        uploads = {one.id: one for one in store.find_uploads(tx, session_id, ids)}
        files = {
            one.file_id: read_file_text(principal, tx, one.file_id, session.team_id)
            for one in references
            if one.file_id
        }
        return _ReferencedContent(False, uploads, files)

    found = database.run(principal, look)
    if found.is_sent:
        return []
    return [
        _attachment_from_file(found.files[one.file_id], uuid7(now))
        if one.file_id
        else _read_uploaded(media, found, one.upload_id)
        for one in references
    ]


def add_attachments(tx: Transaction, message: NewMessage, attachments: Sequence[NewAttachment]) -> None:
    """Send them along with a message that is stored in the same transaction. Conflict when another message was
    quicker."""
    for place, one in enumerate(attachments):
        if not store.add_attachment(tx, message, place, one):
            raise _already_sent_error(one.name)


def get_own_session(principal: Principal, tx: Transaction, session_id: UUID) -> WritableSession:
    """Return the session, when it is the principal's own; else NotFound."""
    session = store.find_own_session(tx, session_id, principal.id) if principal.id else None
    if session is None:
        raise NotFound(_NO_SESSION)
    return session


def _already_sent_error(name: str) -> Conflict:
    return Conflict(f"attachments: {name} was sent with another message already; upload it again")


def _read_uploaded(media: UploadStore, found: _ReferencedContent, upload_id: UUID | None) -> NewAttachment:
    upload = found.uploads.get(upload_id) if upload_id else None
    if upload is None:
        raise NotFound(f"attachments: upload {upload_id} not found in this session")
    if upload.is_sent:
        raise _already_sent_error(upload.name)
    data = media.get(upload.object_key, MAX_ATTACHMENT_BYTES)
    if data is None:
        raise Conflict(f"attachments: {upload.name} has not arrived; upload it with its form, then send the message")
    file = read_content(data)
    if file.problem == "too_large":
        mb, thousand = MAX_IMAGE_BYTES / 1024 / 1024, MAX_TEXT_CHARS // 1000
        raise InvalidRequest(
            f"attachments: {upload.name} is too large: the limit is {mb:g} MB for an image, {thousand},000 characters "
            "for a text"
        )
    if file.problem:
        raise InvalidRequest(f"attachments: {upload.name} {RULES.refusal}")
    return NewAttachment(
        upload.id,
        file.kind,
        upload.name,
        file.media_type,
        len(data),
        upload.object_key,
        hashlib.sha256(data).hexdigest(),
        file.body,
    )


def _attachment_from_file(file: FileText, attachment_id: UUID) -> NewAttachment:
    if len(file.text) > MAX_TEXT_CHARS:
        raise InvalidRequest(f"attachments: {file.name} is too long to be sent with a message; ask about it instead")
    return NewAttachment(
        attachment_id,
        "text",
        file.name,
        file.media_type,
        file.size_bytes,
        body=file.text,
        file_id=file.id,
        file_version=file.version,
        classification=file.classification,
    )
