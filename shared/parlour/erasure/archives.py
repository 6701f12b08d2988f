"""Old messages that lie in object storage: those that are forgotten go from there, too."""

import hashlib
import json
from collections.abc import Collection
from itertools import batched

from parlour.erasure import store
from parlour.erasure.progress import RemainingWork
from parlour.erasure.store import ArchiveRow
from parlour.infra.objects import ObjectStore
from parlour.infra.postgres import Database
from parlour.principal import Principal

_MAX_ARCHIVE_BYTES = 64 * 1024 * 1024
_MEDIA_TYPE = "application/x-ndjson"
_DELETE_BATCH_SIZE = 500


def erase_archives(principal: Principal, database: Database, media: ObjectStore, remaining: RemainingWork) -> None:
    """Delete the archives of conversations that go as a whole; from others delete the erased lines."""
    sessions = set(remaining.sessions)
    whole = [one for one in remaining.archives if one.session_id in sessions]
    for some in batched(whole, _DELETE_BATCH_SIZE, strict=False):
        media.delete([one.object_key for one in some])
    gone = {str(one) for one in remaining.redacted_message_ids}
    for one in remaining.archives:
        if one.session_id not in sessions:
            _rewrite_archive(principal, database, media, one, gone)


def remaining_lines(data: bytes, erased_ids: Collection[str]) -> list[bytes]:
    """Return the lines of messages that stay; a line that cannot be read does not."""
    return [line for line in data.splitlines() if _message_id(line) not in {None, *erased_ids}]


def _rewrite_archive(
    principal: Principal, database: Database, media: ObjectStore, archive: ArchiveRow, erased_ids: Collection[str]
) -> None:
    data = media.get(archive.object_key, _MAX_ARCHIVE_BYTES)
    if data is None:
        return
    lines = remaining_lines(data, erased_ids)
    if not lines:
        media.delete([archive.object_key])
        database.run(principal, lambda tx: store.execute(tx, "delete_archives", ids=[archive.id]))
        return
    left = b"\n".join(lines) + b"\n"
    media.put(archive.object_key, left, _MEDIA_TYPE)
    sha256 = hashlib.sha256(left).hexdigest()
    database.run(
        principal,
        lambda tx: store.execute(
            tx, "update_archive", id=archive.id, messages=len(lines), size_bytes=len(left), sha256=sha256
        ),
    )


def _message_id(line: bytes) -> str | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return str(found.get("id")) if isinstance(found, dict) else None
