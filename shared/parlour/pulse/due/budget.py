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
from parlour.models.daily_cap import cap_problem
from parlour.models.roles import require_role
from parlour.principal import Principal
from parlour.pulse.due import scheduling_rules, store
from parlour.pulse.due.scheduling_rules import PulseBudget

PULSE_PURPOSE = "pulse"
"""As model calls for Pulses are called in reservations and in the report of costs."""


def read_budget(
    tx: Transaction, default_pulse_cap: Decimal, now: datetime, default_cap: Decimal | None = None
) -> PulseBudget:
    """Return the tenant's Pulse budget of the day that `now` is in; one without room when the tenant is gone.

    default_pulse_cap  of a tenant that has none of its own.
    default_cap        the deployment's for all model calls: if given, the budget is no larger than what is left of it.
    """
    found = store.read_budget(tx, now.astimezone(UTC).date(), default_pulse_cap, default_cap, now)
    return found or PulseBudget(Decimal(), Decimal(), Decimal(), is_stopped=True)


def check_budget(
    tx: Transaction, amount: Decimal, default_pulse_cap: Decimal, now: datetime, own_reservation_id: UUID | None = None
) -> None:
    """SpendRefused when a call of at most `amount` US dollars has no room in the day's Pulse budget.

    but  the call's own reservation, when it is made already. Two that ask in the same moment are kept apart only where
         the caller holds the tenant's day, as `spend.take` does for what it asks besides.
    """
    budget = read_budget(tx, default_pulse_cap, now)
    spent = budget.spent_usd + store.read_reserved_usd(
        tx, now.astimezone(UTC).date(), PULSE_PURPOSE, own_reservation_id, now
    )
    if amount > 0 and spent + amount > budget.cap_usd:
        raise SpendRefused("the daily Pulse budget is used up; it resets at midnight UTC")


def next_attempt_with_budget(tx: Transaction, default_pulse_cap: Decimal, now: datetime) -> datetime:
    """When to look again for what had no room: soon, while others are being written that may come to less."""
    found = read_budget(tx, default_pulse_cap, now)
    reserved = store.read_reserved_usd(tx, now.astimezone(UTC).date(), PULSE_PURPOSE, None, now)
    return scheduling_rules.next_attempt_with_budget(replace(found, expected_usd=found.expected_usd + reserved), now)


def set_cap(principal: Principal, tx: Transaction, usd: Decimal | None, now: datetime) -> bool:
    """Give the tenant a daily Pulse budget of its own in US dollars; None: the deployment's. False when it has it.
    What waits for room in the budget is looked at again now.

    Needs admin. InvalidRequest for an amount that is none.
    """
    require_role(principal, "admin")
    if usd is not None and (problem := cap_problem(usd)):
        raise InvalidRequest(f"pulse_daily_cap_usd: {problem}")
    if not store.set_cap(tx, usd, now):
        return False
    store.release_budget_waits(tx, now)
    return True
