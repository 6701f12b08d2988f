"""What the database makes of marks, sweeps and writers is what the rules say, step by step."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from threading import Barrier, Thread
from uuid import UUID

import pytest

from parlour.infra.postgres import Database, Transaction
from parlour.infra.queries import Query
from parlour.jobs import work_due
from parlour.knowledge.records import stale
from parlour.knowledge.records.entities import NewEntity
from parlour.knowledge.records.stale import Unreflected
from parlour.pulse.due import ending, rules, store
from parlour.pulse.due.sweep import Sweeper, sweep_tenant
from parlour.pulse.pulse import Order
from tests.desk import Delayed
from tests.integration.knowledge.conftest import Library, execute
from tests.integration.knowledge.record_desk import RecordDesk, open_record_desk
from tests.unit.pulse.world_of_marks import (
    AGE,
    CAP,
    COST,
    LIFE,
    START,
    WHOLE,
    WINDOWS,
    Marks,
    Rules,
    Shown,
    Story,
    moves,
)

STORIES = 40

_STATE = Query(
    "test.state",
    "-",
    "SELECT coalesce(failures, 0) AS failures, waiting_for FROM pulse_states WHERE entity_id = %(id)s",
)
_BESIDE = Query("test.beside", "-", "SELECT count(*) AS marks FROM pulse_marks WHERE entity_id = %(id)s")
_CLEAN = (
    "UPDATE entities SET marks = 0, marks_told = 0, stale_since = NULL, stale_causes = '{}', stale_marks = '{}'",
    "DELETE FROM pulse_marks",
    "DELETE FROM work_due WHERE kind = 'pulse'",
    "DELETE FROM pulse_states",
    "DELETE FROM pulse_days",
)
_SPENT = """
INSERT INTO pulse_days (tenant_id, day, entity_id, cost_usd) VALUES (current_tenant(), %(day)s, %(id)s, %(usd)s)
ON CONFLICT (tenant_id, day, entity_id) DO UPDATE SET cost_usd = pulse_days.cost_usd + EXCLUDED.cost_usd
"""


@dataclass(frozen=True)
class State:
    """How a record's tries went."""

    failures: int
    waiting_for: str | None


class Stored:
    """The same world in the database, through the functions that everybody uses."""

    def __init__(self, desk: RecordDesk, ids: list[UUID], database: Database | None = None) -> None:
        self.desk = desk
        self.ids = ids
        self.database = database or desk.database
        self.tenant_id = desk.principal.tenant_id

    def clean(self) -> None:
        with self.desk.transaction() as tx:
            for statement in _CLEAN:
                execute(tx, statement)

    def mark(self, record: int, cause: str, now: datetime) -> None:
        self.database.run(self.tenant_id, lambda tx: stale.mark(tx, self.ids[record], cause, now))  # type: ignore[arg-type]

    def ask(self, record: int, now: datetime) -> None:
        self.database.run(self.tenant_id, lambda tx: stale.ask(tx, self.ids[record], now))

    def sweep(self, now: datetime) -> list[int]:
        orders = Delayed()
        sweep_tenant(Sweeper(self.database, orders, Decimal(100), CAP, lambda: now), self.tenant_id)
        return [self.ids.index(Order.from_json(body).entity_id) for body, _ in orders.sent]

    def begin(self, record: int, until: datetime, now: datetime) -> Marks | None:
        with self.database.transaction(self.tenant_id) as tx:
            seen = stale.unreflected(tx, self.ids[record]) if ending.begin(tx, self.ids[record], until, now) else None
        return Marks(seen.marks, seen.causes) if seen else None

    def written(self, record: int, seen: Marks, read_at: datetime, until: datetime, now: datetime) -> bool:
        told = Unreflected(seen.marks, 0, None, seen.causes)
        with self.database.transaction(self.tenant_id) as tx:
            if not ending.is_ours(tx, self.ids[record], until):
                return False
            ending.written(
                tx, self.ids[record], told, read_at, window=WINDOWS[record], age=AGE, held_until=until, cost_usd=COST,
                now=now,
            )  # fmt: skip
            execute(tx, _SPENT, day=now.date(), id=self.ids[record], usd=COST)
        return True

    def failed(self, record: int, until: datetime, now: datetime) -> bool:
        with self.database.transaction(self.tenant_id) as tx:
            ours = ending.is_ours(tx, self.ids[record], until)
            if ours:
                ending.failed(tx, self.ids[record], "bad_json", until, now)
        return ours

    def show(self, record: int) -> Shown:
        with self.database.transaction(self.tenant_id) as tx:
            found = stale.unreflected(tx, self.ids[record])
            beside = tx.value(_BESIDE, id=self.ids[record])
            due = work_due.find(tx, "pulse", self.ids[record])
            state = tx.first(_STATE, State, id=self.ids[record]) or State(0, None)
        assert found is not None
        return Shown(
            found.since, dict(found.causes), found.marks + beside, found.told, due.due_at if due else None,
            state.failures, state.waiting_for,
        )  # fmt: skip


class Both:
    """The rules and the database, side by side: what one answers, the other does."""

    def __init__(self, rules_: Rules, stored: Stored) -> None:
        self.rules, self.stored = rules_, stored

    def mark(self, record: int, cause: str, now: datetime) -> None:
        self.rules.mark(record, cause, now)
        self.stored.mark(record, cause, now)

    def ask(self, record: int, now: datetime) -> None:
        self.rules.ask(record, now)
        self.stored.ask(record, now)

    def sweep(self, now: datetime) -> list[int]:
        sent = self.rules.sweep(now)
        assert self.stored.sweep(now) == sent
        return sent

    def begin(self, record: int, until: datetime, now: datetime) -> Marks | None:
        seen = self.rules.begin(record, until, now)
        assert self.stored.begin(record, until, now) == seen
        return seen

    def written(self, record: int, seen: Marks, read_at: datetime, until: datetime, now: datetime) -> bool:
        done = self.rules.written(record, seen, read_at, until, now)
        assert self.stored.written(record, seen, read_at, until, now) is done
        return done

    def failed(self, record: int, until: datetime, now: datetime) -> bool:
        done = self.rules.failed(record, until, now)
        assert self.stored.failed(record, until, now) is done
        return done

    def show(self, record: int) -> Shown:
        shown = self.rules.show(record)
        assert self.stored.show(record) == shown
        return shown


@pytest.fixture
def stored(library: Library) -> Stored:
    """Three records of kinds with different windows; the third is what the others belong to."""
    desk = open_record_desk(library)
    made = []
    for place, window in enumerate(WINDOWS):
        children = {"children": "auto"} if place == WHOLE else {}
        desk.define(f"kind{place}", {}, pulse="auto", coalesce_seconds=int(window.total_seconds()), **children)
        made.append(desk.create(NewEntity(f"kind{place}", f"Record {place}")))
        desk.now += timedelta(seconds=1)
    for part in made[:WHOLE]:
        desk.link(part.handle, made[WHOLE].handle, "is_in")
    found = Stored(desk, [one.id for one in made])
    found.clean()
    return found


def test_the_database_does_what_the_rules_say_whatever_happens(stored: Stored) -> None:
    dice = random.Random(6)
    written = 0
    for _ in range(STORIES):
        stored.clean()
        story = Story(Both(Rules(), stored))
        for name, number in moves(dice.randbytes(dice.randrange(20, 100))):
            story.move(name, number)
            for record in range(len(WINDOWS)):
                story.world.show(record)
        story.settle()
        written += len(story.written)
    assert written >= STORIES


def due(stored: Stored) -> None:
    """Every record changed, and its window is over."""
    for record in range(len(WINDOWS)):
        stored.mark(record, "changed", START)


@pytest.fixture
def four(stored: Stored, open_database: Callable[[], Database]) -> list[Stored]:
    return [Stored(stored.desk, stored.ids, open_database()) for _ in range(4)]


def at_once[R](worlds: list[Stored], act: Callable[[Stored, timedelta], R]) -> list[R]:
    """What each gives; no two workers read the same time."""
    together, given = Barrier(len(worlds)), list[R]()

    def one(world: Stored, extra: timedelta) -> None:
        together.wait()
        given.append(act(world, extra))

    threads = [Thread(target=one, args=(world, timedelta(microseconds=at))) for at, world in enumerate(worlds)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return given


def test_sweeps_at_once_send_each_pulse_once(stored: Stored, four: list[Stored]) -> None:
    due(stored)
    now = START + timedelta(minutes=3)
    sent = at_once(four, lambda world, extra: world.sweep(now + extra))
    assert sorted(one for each in sent for one in each) == [0, 1, 2]
    for record in range(3):
        due_at = stored.show(record).due_at
        assert due_at is not None
        assert timedelta() <= due_at - now - rules.GRACE < timedelta(seconds=1)


def test_writers_at_once_are_one(stored: Stored, four: list[Stored]) -> None:
    due(stored)
    now = START + timedelta(minutes=3)
    stored.sweep(now)
    begun = at_once(four, lambda world, extra: world.begin(0, now + LIFE + extra, now + extra))
    assert len([one for one in begun if one]) == 1


def ending_at(stored: Stored) -> tuple[datetime, datetime, Unreflected]:
    """A writer of record 0 that has read: when, until when it holds it, and the marks."""
    due(stored)
    now = START + timedelta(minutes=3)
    stored.sweep(now)
    seen = stored.begin(0, now + LIFE, now)
    assert seen is not None
    return now, now + LIFE, Unreflected(seen.marks, 0, None, seen.causes)


def end(tx: Transaction, stored: Stored, told: Unreflected, read_at: datetime, until: datetime) -> None:
    ending.written(
        tx, stored.ids[0], told, read_at, window=WINDOWS[0], age=AGE, held_until=until, cost_usd=COST,
        now=read_at + timedelta(seconds=3),
    )  # fmt: skip


def test_a_change_that_comes_before_a_writer_tells_is_not_lost(stored: Stored, four: list[Stored]) -> None:
    now, until, told = ending_at(stored)
    later = now + timedelta(seconds=2)
    with stored.database.transaction(stored.tenant_id) as tx:
        assert ending.is_ours(tx, stored.ids[0], until)
        changing = Thread(target=lambda: four[0].mark(0, "changed", later))
        changing.start()
        changing.join(10)
        assert not changing.is_alive()
        end(tx, stored, told, now, until)
    shown = stored.show(0)
    assert (shown.since, shown.causes, shown.due_at) == (later, {"changed": later}, later + WINDOWS[0])
    assert shown.marks == shown.told + 1


def test_a_change_that_comes_after_a_writer_told_waits_for_it_and_is_not_lost(
    stored: Stored, four: list[Stored]
) -> None:
    now, until, told = ending_at(stored)
    later = now + timedelta(seconds=2)
    changing = Thread(target=lambda: four[0].mark(0, "changed", later))
    with stored.database.transaction(stored.tenant_id) as tx:
        assert ending.is_ours(tx, stored.ids[0], until)
        end(tx, stored, told, now, until)
        changing.start()
        changing.join(0.5)
        assert changing.is_alive()
    changing.join(10)
    shown = stored.show(0)
    assert (shown.since, shown.causes, shown.due_at) == (later, {"changed": later}, later + WINDOWS[0])
    assert shown.marks == shown.told + 1


def test_a_change_that_is_committed_after_a_writer_told_is_told_of_next(stored: Stored, four: list[Stored]) -> None:
    now, until, told = ending_at(stored)
    later = now - timedelta(seconds=2)
    with four[0].database.transaction(stored.tenant_id) as open_one:
        stale.mark(open_one, stored.ids[0], "changed", later)
        with stored.database.transaction(stored.tenant_id) as tx:
            assert ending.is_ours(tx, stored.ids[0], until)
            end(tx, stored, told, now, until)
        assert stored.show(0).due_at == now + WINDOWS[0]  # somebody is at it: what of, nobody knows yet
    then = now + timedelta(minutes=1)
    assert 0 in stored.sweep(then)
    seen = stored.begin(0, then + LIFE, then)
    assert seen is not None
    assert (seen.marks, seen.causes) == (told.marks + 2, {"changed": later})
    assert stored.written(0, seen, then, then + LIFE, then)
    shown = stored.show(0)
    assert (shown.since, shown.told) == (None, shown.marks)


def test_those_who_change_parts_of_a_stale_whole_do_not_wait_for_each_other(stored: Stored, four: list[Stored]) -> None:
    due(stored)
    marks = stored.show(WHOLE).marks
    later = START + timedelta(seconds=5)
    other = Thread(target=lambda: four[1].mark(1, "changed", later))
    with four[0].database.transaction(stored.tenant_id) as tx:
        stale.mark(tx, stored.ids[0], "changed", later)
        other.start()
        other.join(10)
        assert not other.is_alive()
    assert stored.show(WHOLE).marks == marks + 2


def test_a_kind_that_is_switched_on_while_its_pulses_are_settled_loses_no_mark(stored: Stored) -> None:
    due(stored)
    now = START + timedelta(minutes=3)
    rag = "UPDATE entity_types SET rag = jsonb_set(rag, '{pulse}', %(to)s::jsonb) WHERE key = 'kind0'"
    with stored.desk.transaction() as tx:
        execute(tx, rag, to='"off"')
        gone = [row for row in store.due(tx, now, 99) if row.gone]
        execute(tx, rag, to='"auto"')
    stored.mark(0, "changed", now)
    with stored.desk.transaction() as tx:
        assert [row.id for row in gone] == [stored.ids[0]]
        assert store.settle(tx, [(row.id, row.due_at) for row in gone]) == 0
    assert 0 in stored.sweep(now)


def test_what_somebody_is_just_marking_is_not_settled(stored: Stored, four: list[Stored]) -> None:
    due(stored)
    now = START + timedelta(minutes=3)
    rag = "UPDATE entity_types SET rag = jsonb_set(rag, '{pulse}', %(to)s::jsonb) WHERE key = 'kind0'"
    with four[0].database.transaction(stored.tenant_id) as open_one:
        stale.mark(open_one, stored.ids[0], "changed", now)
        with stored.desk.transaction() as tx:
            execute(tx, rag, to='"off"')
            gone = [row for row in store.due(tx, now, 99) if row.gone]
            assert store.settle(tx, [(row.id, row.due_at) for row in gone]) == 0
    assert stored.sweep(now + timedelta(minutes=1)).count(0) == 0
    with stored.desk.transaction() as tx:
        assert work_due.find(tx, "pulse", stored.ids[0]) is None


def test_a_writer_that_finds_no_kind_with_pulses_settles_only_what_is_still_without(stored: Stored) -> None:
    now, until, _ = ending_at(stored)
    stored.mark(0, "changed", now)  # and the kind has Pulses again
    with stored.desk.transaction() as tx:
        ending.gone(tx, stored.ids[0], until, now)
    assert stored.sweep(now + timedelta(minutes=1)).count(0) == 1


def test_one_that_was_given_up_is_tried_again_when_it_changes(stored: Stored) -> None:
    due(stored)
    now = START + timedelta(minutes=3)
    for _ in range(rules.GIVEN_UP):
        stored.sweep(now)
        stored.begin(0, now + LIFE, now)
        assert stored.failed(0, now + LIFE, now)
        due_at = stored.show(0).due_at
        assert due_at
        tried, now = now, due_at
    assert now == tried + timedelta(days=1)
    stored.mark(0, "changed", tried + timedelta(minutes=1))
    assert stored.show(0).due_at == tried + stale.RETRY_GIVEN_UP
    stored.mark(0, "changed", tried + timedelta(hours=2))
    assert stored.show(0).due_at == tried + stale.RETRY_GIVEN_UP


def test_a_change_whose_clock_is_behind_the_reading_keeps_its_time(stored: Stored) -> None:
    due(stored)
    now = START + timedelta(minutes=3)
    stored.sweep(now)
    until, read_at = now + LIFE, now + timedelta(seconds=5)
    seen = stored.begin(1, until, read_at)
    assert seen is not None
    stored.mark(1, "file_ingested", now)
    assert stored.written(1, seen, read_at, until, read_at + timedelta(seconds=3))
    assert stored.show(1).causes == {"file_ingested": now}
    assert stored.show(1).due_at == now + WINDOWS[1]


def test_a_deleted_record_and_one_whose_kind_has_no_pulses_any_more_are_settled(stored: Stored) -> None:
    due(stored)
    with stored.desk.transaction() as tx:
        execute(tx, "UPDATE entity_types SET rag = '{}' WHERE key = 'kind0'")
    stored.desk.delete(stored.ids[1])
    assert stored.sweep(START + timedelta(minutes=3)) == [WHOLE]
    with stored.desk.transaction() as tx:
        assert [work_due.find(tx, "pulse", one) is None for one in stored.ids] == [True, True, False]


def test_what_is_read_more_is_sent_first_and_what_waits_for_budget_comes_with_the_next_day(stored: Stored) -> None:
    due(stored)
    with stored.desk.transaction() as tx:
        execute(tx, "INSERT INTO pulse_states (tenant_id, entity_id, reads, read_at, cost_usd) SELECT tenant_id, id,"
                " CASE WHEN key = (SELECT key FROM entities WHERE id = %(id)s) THEN 9 ELSE 0 END, %(now)s, 0.03"
                " FROM entities", id=stored.ids[1], now=START)  # fmt: skip
    now = START + timedelta(minutes=3)
    assert stored.sweep(now) == [1]
    assert stored.show(0).waiting_for == stored.show(2).waiting_for == "budget"
    assert stored.show(0).due_at == rules.next_day(now)
    assert stored.sweep(now + timedelta(minutes=1)) == []
    assert stored.sweep(rules.next_day(now))[:1] != []
