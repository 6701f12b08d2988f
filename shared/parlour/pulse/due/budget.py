"""What a tenant's Pulses may cost in a day (UTC): a part of its daily cap, counted besides it.

`models.spend` holds the cap; what is here holds Pulses to their part. What a day's Pulses did cost stands with their
days, what is being written with its reservations.
"""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from parlour.infra.errors import InvalidRequest, SpendRefused
from parlour.infra.postgres import Transaction
from parlour.models.cap import check_cap
from parlour.models.roles import require
from parlour.principal import Principal
from parlour.pulse.due import rules, store
from parlour.pulse.due.rules import Budget

PURPOSE = "pulse"
"""As model calls for Pulses are called in reservations and in the report of costs."""


def today(tx: Transaction, pulse_cap: Decimal, now: datetime, default_cap: Decimal | None = None) -> Budget:
    """The tenant's Pulse budget of the day that `now` is in; one without room when the tenant is gone.

    pulse_cap    of a tenant that has none of its own.
    default_cap  the deployment's for all model calls: given, the budget is no larger than what these left of the day's
                 cap.
    """
    found = store.budget(tx, now.astimezone(UTC).date(), pulse_cap, default_cap, now)
    return found or Budget(Decimal(), Decimal(), Decimal(), stopped=True)


def admit(tx: Transaction, amount: Decimal, pulse_cap: Decimal, now: datetime, but: UUID | None = None) -> None:
    """SpendRefused when a call of at most `amount` US dollars has no room in the day's Pulse budget.

    but  the call's own reservation, when it is made already. Two that ask in the same moment are kept apart only where
         the caller holds the tenant's day, as `spend.take` does for what it asks besides.
    """
    budget = today(tx, pulse_cap, now)
    spent = budget.spent + store.reserved(tx, now.astimezone(UTC).date(), PURPOSE, but, now)
    if amount > 0 and spent + amount > budget.cap:
        raise SpendRefused("the day's Pulse budget leaves no room; it is a new one tomorrow")


def room_again(tx: Transaction, pulse_cap: Decimal, now: datetime) -> datetime:
    """When to look again for what had no room: soon, while others are being written that may come to less."""
    found = today(tx, pulse_cap, now)
    reserved = store.reserved(tx, now.astimezone(UTC).date(), PURPOSE, None, now)
    return rules.room_again(replace(found, expected=found.expected + reserved), now)


def set_cap(principal: Principal, tx: Transaction, usd: Decimal | None, now: datetime) -> bool:
    """Give the tenant a daily Pulse budget of its own in US dollars; None: the deployment's. False when it has it.
    What waits for room in the budget is looked at again now.

    Needs admin. InvalidRequest for an amount that is none.
    """
    require(principal, "admin")
    if usd is not None and (problem := check_cap(usd)):
        raise InvalidRequest(f"pulse_daily_cap_usd: {problem}")
    if not store.set_cap(tx, usd, now):
        return False
    store.free_waiting(tx, now)
    return True
