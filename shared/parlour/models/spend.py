"""What model calls may cost a tenant in a day: every call reserves its worst case first and settles what it cost after.

A day is UTC's, and a reservation belongs to the day on which it was made. It counts until it is settled or has
expired, whichever comes first, so a worker that was killed holds nothing back for longer than its lease.
What is spent and what is reserved never exceed the cap together; a call that costs nothing needs no room under it.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_UP, Decimal
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import InvalidRequest, NotFound, SpendRefused
from parlour.infra.postgres import Database, Transaction
from parlour.models import store
from parlour.models.cap import check_cap
from parlour.models.costs import MOST_DAYS
from parlour.models.roles import require
from parlour.models.store import Settled, SpendToday
from parlour.principal import Principal

__all__ = ["SpendToday", "leave_room", "own_cap", "reserve", "resume", "set_cap", "settle", "stop", "take", "today"]

WARNINGS = (50, 80, 100)
"""Percent of the cap; people are told of each once a day. A call refused for the cap counts as 100."""

_SMALLEST = Decimal("0.00000001")
"""What the database keeps of a dollar; amounts are rounded up to it."""

_KEPT = timedelta(days=MOST_DAYS + 1)
"""How long an expired reservation is kept: longer than the report of costs goes back, which tells of it as what may
have been spent besides. A call that ends late can still be settled meanwhile."""


def reserve(
    tx: Transaction,
    *,
    reservation_id: UUID,
    amount: Decimal,
    purpose: str,
    default_cap: Decimal,
    expires_at: datetime,
    now: datetime,
) -> None:
    """Set `amount` US dollars aside for one call until it is settled or `expires_at` has come.

    default_cap  of the deployment; a tenant's own goes before it.
    purpose      what the call is for, as in its row of llm_calls.

    The same reservation made twice is made once. Raises SpendRefused, and nothing is reserved, when the cap leaves
    no room or model calls are switched off.
    """
    room = store.reserve(
        tx, reservation_id=reservation_id, day=_day(now), purpose=purpose, amount=_rounded(amount),
        default_cap=default_cap, expires_at=expires_at, now=now,
    )  # fmt: skip
    if room is None:
        raise NotFound("there is no such tenant")
    if room.stopped:
        log.warning("spend_refused", reason="stopped", purpose=purpose)
        raise SpendRefused("model calls are switched off for this tenant; switch them on again")
    if not room.taken:
        log.warning(
            "spend_refused", reason="cap", purpose=purpose, cap_usd=float(room.cap), spent_usd=float(room.spent),
            reserved_usd=float(room.reserved), amount_usd=float(amount),
        )  # fmt: skip
        raise SpendRefused


def take(
    database: Database,
    principal: Principal,
    *,
    reservation_id: UUID,
    amount: Decimal,
    purpose: str,
    default_cap: Decimal,
    expires_at: datetime,
    now: datetime,
    also: Callable[[Transaction], None] = lambda _: None,
) -> None:
    """`reserve` in a transaction of its own; a refusal for the cap is told people, once a day.

    also  a further condition, asked once it is reserved and while nobody else reserves for the tenant; with its
          SpendRefused nothing is reserved, and nobody is told.
    """
    reserved = []

    def work(tx: Transaction) -> None:
        reserve(
            tx, reservation_id=reservation_id, amount=amount, purpose=purpose, default_cap=default_cap,
            expires_at=expires_at, now=now,
        )  # fmt: skip
        reserved.append(reservation_id)
        also(tx)

    try:
        database.run(principal, work)
    except SpendRefused:
        if not reserved:
            database.run(principal, lambda tx: _tell_refused(principal, tx, default_cap, now))
        raise


def leave_room(tx: Transaction, share: Decimal, *, default_cap: Decimal, now: datetime) -> None:
    """For `take`'s `also`: SpendRefused where, with what was just reserved, more than `share` of the day's cap is
    taken. The rest is for those who wait for an answer."""
    seen = _today(tx, default_cap, now)
    if seen.spent + seen.reserved > share * seen.cap:
        raise SpendRefused("the rest of the day's cap is kept for turns")


def settle(
    tx: Transaction, reservation_ids: Sequence[UUID], spent: Decimal, *, default_cap: Decimal, now: datetime
) -> None:
    """Put the `spent` US dollars in the place of what was reserved for the call and its tries.

    Settling twice adds once; without a reservation there is nothing to settle. An expired one still is settled:
    the money went. Best done last in a transaction, since it holds the tenant's day until the commit.
    """
    settled = store.settle(tx, reservation_ids, _rounded(spent), default_cap, now - _KEPT)
    if settled is not None:
        _warn(tx, settled, _percent(settled.spent, settled.cap))


def today(principal: Principal, tx: Transaction, default_cap: Decimal, now: datetime) -> SpendToday:
    """The tenant's spend of the day that `now` is in. Needs the role viewer."""
    require(principal, "viewer")
    return _today(tx, default_cap, now)


def stop(principal: Principal, tx: Transaction, now: datetime) -> bool:
    """Switch the tenant's model calls off: from the next one on all are refused. False when they were. Needs admin."""
    require(principal, "admin")
    return store.stop(tx, principal.name, now)


def resume(principal: Principal, tx: Transaction, now: datetime) -> bool:  # noqa: ARG001 - beside `stop`
    """Switch model calls on again; False when they were. Needs admin."""
    require(principal, "admin")
    return store.resume(tx)


def set_cap(principal: Principal, tx: Transaction, usd: Decimal | None, now: datetime) -> bool:
    """Give the tenant a daily cap of its own in US dollars; None: the deployment's. False when it has it. Needs admin.

    InvalidRequest for an amount that is none.
    """
    require(principal, "admin")
    if usd is not None and (problem := check_cap(usd)):
        raise InvalidRequest(f"daily_cap_usd: {problem}")
    return store.set_cap(tx, usd, now)


def own_cap(tx: Transaction) -> Decimal | None:
    """The tenant's own daily cap in US dollars; None where the deployment's applies."""
    return store.own_cap(tx)


def _today(tx: Transaction, default_cap: Decimal, now: datetime) -> SpendToday:
    found = store.today(tx, _day(now), default_cap, now)
    if found is None:
        raise NotFound("there is no such tenant")
    return found


def _tell_refused(principal: Principal, tx: Transaction, default_cap: Decimal, now: datetime) -> None:
    seen = _today(tx, default_cap, now)
    if not seen.stopped:
        _warn(tx, Settled(principal.tenant_id, _day(now), seen.spent, seen.cap, seen.warned), 100)


def _warn(tx: Transaction, day: Settled, percent: int) -> None:
    """Tell of every threshold that was passed since people were last told."""
    passed = [warning for warning in WARNINGS if day.warned < warning <= percent]
    if not passed or not store.note_warned(tx, day.day, passed[-1]):
        return
    for warning in passed:
        log.warning(
            "spend_warning", percent=warning, tenant_id=day.tenant_id, cap_usd=float(day.cap),
            spent_usd=float(day.spent),
        )  # fmt: skip
        log.count("SpendWarning")


def _percent(spent: Decimal, cap: Decimal) -> int:
    """The share of the cap, rounded down; of a cap of zero, everything is too much and nothing is none."""
    if cap == 0:
        return 100 if spent else 0
    return int(spent * 100 / cap)


def _day(now: datetime) -> date:
    return now.astimezone(UTC).date()


def _rounded(usd: Decimal) -> Decimal:
    return usd.quantize(_SMALLEST, ROUND_UP)
