"""What a user makes of a session of theirs: a title of their own, first in the list, put away, open to others."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.errors import NotFound
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy.labels import check_label
from parlour.tenancy.records import Visibility
from parlour.tenancy.sessions import store


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be different; None leaves it. A title of a person's own is never replaced by one that code makes."""

    title: str | None = None
    pinned: bool | None = None
    archived: bool | None = None
    visibility: Visibility | None = None


def change(principal: Principal, tx: Transaction, session_id: UUID, wanted: Change, now: datetime) -> None:
    """Do that to one's own session. A session that is put away stays searchable, and comes back with the next message
    written there; what its agent held in mind (`agent_states`) goes. Of one that others may read
    nothing is remembered, nor of one that is private again what was said by then.

    Raises NotFound when it is not the principal's own, InvalidRequest for a title that nobody could read.
    """
    title = None if wanted.title is None else check_label("title", wanted.title)
    is_theirs = principal.kind == "user" and principal.id is not None and store.change(
        tx, session_id, principal.id, title=title, pinned=wanted.pinned, archived=wanted.archived,
        visibility=wanted.visibility, now=now,
    )  # fmt: skip
    if not is_theirs:
        raise NotFound("there is no such session of yours")
