"""A file's words, whole and as they are now: what is sent along with a message is told so ever after."""

from dataclasses import dataclass
from uuid import UUID

from parlour.infra.errors import Conflict, NotFound
from parlour.infra.postgres import Transaction
from parlour.knowledge.files import store
from parlour.principal import Principal

_NOT_YET = frozenset({"uploading", "queued", "parsing"})


@dataclass(frozen=True, slots=True)
class WholeFile:
    """One version of a file: what was read from it, in order, without what is drawn or computed in it."""

    id: UUID
    name: str
    media_type: str
    size_bytes: int
    version: int
    classification: int
    text: str


def whole(principal: Principal, tx: Transaction, file_id: UUID, team_id: UUID | None) -> WholeFile:
    """The file as whoever talks to `team_id` may read it. NotFound also when it is above their clearance or another
    team's own; Conflict while it is being read, and when it could not be."""
    found = store.whole_file(tx, file_id, principal.clearance)
    if found is None or (found.team_id is not None and found.team_id != team_id):
        raise NotFound(f"attachments: there is no file {file_id}")
    if found.state in _NOT_YET:
        raise Conflict(f"attachments: {found.name} is still being read; try again when it is ready")
    if found.state == "failed" or not (found.content or "").strip():
        raise Conflict(f"attachments: nothing could be read from {found.name}")
    return WholeFile(
        file_id, found.name, found.media_type, found.size_bytes, found.version, found.classification,
        found.content or "",
    )  # fmt: skip
