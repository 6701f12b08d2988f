"""What is remembered, for those who may look: users at their own with one agent, viewers at everybody's as far as their
clearance goes. Where each part came from is told along with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from parlour.infra.errors import NotFound
from parlour.infra.page_cursor import Page, cut_page, decode_id_cursor
from parlour.infra.postgres import Transaction
from parlour.memory.inspection import store
from parlour.memory.inspection.store import EpisodeRow, FactRow, SharedFactRow, UserRow, UserSummaryRow
from parlour.principal import Principal
from parlour.tenancy import roles

__all__ = [
    "MAX_USERS",
    "EpisodeRow",
    "FactRow",
    "SharedFactRow",
    "UserMemory",
    "UserRow",
    "UserSummaryRow",
    "list_shared_facts",
    "list_users",
    "read_own_memory",
    "read_user_memory",
]

MAX_USERS = 200
"""Users in one list."""

_MAX_FACTS, _MAX_EPISODES = 500, 100


@dataclass(frozen=True, slots=True)
class UserMemory:
    """What is remembered of one user; `user` is None where they look themselves."""

    user: UserRow | None
    facts: Sequence[FactRow]
    episodes: Sequence[EpisodeRow]


def list_users(
    principal: Principal, tx: Transaction, text: str = "", cursor: str = "", limit: int = MAX_USERS
) -> Page[UserSummaryRow]:
    """Return a page of the tenant's users with the number of their facts, latest active first. Needs the role viewer.

    `text` is a part of a name or the end of a number. InvalidRequest for a bad cursor.
    """
    roles.require_role(principal, "viewer")
    after = decode_id_cursor(cursor) if cursor else None
    rows = store.list_users(tx, text.strip(), principal.clearance, after, limit + 1)
    return cut_page(rows, limit, lambda user: (user.last_active_at, user.id))


def read_user_memory(principal: Principal, tx: Transaction, user_id: UUID) -> UserMemory:
    """Return what all agents remember of a user. Needs the role viewer.

    Raises NotFound for a user whom the principal may not see.
    """
    roles.require_role(principal, "viewer")
    found = require_visible_user(principal, tx, user_id)
    return _read_memory(tx, found, user_id, None, is_own=False, clearance=principal.clearance)


def require_visible_user(principal: Principal, tx: Transaction, user_id: UUID) -> UserRow:
    """Return the user; NotFound when there is none, or the principal may not see them."""
    found = store.find_user(tx, user_id, principal.clearance)
    if found is None:
        raise NotFound("user not found")
    return found


def read_own_memory(principal: Principal, tx: Transaction, binding_id: UUID) -> UserMemory:
    """Return what an agent remembers of the principal. Raises NotFound for anybody but a user."""
    if principal.kind != "user" or principal.id is None:
        raise NotFound("only users have a memory of their own; see /v1/users")
    return _read_memory(tx, None, principal.id, binding_id, is_own=True, clearance=principal.clearance)


def list_shared_facts(principal: Principal, tx: Transaction) -> list[SharedFactRow]:
    """Return the shared facts of all personas and teams. Needs the role viewer."""
    roles.require_role(principal, "viewer")
    return store.list_shared_facts(tx, _MAX_FACTS)


def _read_memory(
    tx: Transaction, user: UserRow | None, user_id: UUID, binding_id: UUID | None, *, is_own: bool, clearance: int
) -> UserMemory:
    facts = store.list_facts(tx, user_id, binding_id, is_own=is_own, clearance=clearance, limit=_MAX_FACTS)
    episodes = store.list_episodes(tx, user_id, binding_id, is_own=is_own, clearance=clearance, limit=_MAX_EPISODES)
    return UserMemory(user, facts, episodes)
