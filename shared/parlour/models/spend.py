"""What model calls may cost a tenant in a day: every call reserves its worst case first and settles what it cost after.

A day is UTC's, and a reservation belongs to the day on which it was made. It counts until it is settled or has
expired, whichever comes first, so a worker that was killed holds nothing back for longer than its lease.
What is spent and what is reserved never exceed the cap together; a call that costs nothing needs no room under it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_UP, Decimal
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import AnonymousShareSpent, InvalidRequest, NotFound, SpendRefused, SpendStopped
from parlour.infra.postgres import Database, Transaction
from parlour.models import store
from parlour.models.cost_report import MAX_DAYS
from parlour.models.daily_cap import cap_problem
from parlour.models.roles import require_role
from parlour.models.store import Reservation, SettledDay, SpendToday
from parlour.principal import Principal

__all__ = [
    "Reservation",
    "SpendToday",
    "read_own_cap",
    "read_today",
    "require_free_share",
    "reserve",
    "reserve_in_transaction",
    "resume_model_calls",
    "set_daily_cap",
    "settle",
    "stop_model_calls",
]

WARNING_PERCENTAGES = (50, 80, 100)
"""Percent of the cap; people are told of each once a day. A call refused for the cap counts as 100."""

ADDRESS_PART = Decimal("0.2")
"""Part of the anonymous share that the visitors of one network address may spend in a day, people of one office
together: some 40 short turns of the default cap. Who is verified or a member does not count."""

_USD_STEP = Decimal("0.00000001")
"""What the database keeps of a dollar; amounts are rounded up to it."""

_RESERVATION_RETENTION = timedelta(days=MAX_DAYS + 1)
"""How long an expired reservation is kept: longer than the report of costs goes back, which tells of it as what may
have been spent besides. A call that ends late can still be settled meanwhile."""


def reserve(tx: Transaction, reservation: Reservation, now: datetime) -> None:
    """Set an amount aside for one model call until it is settled or the reservation expires.

    The same reservation made twice is made once. Raises SpendRefused, and nothing is reserved, when the cap leaves
    no room or model calls are switched off.
    """
    purpose, amount = reservation.purpose, reservation.amount
    room = store.reserve(tx, replace(reservation, amount=_round_up(amount)), _utc_day(now), now, ADDRESS_PART)
    if room is None:
        raise NotFound("tenant not found")
    if room.is_stopped:
        log.warning("spend_refused", reason="stopped", purpose=purpose)
        raise SpendStopped
    if not room.is_reserved:
        if not room.has_share:
            log.count("AnonymousShareSpent")
            raise AnonymousShareSpent
        log.warning(
            "spend_refused",
            reason="cap",
            purpose=purpose,
            cap_usd=float(room.cap_usd),
            spent_usd=float(room.spent_usd),
            reserved_usd=float(room.reserved_usd),
            amount_usd=float(amount),
        )
        raise SpendRefused


def reserve_in_transaction(
    database: Database,
    principal: Principal,
    reservation: Reservation,
    now: datetime,
    check_reservation: Callable[[Transaction], None] = lambda _: None,
) -> None:
    """Reserve in a transaction of its own; warn people once a day when the cap refuses it.

    `check_reservation` runs once the amount is reserved and while nobody else reserves for the tenant. When it raises
    SpendRefused, nothing is reserved and nobody is warned.
    """
    reserved = []

    def work(tx: Transaction) -> None:
        reserve(tx, reservation, now)
        reserved.append(reservation.id)
        check_reservation(tx)

    try:
        database.run(principal, work)
    except AnonymousShareSpent:
        raise  # the tenant itself has not reached its cap
    except SpendRefused:
        if not reserved:
            database.run(principal, lambda tx: _warn_cap_reached(principal, tx, reservation.default_cap, now))
        raise


def require_free_share(tx: Transaction, share: Decimal, *, default_cap: Decimal, now: datetime) -> None:
    """For `take`'s `also`: SpendRefused where, with what was just reserved, more than `share` of the day's cap is
    taken. The rest is for those who wait for an answer."""
    seen = _find_today(tx, default_cap, now)
    if seen.spent_usd + seen.reserved_usd > share * seen.cap_usd:
        raise SpendRefused("the rest of the day's cap is kept for turns")


def settle(
    tx: Transaction, reservation_ids: Sequence[UUID], spent: Decimal, *, default_cap: Decimal, now: datetime
) -> None:
    """Put the `spent` US dollars in the place of what was reserved for the call and its tries.

    Settling twice adds once; without a reservation there is nothing to settle. An expired one still is settled:
    the money went. Best done last in a transaction, since it holds the tenant's day until the commit.
    """
    settled = store.settle(tx, reservation_ids, _round_up(spent), default_cap, now - _RESERVATION_RETENTION)
    if settled is not None:
        _warn_thresholds(tx, settled, _percent_of_cap(settled.spent_usd, settled.cap_usd))


def read_today(principal: Principal, tx: Transaction, default_cap: Decimal, now: datetime) -> SpendToday:
    """Return the tenant's spend of the day that `now` is in. Needs the role viewer."""
    require_role(principal, "viewer")
    return _find_today(tx, default_cap, now)


def stop_model_calls(principal: Principal, tx: Transaction, now: datetime) -> bool:
    """Switch the tenant's model calls off: from the next one on all are refused. False when they were. Needs admin."""
    require_role(principal, "admin")
    return store.stop_model_calls(tx, principal.name, now)


def resume_model_calls(principal: Principal, tx: Transaction, now: datetime) -> bool:  # noqa: ARG001 - beside `stop`
    """Switch model calls on again; False when they were. Needs admin."""
    require_role(principal, "admin")
    return store.resume_model_calls(tx)


def set_daily_cap(principal: Principal, tx: Transaction, usd: Decimal | None, now: datetime) -> bool:
    """Give the tenant a daily cap of its own in US dollars; None: the deployment's. False when it has it. Needs admin.

    InvalidRequest for an amount that is none.
    """
    require_role(principal, "admin")
    if usd is not None and (problem := cap_problem(usd)):
        raise InvalidRequest(f"daily_cap_usd: {problem}")
    return store.set_daily_cap(tx, usd, now)


def read_own_cap(tx: Transaction) -> Decimal | None:
    """Return the tenant's own daily cap in US dollars; None where the deployment's applies."""
    return store.find_own_cap(tx)


def _find_today(tx: Transaction, default_cap: Decimal, now: datetime) -> SpendToday:
    found = store.find_today(tx, _utc_day(now), default_cap, now)
    if found is None:
        raise NotFound("tenant not found")
    return found


def _warn_cap_reached(principal: Principal, tx: Transaction, default_cap: Decimal, now: datetime) -> None:
    seen = _find_today(tx, default_cap, now)
    if not seen.is_stopped:
        _warn_thresholds(
            tx, SettledDay(principal.tenant_id, _utc_day(now), seen.spent_usd, seen.cap_usd, seen.warned_percent), 100
        )


def _warn_thresholds(tx: Transaction, settled: SettledDay, percent: int) -> None:
    """Tell of every threshold that was passed since people were last told."""
    passed = [warning for warning in WARNING_PERCENTAGES if settled.warned_percent < warning <= percent]
    if not passed or not store.mark_warned(tx, settled.day, passed[-1]):
        return
    for warning in passed:
        log.warning(
            "spend_warning",
            percent=warning,
            tenant_id=settled.tenant_id,
            cap_usd=float(settled.cap_usd),
            spent_usd=float(settled.spent_usd),
        )
        log.count("SpendWarning")


def _percent_of_cap(spent: Decimal, cap: Decimal) -> int:
    """Return the share of the cap in percent, rounded down. Of a cap of zero any spend is 100."""
    if cap == 0:
        return 100 if spent else 0
    return int(spent * 100 / cap)


def _utc_day(now: datetime) -> date:
    return now.astimezone(UTC).date()


def _round_up(usd: Decimal) -> Decimal:
    return usd.quantize(_USD_STEP, ROUND_UP)
