"""A file's words, whole and as they are now: what is sent along with a message is told so ever after."""

from dataclasses import dataclass
from uuid import UUID

from parlour.files import store
from parlour.infra.errors import Conflict, NotFound
from parlour.infra.postgres import Transaction
from parlour.principal import Principal

_UNREAD_STATES = frozenset({"uploading", "queued", "parsing"})


@dataclass(frozen=True, slots=True)
class FileText:
    """One version of a file: what was read from it, in order, without what is drawn or computed in it."""

    id: UUID
    name: str
    media_type: str
    size_bytes: int
    version: int
    classification: int
    text: str


def read_file_text(principal: Principal, tx: Transaction, file_id: UUID, team_id: UUID | None) -> FileText:
    """Return the file as a reader in a conversation of `team_id` may read it.

    NotFound also when it is above their clearance or another team's own; Conflict while it is being read, and when it
    could not be.
    """
    found = store.find_file_text(tx, file_id, principal.clearance)
    if found is None or (found.team_id is not None and found.team_id != team_id):
        raise NotFound(f"attachments: file {file_id} not found")
    if found.state in _UNREAD_STATES:
        raise Conflict(f"attachments: {found.name} is still being read; try again when it is ready")
    if found.state == "failed" or not (found.content or "").strip():
        raise Conflict(f"attachments: nothing could be read from {found.name}")
    return FileText(
        file_id,
        found.name,
        found.media_type,
        found.size_bytes,
        found.version,
        found.classification,
        found.content or "",
    )
