"""Sessions in lists, and what their users make of them, in the database."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.tenancy.rows import SessionVisibility

SQL = Queries.for_module(__file__)

_PREVIEW_CHARS = 160
"""Of what was said last, that a list shows."""


@dataclass(frozen=True, slots=True)
class SessionUpdate:
    """What a user changes about a session; None leaves it. Their own title is never replaced by a generated one."""

    title: str | None = None
    pinned: bool | None = None
    archived: bool | None = None
    visibility: SessionVisibility | None = None


@dataclass(frozen=True, slots=True)
class SessionListItem:
    """A session in a list. title: '' while nothing was said that names it; last: how what was said last begins."""

    id: UUID
    user_id: UUID
    binding_id: UUID
    entity_id: UUID | None
    visibility: SessionVisibility
    channel: str
    title: str
    is_main: bool
    pinned_at: datetime | None
    archived_at: datetime | None
    created_at: datetime
    last_active_at: datetime
    last_event_number: int
    last_message_preview: str | None


def list_own_sessions(
    tx: Transaction, user_id: UUID, binding_id: UUID, *, entity_id: UUID | None, archived: bool, limit: int
) -> list[SessionListItem]:
    return tx.all(
        SQL["list_own_sessions"],
        SessionListItem,
        user_id=user_id,
        binding_id=binding_id,
        entity_id=entity_id,
        archived=archived,
        most=limit,
        letters=_PREVIEW_CHARS,
    )


def list_readable_sessions(
    tx: Transaction,
    *,
    entity_id: UUID | None,
    user_id: UUID | None,
    visibilities: Collection[SessionVisibility],
    clearance: int,
    archived: bool,
    limit: int,
) -> list[SessionListItem]:
    return tx.all(
        SQL["list_readable_sessions"],
        SessionListItem,
        entity_id=entity_id,
        user_id=user_id,
        visibilities=sorted(visibilities),
        clearance=clearance,
        archived=archived,
        most=limit,
        letters=_PREVIEW_CHARS,
    )


def find_latest_session(tx: Transaction, user_id: UUID, binding_id: UUID, entity_id: UUID | None) -> UUID | None:
    found: UUID | None = tx.value(
        SQL["find_latest_session"], user_id=user_id, binding_id=binding_id, entity_id=entity_id
    )
    return found


def update_session(
    tx: Transaction,
    session_id: UUID,
    user_id: UUID,
    update: SessionUpdate,
    now: datetime,
) -> bool:
    """Update a session of this user; False when there is none."""
    return (
        tx.value(SQL["update_session"], session_id=session_id, user_id=user_id, now=now, **asdict(update)) is not None
    )
