"""What somebody on the web sends along with a message: what they upload for it, and files that are there already.

The bytes of an upload never pass through the API: whoever writes in a session gets a form that the object store takes
for one key, so many bytes, and a quarter of an hour. What arrived is looked at when a message names it, and what it is
is told by its bytes. A file of the tenant's is sent along by its words, as they are then.
"""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from parlour.channels.included import LARGEST_BYTES, LARGEST_IMAGE, LONGEST_TEXT, included, plain_name
from parlour.infra.errors import AccessRefused, Conflict, InvalidRequest, NotFound, ObjectsUnavailable
from parlour.infra.ids import NewId
from parlour.infra.objects import Form, Uploads
from parlour.infra.postgres import Database, Transaction
from parlour.knowledge.files.file import FORM_LASTS
from parlour.knowledge.files.whole import WholeFile, whole
from parlour.principal import Principal
from parlour.turns import store
from parlour.turns.records import NewAttachment, NewMessage, OwnSession, Upload

MOST = 5
"""What one message may come with."""

MOST_WAITING = 20
"""Uploads of a session that no message came with: whoever talks at a public door fills no bucket."""

GIVEN_UP_AFTER = 4 * FORM_LASTS
"""An upload that no message came with by then is taken away."""

_BYTES = "application/octet-stream"
_NO_SESSION = "there is no such session of yours; open one with POST /v1/sessions"
_TAKEN = "pictures (JPEG, PNG, GIF, WebP) and text (plain, Markdown, CSV, JSON; UTF-8) are"


@dataclass(frozen=True, slots=True)
class Named:
    """One thing that a message is to come with: an upload of its session, or a file of the tenant's."""

    upload: UUID | None = None
    file: UUID | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """An upload, and the form that it is sent with."""

    id: UUID
    name: str
    form: Form


@dataclass(slots=True)
class _Found:
    """What was named, as the database has it; `is_sent` when the message is there already."""

    is_sent: bool = False
    uploads: dict[UUID, Upload] = field(default_factory=dict)
    files: dict[UUID, WholeFile] = field(default_factory=dict)


def start(
    principal: Principal, tx: Transaction, media: Uploads, session_id: UUID, name: str, size_bytes: int,
    now: datetime, upload_id: UUID,
) -> Started:  # fmt: skip
    """Say what will be uploaded in one's own session. NotFound when it is somebody else's, InvalidRequest for what is
    empty or larger than `LARGEST_BYTES`, Conflict when too many wait already. With it goes what was never sent, here
    or elsewhere, so that a bucket holds little of that for long."""
    own_session(principal, tx, session_id)
    if not 0 < size_bytes <= LARGEST_BYTES:
        raise InvalidRequest(f"size_bytes: 1 byte to {LARGEST_BYTES // 1024 // 1024} MB can be sent with a message")
    _clear(tx, media, now)
    key = f"tenant/{principal.tenant_id}/media/{session_id}/{upload_id}"
    plain = plain_name(name)
    is_started = store.start_upload(
        tx,
        session_id,
        upload_id=upload_id,
        name=plain,
        size_bytes=size_bytes,
        object_key=key,
        most=MOST_WAITING,
        given_up=now - GIVEN_UP_AFTER,
        now=now,
    )
    if not is_started:
        raise Conflict(f"{MOST_WAITING} uploads of this session wait for a message; send some of them, or begin anew")
    form = media.form(key, _BYTES, LARGEST_BYTES, int(FORM_LASTS.total_seconds()))
    return Started(upload_id, plain, form)


def gather(
    principal: Principal, database: Database, media: Uploads, session_id: UUID, named: Sequence[Named],
    message_name: str, now: datetime, new_id: NewId,
) -> list[NewAttachment]:  # fmt: skip
    """What a message is to come with, looked at; nothing for a message that is there already under that name, so that
    posting it again is harmless.

    NotFound for what is not there or not the writer's to see, Conflict for what has not arrived, is still being read or
    went with another message, InvalidRequest for what is too large or of a kind that is not taken.
    """
    if not named:
        return []

    def look(tx: Transaction) -> _Found:
        session = own_session(principal, tx, session_id)
        if store.is_known(tx, session.binding_id, message_name):
            return _Found(is_sent=True)
        ids = [one.upload for one in named if one.upload]
        uploads = {one.id: one for one in store.uploads_of(tx, session_id, ids)}
        files = {one.file: whole(principal, tx, one.file, session.team_id) for one in named if one.file}
        return _Found(False, uploads, files)

    found = database.run(principal, look)
    if found.is_sent:
        return []
    return [
        _from_file(found.files[one.file], new_id(now)) if one.file else _arrived(media, _upload(found, one.upload))
        for one in named
    ]


def attach(tx: Transaction, message: NewMessage, attachments: Sequence[NewAttachment]) -> None:
    """Send them along with a message that is stored in the same transaction. Conflict when another message was
    quicker."""
    for place, one in enumerate(attachments):
        if not store.attach(tx, message, place, one):
            raise _sent_already(one.name)


def own_session(principal: Principal, tx: Transaction, session_id: UUID) -> OwnSession:
    """The session, when it is the principal's own; else NotFound."""
    session = store.own_session(tx, session_id, principal.id) if principal.id else None
    if session is None:
        raise NotFound(_NO_SESSION)
    return session


def _clear(tx: Transaction, media: Uploads, now: datetime) -> None:
    """Take uploads away that were given up, their bytes first: where the store does not do it, somebody tries later."""
    if left := store.abandoned_uploads(tx, now - GIVEN_UP_AFTER, MOST_WAITING):
        with suppress(AccessRefused, ObjectsUnavailable):
            media.delete([one.object_key for one in left])
            store.drop_uploads(tx, [one.id for one in left])


def _upload(found: _Found, upload_id: UUID | None) -> Upload:
    upload = found.uploads.get(upload_id) if upload_id else None
    if upload is None:
        raise NotFound(f"attachments: nothing was uploaded in this session as {upload_id}")
    if upload.is_sent:
        raise _sent_already(upload.name)
    return upload


def _sent_already(name: str) -> Conflict:
    return Conflict(f"attachments: {name} was sent with another message already; upload it again")


def _arrived(media: Uploads, upload: Upload) -> NewAttachment:
    data = media.get(upload.object_key, LARGEST_BYTES)
    if data is None:
        raise Conflict(f"attachments: nothing of {upload.name} has arrived; send it with its form, then the message")
    file = included(data)
    if file.problem == "too_large":
        mb, thousand = LARGEST_IMAGE / 1024 / 1024, LONGEST_TEXT // 1000
        raise InvalidRequest(
            f"attachments: {upload.name} is too large: a picture has {mb:g} MB at most, a text {thousand},000 letters"
        )
    if file.problem:
        raise InvalidRequest(f"attachments: {upload.name} cannot be sent with a message; {_TAKEN}")
    return NewAttachment(
        upload.id, file.kind, upload.name, file.media_type, len(data), upload.object_key,
        hashlib.sha256(data).hexdigest(), file.body,
    )  # fmt: skip


def _from_file(file: WholeFile, attachment_id: UUID) -> NewAttachment:
    if len(file.text) > LONGEST_TEXT:
        raise InvalidRequest(f"attachments: {file.name} is too long to be sent with a message; ask about it instead")
    return NewAttachment(
        attachment_id, "text", file.name, file.media_type, file.size_bytes, body=file.text, file_id=file.id,
        file_version=file.version, classification=file.classification,
    )  # fmt: skip
