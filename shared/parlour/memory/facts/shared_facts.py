"""Facts about a persona or a team that all its users may hear. Editors of the tenant set them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.infra.errors import Conflict, InvalidRequest, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.memory.facts import store
from parlour.memory.facts.fact import MAX_VALUE_CHARS
from parlour.memory.facts.fact_keys import normalize_key
from parlour.principal import Principal
from parlour.tenancy import audit, roles
from parlour.tenancy.labels import is_readable
from parlour.text.sensitive_data import is_sensitive

type SharedScope = Literal["human", "team"]


@dataclass(frozen=True, slots=True)
class NewSharedFact:
    """A value to set for a persona or a team, which `slug` names."""

    scope: SharedScope
    slug: str
    key: str
    value: str


def set(  # noqa: A001 - called as shared_facts.set
    principal: Principal,
    tx: Transaction,
    new_fact: NewSharedFact,
    now: datetime,
) -> UUID:
    """Set a shared fact, end the fact that the key had before, and return the id of the live fact.

    Raises Forbidden without the role editor and NotFound for an unknown persona or team. Raises InvalidRequest for an
    unreadable or sensitive value, and Conflict when another editor changes the fact at the same moment.
    """
    roles.require_role(principal, "editor")
    key, value = normalize_key(new_fact.key), " ".join(new_fact.value.split())
    if key is None:
        raise InvalidRequest("key: use one or two words, like opening_hours")
    if not value or len(value) > MAX_VALUE_CHARS or not is_readable(value):
        raise InvalidRequest(f"value: use 1 to {MAX_VALUE_CHARS} printable characters")
    if is_sensitive(key, value):
        raise InvalidRequest("value: passwords, cards and identity numbers are never remembered")
    whose = store.find_owner(tx, new_fact.scope, new_fact.slug)
    if whose is None:
        raise NotFound(f"{new_fact.scope} {new_fact.slug} not found; use its slug from the pack")
    fact = store.SharedFactValue(new_fact.scope, whose, key, value)
    before, fact_id = store.lock_shared_fact(tx, fact.scope, fact.owner, fact.key), uuid7(now)
    if before is not None and before.value == fact.value:
        return before.id
    if before is not None:
        store.end_fact(tx, before.id, "edited", fact_id, now)
    if not store.add_shared_fact(tx, fact_id, fact, principal.name, now):
        raise Conflict("someone else just changed this fact; reload it")
    details: JsonObject = {fact.scope: str(fact.owner), "key": fact.key}
    audit.add_entry(principal, tx, "shared_fact.set", f"fact:{fact_id}", details, now)
    return fact_id
