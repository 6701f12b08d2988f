"""The daily cap, on the real database: under threads, across crashes, and over any course of a day."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parlour.infra import log
from parlour.infra.errors import DatabaseUnavailable, Forbidden, InvalidRequest, NotFound, SpendRefused
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, Transaction
from parlour.infra.queries import Query
from parlour.models import spend
from parlour.models.cost_report import MAX_DAYS
from parlour.models.spend import Reservation, SpendToday
from parlour.principal import Principal, system_principal
from parlour.tenancy import roles, tenants

CAP = Decimal(1)
WORST = Decimal("0.1")
LEASE = timedelta(seconds=60)


@dataclass
class Till:
    """One tenant's spend."""

    operator: Principal
    open_database: Callable[[], Database]
    database: Database
    now: datetime
    told: list[int] = field(default_factory=list)

    @property
    def viewer(self) -> Principal:
        return Principal(self.operator.tenant_id, "member", UUID(int=1), frozenset({"viewer"}))

    def reserve(
        self, amount: Decimal = WORST, *, database: Database | None = None, reservation_id: UUID | None = None
    ) -> UUID:
        made = reservation_id or uuid7(self.now)
        spend.reserve_in_transaction(
            database or self.database,
            system_principal(self.operator.tenant_id),
            Reservation(id=made, amount=amount, purpose="default", default_cap=CAP, expires_at=self.now + LEASE),
            now=self.now,
        )
        return made

    def settle(self, spent: Decimal, *ids: UUID, database: Database | None = None) -> None:
        with (database or self.database).transaction(self.operator) as tx:
            spend.settle(tx, ids, spent, default_cap=CAP, now=self.now)

    def today(self) -> SpendToday:
        with self.database.transaction(self.operator) as tx:
            return spend.read_today(self.viewer, tx, CAP, self.now)

    def act[R](self, work: Callable[[Transaction], R]) -> R:
        with self.database.transaction(self.operator) as tx:
            return work(tx)


@pytest.fixture
def till(open_database: Callable[[], Database], now: datetime, monkeypatch: pytest.MonkeyPatch) -> Till:
    operator = roles.operator_principal(uuid7(now))
    database = open_database()
    with database.transaction(operator) as tx:
        tenants.create_tenant(operator, tx, slug="acme", display_name="Acme", settings={}, now=now)
    made = Till(operator, open_database, database, now)

    def note(action: str, /, **ids: object) -> None:
        if action == "spend_warning":
            made.told.append(int(str(ids["percent"])))

    monkeypatch.setattr(log, "warning", note)
    monkeypatch.setattr(log, "count", lambda *_, **__: None)
    return made


def test_fifty_at_once_against_a_cap_of_ten_reserve_ten(till: Till) -> None:
    databases = [till.open_database() for _ in range(10)]

    def five(database: Database) -> int:
        taken = 0
        for _ in range(5):
            try:
                till.reserve(database=database)
                taken += 1
            except SpendRefused:
                pass
        return taken

    with ThreadPoolExecutor(len(databases)) as pool:
        taken = sum(pool.map(five, databases))

    assert taken == 10
    assert till.today().reserved_usd == CAP


def test_reserving_and_settling_at_once_never_passes_the_cap_and_loses_nothing(till: Till) -> None:
    """Each call costs a third of what it reserved, so room comes back while others wait for it."""
    databases = [till.open_database() for _ in range(8)]
    cost = Decimal("0.03333333")

    def calls(database: Database) -> tuple[int, Decimal]:
        made, highest = 0, Decimal(0)
        for _ in range(12):
            try:
                reservation = till.reserve(database=database)
            except SpendRefused:
                continue
            with database.transaction(till.operator) as tx:
                seen = spend.read_today(till.viewer, tx, CAP, till.now)
            highest = max(highest, seen.spent_usd + seen.reserved_usd)
            till.settle(cost, reservation, database=database)
            made += 1
        return made, highest

    with ThreadPoolExecutor(len(databases)) as pool:
        results = list(pool.map(calls, databases))

    assert max(highest for _, highest in results) <= CAP
    assert till.today().spent_usd == cost * sum(made for made, _ in results)
    assert till.today().reserved_usd == 0


def test_the_eleventh_call_in_a_row_is_refused_and_the_next_day_is_a_new_one(till: Till) -> None:
    for _ in range(10):
        till.settle(WORST, till.reserve())
    with pytest.raises(SpendRefused):
        till.reserve()

    till.now += timedelta(days=1)
    till.reserve()


def test_what_a_killed_worker_reserved_comes_back_with_its_lease(till: Till) -> None:
    till.reserve(CAP)
    with pytest.raises(SpendRefused):
        till.reserve()

    till.now += LEASE

    assert till.today().reserved_usd == 0
    till.reserve(CAP)


def test_a_call_that_ends_after_its_reservation_expired_is_still_paid(till: Till) -> None:
    reservation = till.reserve()
    till.now += LEASE * 2
    till.settle(WORST, reservation)

    assert till.today().spent_usd == WORST


def test_settling_twice_adds_once(till: Till) -> None:
    tries = till.reserve(), till.reserve()
    till.settle(WORST, *tries)
    till.settle(WORST, *tries)

    assert (till.today().spent_usd, till.today().reserved_usd) == (WORST, Decimal(0))


def test_work_that_is_repeated_on_a_new_connection_reserves_and_settles_once(till: Till) -> None:
    """The connection dies after the commit, as the caller sees it: everything is done a second time."""
    made, died = uuid7(till.now), []

    def reserve(tx: Transaction) -> None:
        spend.reserve(
            tx,
            Reservation(id=made, amount=CAP, purpose="default", default_cap=CAP, expires_at=till.now + LEASE),
            now=till.now,
        )

    def settle(tx: Transaction) -> None:
        spend.settle(tx, [made], CAP, default_cap=CAP, now=till.now)

    for work in (reserve, settle):
        till.act(work)

        def again(tx: Transaction, work: Callable[[Transaction], None] = work) -> None:
            work(tx)
            if work not in died:
                died.append(work)
                raise psycopg.OperationalError

        till.database.run(till.operator, again)

    assert (till.today().spent_usd, till.today().reserved_usd) == (CAP, Decimal(0))


def test_a_reservation_belongs_to_the_day_on_which_it_was_made(till: Till) -> None:
    till.now = till.now.replace(hour=23, minute=59, second=50)
    reservation = till.reserve()
    evening, till.now = till.now, till.now + timedelta(seconds=30)
    till.settle(WORST, reservation)

    assert till.today().spent_usd == 0
    till.now = evening
    assert till.today().spent_usd == WORST


def test_people_are_told_once_a_day_of_each_threshold(till: Till) -> None:
    for spent in ("0.1", "0.3", "0.1", "0.1", "0.25"):
        till.settle(Decimal(spent), till.reserve())
    assert till.told == [50, 80]

    with pytest.raises(SpendRefused):
        till.reserve(Decimal("0.2"))
    with pytest.raises(SpendRefused):
        till.reserve(Decimal("0.2"))
    assert till.told == [50, 80, 100]

    till.now += timedelta(days=1)
    till.settle(CAP, till.reserve())
    assert till.told == [50, 80, 100, 50, 80, 100]


def test_people_are_told_when_even_the_first_call_of_a_day_does_not_fit(till: Till) -> None:
    with pytest.raises(SpendRefused):
        till.reserve(CAP * 2)

    assert till.told == [50, 80, 100]
    assert till.today().warned_percent == 100


def test_the_switch_refuses_even_what_is_free_until_it_is_turned_back(till: Till) -> None:
    assert till.act(lambda tx: spend.stop_model_calls(till.operator, tx, till.now))
    assert not till.act(lambda tx: spend.stop_model_calls(till.operator, tx, till.now))
    with pytest.raises(SpendRefused, match="switched off"):
        till.reserve(Decimal(0))
    assert (till.today().is_stopped, till.today().stopped_by, till.told) == (True, "operator", [])

    assert till.act(lambda tx: spend.resume_model_calls(till.operator, tx, till.now))
    till.reserve()


def test_a_tenants_own_cap_goes_before_the_deployments(till: Till) -> None:
    assert till.act(lambda tx: spend.set_daily_cap(till.operator, tx, Decimal("0.05"), till.now))
    assert not till.act(lambda tx: spend.set_daily_cap(till.operator, tx, Decimal("0.0500"), till.now))
    with pytest.raises(SpendRefused):
        till.reserve()
    assert (till.today().cap_usd, till.today().own_cap_usd) == (Decimal("0.05"), Decimal("0.05"))

    till.act(lambda tx: spend.set_daily_cap(till.operator, tx, None, till.now))
    till.reserve()
    assert (till.today().cap_usd, till.today().own_cap_usd) == (CAP, None)


def test_a_cap_of_zero_lets_only_free_calls_through(till: Till) -> None:
    till.act(lambda tx: spend.set_daily_cap(till.operator, tx, Decimal(0), till.now))
    till.reserve(Decimal(0))
    with pytest.raises(SpendRefused):
        till.reserve(Decimal("0.00000001"))


@pytest.mark.parametrize("usd", ["-1", "NaN", "Infinity", "1e9", "0.00001"])
def test_a_cap_that_is_none_is_refused(till: Till, usd: str) -> None:
    with pytest.raises(InvalidRequest, match="daily_cap_usd"):
        till.act(lambda tx: spend.set_daily_cap(till.operator, tx, Decimal(usd), till.now))


def test_a_viewer_looks_and_an_administrator_changes(till: Till) -> None:
    nobody = Principal(till.operator.tenant_id, "user", UUID(int=2))
    with pytest.raises(Forbidden):
        till.act(lambda tx: spend.read_today(nobody, tx, CAP, till.now))
    with pytest.raises(Forbidden):
        till.act(lambda tx: spend.stop_model_calls(till.viewer, tx, till.now))
    with pytest.raises(Forbidden):
        till.act(lambda tx: spend.resume_model_calls(till.viewer, tx, till.now))
    with pytest.raises(Forbidden):
        till.act(lambda tx: spend.set_daily_cap(till.viewer, tx, CAP, till.now))


def test_a_tenant_that_is_gone_spends_nothing(open_database: Callable[[], Database], now: datetime) -> None:
    stranger = roles.operator_principal(uuid7(now))
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        Till(stranger, open_database, open_database(), now).reserve()
    with pytest.raises(NotFound):
        Till(stranger, open_database, open_database(), now).today()


def test_reservations_that_nobody_settled_are_cleared_away_in_the_end(till: Till) -> None:
    till.reserve()
    till.now += timedelta(days=MAX_DAYS + 2)
    till.settle(WORST, till.reserve())

    kept = till.act(lambda tx: tx.value(Query("test.kept", "-", "SELECT count(*) FROM spend_reservations")))
    assert kept == 0


amounts = st.decimals("0.00000001", "0.6", places=8)
acts = st.lists(
    st.one_of(
        st.tuples(st.just("reserve"), amounts),
        st.tuples(st.just("settle"), st.integers(0, 30)),
        st.tuples(st.just("wait"), st.integers(1, 90)),
    ),
    max_size=30,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=acts)
def test_no_course_of_a_day_spends_more_than_the_cap(till: Till, acts: list[tuple[str, object]]) -> None:
    """Whatever calls are made, fail, end or are killed: what they cost never passes the cap, and room is not lost."""
    till.now = _next_day(till.now)
    live: dict[UUID, tuple[Decimal, datetime]] = {}
    spent = Decimal(0)
    for kind, value in acts:
        live = {one: (amount, until) for one, (amount, until) in live.items() if until > till.now}
        reserved = sum((amount for amount, _ in live.values()), Decimal(0))
        if kind == "reserve":
            amount = Decimal(str(value))
            fits = spent + reserved + amount <= CAP
            try:
                live[till.reserve(amount)] = (amount, till.now + LEASE)
                assert fits
            except SpendRefused:
                assert not fits
        elif kind == "settle" and live:
            chosen = list(live)[int(str(value)) % len(live)]
            amount, _ = live.pop(chosen)
            till.settle(amount / 2, chosen)
            spent += (amount / 2).quantize(Decimal("0.00000001"), "ROUND_UP")
        elif kind == "wait":
            till.now += timedelta(seconds=int(str(value)))
        seen = till.today()
        assert seen.spent_usd == spent
        assert seen.spent_usd + seen.reserved_usd <= CAP


def _next_day(now: datetime) -> datetime:
    return datetime.combine(date(now.year, now.month, now.day) + timedelta(days=1), now.timetz())


def test_a_database_that_is_away_refuses_nobody_for_money(till: Till, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise psycopg.OperationalError

    monkeypatch.setattr(till.database, "_open", away)
    with pytest.raises(DatabaseUnavailable):
        till.reserve()
