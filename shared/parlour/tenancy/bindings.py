"""Bindings, and the whole persona behind one."""

from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.tenancy import store
from parlour.tenancy.labels import is_identifier
from parlour.tenancy.persona import Agent, Binding, HandoffTarget, Human, Persona, Team
from parlour.tenancy.rows import Tenant

__all__ = [
    "Agent",
    "Binding",
    "HandoffTarget",
    "Human",
    "Persona",
    "Team",
    "Tenant",
    "find_binding",
    "find_binding_by_slug",
    "find_web_binding",
    "list_active_bindings",
    "load_persona",
]


def load_persona(tx: Transaction, binding_id: UUID, user_id: UUID | None = None) -> Persona | None:
    """Return the binding with its human, team, agent and tenant, and the named user; one query.

    Inactive bindings are returned, too: check `is_active`.
    """
    return store.find_persona(tx, binding_id, user_id)


def find_binding(tx: Transaction, binding_id: UUID) -> Binding | None:
    """One binding, active or not."""
    return store.find_binding(tx, binding_id)


def find_binding_by_slug(tx: Transaction, slug: str) -> Binding | None:
    """One binding by the name its pack gives it, active or not; any text is safe."""
    return store.find_binding_by_slug(tx, slug) if is_identifier(slug) else None


def list_active_bindings(tx: Transaction) -> list[Binding]:
    """Return the active bindings, by slug."""
    return store.list_active_bindings(tx)


def find_web_binding(tx: Transaction, agent_slug: str) -> Binding | None:
    """Through which binding anybody talks to that agent, by its slug, on the web; of several the first by slug."""
    return next(
        (binding for binding in store.list_bindings_of_agent(tx, agent_slug) if binding.is_open_to_visitors), None
    )
