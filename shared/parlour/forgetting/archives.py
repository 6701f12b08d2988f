"""Old messages that lie in object storage: those that are forgotten go from there, too."""

import hashlib
import json
from collections.abc import Collection
from itertools import batched

from parlour.forgetting import store
from parlour.forgetting.store import ArchiveRow
from parlour.forgetting.under_way import Left
from parlour.infra.objects import Store
from parlour.infra.postgres import Database
from parlour.principal import Principal

_LARGEST = 64 * 1024 * 1024
_TYPE = "application/x-ndjson"
_AT_ONCE = 500


def without(principal: Principal, database: Database, media: Store, left: Left) -> None:
    """Archives of what goes as a whole are deleted; of others the lines that go."""
    sessions = set(left.sessions)
    whole = [one for one in left.archives if one.session_id in sessions]
    for some in batched(whole, _AT_ONCE, strict=False):
        media.delete([one.object_key for one in some])
    gone = {str(one) for one in left.messages}
    for one in left.archives:
        if one.session_id not in sessions:
            _rewrite(principal, database, media, one, gone)


def kept_lines(data: bytes, gone: Collection[str]) -> list[bytes]:
    """The lines of messages that stay; one that cannot be read does not."""
    return [line for line in data.splitlines() if _id(line) not in {None, *gone}]


def _rewrite(
    principal: Principal, database: Database, media: Store, archive: ArchiveRow, gone: Collection[str]
) -> None:  # fmt: skip
    data = media.get(archive.object_key, _LARGEST)
    if data is None:
        return
    lines = kept_lines(data, gone)
    if not lines:
        media.delete([archive.object_key])
        database.run(principal, lambda tx: store.run(tx, "drop_archives", ids=[archive.id]))
        return
    left = b"\n".join(lines) + b"\n"
    media.put(archive.object_key, left, _TYPE)
    sha256 = hashlib.sha256(left).hexdigest()
    database.run(
        principal,
        lambda tx: store.run(
            tx, "rest_in_archive", id=archive.id, messages=len(lines), size_bytes=len(left), sha256=sha256
        ),
    )


def _id(line: bytes) -> str | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return str(found.get("id")) if isinstance(found, dict) else None
