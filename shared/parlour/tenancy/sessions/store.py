"""Sessions in lists, and what their users make of them, in the database."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.tenancy.records import Visibility

SQL = Queries.beside(__file__)

_LETTERS = 160
"""Of what was said last, that a list shows."""


@dataclass(frozen=True, slots=True)
class Line:
    """A session in a list. title: '' while nothing was said that names it; last: how what was said last begins."""

    id: UUID
    user_id: UUID
    binding_id: UUID
    entity_id: UUID | None
    visibility: Visibility
    channel: str
    title: str
    is_main: bool
    pinned_at: datetime | None
    archived_at: datetime | None
    created_at: datetime
    last_active_at: datetime
    last_event: int
    last: str | None


def own(
    tx: Transaction, user_id: UUID, binding_id: UUID, *, entity_id: UUID | None, archived: bool, most: int
) -> list[Line]:
    return tx.all(
        SQL["own_sessions"], Line,
        user_id=user_id, binding_id=binding_id, entity_id=entity_id, archived=archived, most=most, letters=_LETTERS,
    )  # fmt: skip


def readable(
    tx: Transaction,
    *,
    entity_id: UUID | None,
    user_id: UUID | None,
    visibilities: Collection[Visibility],
    clearance: int,
    archived: bool,
    most: int,
) -> list[Line]:
    return tx.all(
        SQL["open_sessions"], Line,
        entity_id=entity_id, user_id=user_id, visibilities=sorted(visibilities), clearance=clearance,
        archived=archived, most=most, letters=_LETTERS,
    )  # fmt: skip


def latest(tx: Transaction, user_id: UUID, binding_id: UUID, entity_id: UUID | None) -> UUID | None:
    found: UUID | None = tx.value(
        SQL["latest_session"], user_id=user_id, binding_id=binding_id, entity_id=entity_id
    )  # fmt: skip
    return found


def change(
    tx: Transaction, session_id: UUID, user_id: UUID, *,
    title: str | None, pinned: bool | None, archived: bool | None, visibility: Visibility | None, now: datetime,
) -> bool:  # fmt: skip
    """Whether there is such a session of theirs."""
    values = {"title": title, "pinned": pinned, "archived": archived, "visibility": visibility, "now": now}
    return tx.value(SQL["change_session"], session_id=session_id, user_id=user_id, **values) is not None
