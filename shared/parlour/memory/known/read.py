"""What is remembered, for those who may look: users at their own with one agent, viewers at everybody's as far as their
clearance goes. Where each part came from is told along with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from parlour.infra.errors import NotFound
from parlour.infra.postgres import Transaction
from parlour.memory.known import store
from parlour.memory.known.store import CommonFact, EpisodeRow, FactRow, OnePerson, Person
from parlour.principal import Principal
from parlour.tenancy import roles

__all__ = [
    "MOST",
    "CommonFact",
    "EpisodeRow",
    "FactRow",
    "Memory",
    "OnePerson",
    "Person",
    "common",
    "of",
    "own",
    "users",
]

MOST = 200
"""Users in one list."""

_MOST_FACTS, _MOST_EPISODES = 500, 100


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered of one user; `user` is None where they look themselves."""

    user: OnePerson | None
    facts: Sequence[FactRow]
    episodes: Sequence[EpisodeRow]


def users(principal: Principal, tx: Transaction, text: str = "", most: int = MOST) -> list[Person]:
    """The tenant's users and how much is known of each, those heard of last first. Needs the role viewer.

    `text`: part of a name, or the end of a number."""
    roles.require(principal, "viewer")
    return store.users(tx, text.strip(), principal.clearance, min(most, MOST))


def of(principal: Principal, tx: Transaction, user_id: UUID) -> Memory:
    """What is remembered of a user by all agents. Needs the role viewer; NotFound for one who is not theirs to see."""
    roles.require(principal, "viewer")
    found = store.user(tx, user_id, principal.clearance)
    if found is None:
        raise NotFound("there is no such user")
    return _memory(tx, found, user_id, None, is_own=False, clearance=principal.clearance)


def own(principal: Principal, tx: Transaction, binding_id: UUID) -> Memory:
    """What an agent remembers of the user who asks; NotFound for anybody else."""
    if principal.kind != "user" or principal.id is None:
        raise NotFound("only a user has a memory of their own; look at /v1/users")
    return _memory(tx, None, principal.id, binding_id, is_own=True, clearance=principal.clearance)


def common(principal: Principal, tx: Transaction) -> list[CommonFact]:
    """What is known to whole personas and teams, and told to everybody whom they talk to. Needs the role viewer."""
    roles.require(principal, "viewer")
    return store.common(tx, _MOST_FACTS)


def _memory(
    tx: Transaction, user: OnePerson | None, user_id: UUID, binding_id: UUID | None, *, is_own: bool, clearance: int
) -> Memory:
    facts = store.facts(tx, user_id, binding_id, is_own=is_own, clearance=clearance, most=_MOST_FACTS)
    episodes = store.episodes(tx, user_id, binding_id, is_own=is_own, clearance=clearance, most=_MOST_EPISODES)
    return Memory(user, facts, episodes)
