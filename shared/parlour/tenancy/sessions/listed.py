"""Which sessions there are: a user's own with one binding, and those of others that somebody of the tenant may read."""

from uuid import UUID

from parlour.infra.errors import Forbidden
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy.records import Visibility
from parlour.tenancy.sessions import store
from parlour.tenancy.sessions.store import Line

__all__ = ["MOST", "Line", "latest", "own", "readable"]

MOST = 200
"""Sessions in one list."""


def own(
    principal: Principal,
    tx: Transaction,
    binding_id: UUID,
    *,
    entity_id: UUID | None = None,
    archived: bool = False,
    most: int = MOST,
) -> list[Line]:
    """The user's own with that binding, those pinned first, then the latest; those put away only when asked for.

    `entity_id` leaves those about that record. Nobody but a user has any: an empty list.
    """
    if principal.kind != "user" or principal.id is None:
        return []
    return store.own(tx, principal.id, binding_id, entity_id=entity_id, archived=archived, most=min(most, MOST))


def latest(principal: Principal, tx: Transaction, binding_id: UUID, entity_id: UUID | None) -> UUID | None:
    """The one that the user goes on with: the latest about that record, or about none, that is not put away."""
    return store.latest(tx, principal.id, binding_id, entity_id) if principal.kind == "user" and principal.id else None


def readable(
    principal: Principal,
    tx: Transaction,
    *,
    entity_id: UUID | None = None,
    user_id: UUID | None = None,
    archived: bool = False,
    most: int = MOST,
) -> list[Line]:
    """Sessions about a record, of a user, or both, that somebody of the tenant may read (`people.session_of`), the
    latest first. Raises Forbidden for a user, who has only their own."""
    if principal.kind == "user":
        raise Forbidden("a visitor's conversations are listed with their own token")
    return store.readable(
        tx, entity_id=entity_id, user_id=user_id, visibilities=_open_to(principal), clearance=principal.clearance,
        archived=archived, most=min(most, MOST),
    )  # fmt: skip


def _open_to(principal: Principal) -> tuple[Visibility, ...]:
    if principal.has("viewer") or principal.kind == "system":
        return ("private", "role_gated", "shared")
    return ("role_gated", "shared") if principal.has("editor") else ("shared",)
