"""What is known to a whole persona or team, and told to everybody whom it talks to: an editor of the tenant says it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.infra.errors import Conflict, InvalidRequest, NotFound
from parlour.infra.ids import NewId
from parlour.infra.postgres import Transaction
from parlour.memory.facts import store
from parlour.memory.facts.fact import LONGEST_VALUE
from parlour.memory.facts.keys import key_of
from parlour.principal import Principal
from parlour.tenancy import audit, roles
from parlour.tenancy.labels import is_readable
from parlour.text.sensitive import is_sensitive

type CommonScope = Literal["human", "team"]


@dataclass(frozen=True, slots=True)
class Common:
    """Something to be known to a persona or team, by its slug."""

    scope: CommonScope
    slug: str
    key: str
    value: str


def know(principal: Principal, tx: Transaction, told: Common, now: datetime, new_id: NewId) -> UUID:
    """Have it known from now on; what was known under the key ends. The fact's id, the same where nothing differs.

    Raises Forbidden without the role editor, NotFound for a persona or team that is not there, InvalidRequest for what
    nobody could read or is never kept, Conflict when somebody else says something of it at the same moment.
    """
    roles.require(principal, "editor")
    key, value = key_of(told.key), " ".join(told.value.split())
    if key is None:
        raise InvalidRequest("key: write a word or two, as in opening_hours")
    if not value or len(value) > LONGEST_VALUE or not is_readable(value):
        raise InvalidRequest(f"value: write 1 to {LONGEST_VALUE} readable characters")
    if is_sensitive(key, value):
        raise InvalidRequest("value: passwords, cards and identity numbers are never remembered")
    whose = store.whose(tx, told.scope, told.slug)
    if whose is None:
        raise NotFound(f"there is no {told.scope} {told.slug}; its slug is the one in the pack")
    return _known(principal, tx, (told.scope, whose), (key, value), now, new_id)


def _known(
    principal: Principal, tx: Transaction, whose: tuple[CommonScope, UUID], said: tuple[str, str], now: datetime,
    new_id: NewId,
) -> UUID:  # fmt: skip
    (scope, owner), (key, value) = whose, said
    before, made = store.hold_common(tx, scope, owner, key), new_id(now)
    if before is not None and before.value == value:
        return before.id
    if before is not None:
        store.end(tx, before.id, "edited", made, now)
    if not store.insert_common(tx, made, scope, owner, key, value, principal.name, now):
        raise Conflict("somebody else has just said what is known of this; look at it again")
    audit.record(principal, tx, "fact.said", f"fact:{made}", {scope: str(owner), "key": key}, now, new_id)
    return made
