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
from parlour.pulse.due import attempts, scheduling_rules, store
from parlour.pulse.due.sweep import PulseSweepDependencies, sweep_tenant
from parlour.pulse.pulse import PulseJob
from parlour.records import staleness
from parlour.records.crud import RecordInput
from parlour.records.staleness import PendingChanges
from tests.conversation_harness import FakeDelayedQueue
from tests.integration.knowledge_tenant import KnowledgeTenant, execute
from tests.integration.records.record_harness import RecordHarness, open_record_harness
from tests.unit.pulse.staleness_model import (
    AGE,
    CAP,
    COST,
    LIFE,
    PARENT,
    START,
    WINDOWS,
    EventSequence,
    ReadMarks,
    RecordState,
    ReferenceModel,
    parse_events,
)

STORIES = 40

_STATE = Query(
    "test.state",
    "-",
    "SELECT coalesce(failures, 0) AS failures, waiting_for FROM pulse_states WHERE entity_id = %(id)s",
)
_BESIDE = Query("test.beside", "-", "SELECT count(*) AS marks FROM pulse_marks WHERE entity_id = %(id)s")
_CLEAN = (
    "UPDATE entities SET stale_mark_count = 0, reflected_mark_count = 0, stale_since = NULL, stale_causes = '{}',"
    " stale_marks = '{}'",
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


class DatabasePulses:
    """The same world in the database, through the functions that everybody uses."""

    def __init__(self, desk: RecordHarness, ids: list[UUID], database: Database | None = None) -> None:
        self.desk = desk
        self.ids = ids
        self.database = database or desk.database
        self.tenant_id = desk.principal.tenant_id

    def clean(self) -> None:
        with self.desk.transaction() as tx:
            for statement in _CLEAN:
                execute(tx, statement)

    def mark(self, record: int, cause: str, now: datetime) -> None:
        self.database.run(self.tenant_id, lambda tx: staleness.mark_stale(tx, self.ids[record], cause, now))  # type: ignore[arg-type]

    def request_refresh(self, record: int, now: datetime) -> None:
        self.database.run(self.tenant_id, lambda tx: staleness.request_refresh(tx, self.ids[record], now))

    def sweep(self, now: datetime) -> list[int]:
        orders = FakeDelayedQueue()
        sweep_tenant(PulseSweepDependencies(self.database, orders, Decimal(100), CAP, lambda: now), self.tenant_id)
        return [self.ids.index(PulseJob.from_json(body).entity_id) for body, _ in orders.sent]

    def begin_writing(self, record: int, until: datetime, now: datetime) -> ReadMarks | None:
        with self.database.transaction(self.tenant_id) as tx:
            seen = (
                staleness.read_pending_changes(tx, self.ids[record])
                if attempts.lease(tx, self.ids[record], until, now)
                else None
            )
        return ReadMarks(seen.mark_count, seen.causes) if seen else None

    def finish_writing(self, record: int, seen: ReadMarks, read_at: datetime, until: datetime, now: datetime) -> bool:
        told = PendingChanges(seen.mark_count, 0, None, seen.causes)
        with self.database.transaction(self.tenant_id) as tx:
            if not attempts.lock_lease(tx, self.ids[record], until):
                return False
            attempts.record_success(
                tx,
                self.ids[record],
                attempts.CurrentPulses(told, read_at, COST),
                until,
                now,
                window=WINDOWS[record],
                max_age=AGE,
            )
            execute(tx, _SPENT, day=now.date(), id=self.ids[record], usd=COST)
        return True

    def fail_writing(self, record: int, until: datetime, now: datetime) -> bool:
        with self.database.transaction(self.tenant_id) as tx:
            ours = attempts.lock_lease(tx, self.ids[record], until)
            if ours:
                attempts.record_failure(tx, self.ids[record], "bad_json", until, now)
        return ours

    def read_state(self, record: int) -> RecordState:
        with self.database.transaction(self.tenant_id) as tx:
            found = staleness.read_pending_changes(tx, self.ids[record])
            beside = tx.value(_BESIDE, id=self.ids[record])
            due = work_due.find(tx, "pulse", self.ids[record])
            state = tx.first(_STATE, State, id=self.ids[record]) or State(0, None)
        assert found is not None
        return RecordState(
            found.since,
            dict(found.causes),
            found.mark_count + beside,
            found.reflected_mark_count,
            due.due_at if due else None,
            state.failures,
            state.waiting_for,
        )


class ComparedPulses:
    """The rules and the database, side by side: what one answers, the other does."""

    def __init__(self, rules_: ReferenceModel, database_pulses: DatabasePulses) -> None:
        self.rules, self.stored = rules_, database_pulses

    def mark(self, record: int, cause: str, now: datetime) -> None:
        self.rules.mark(record, cause, now)
        self.stored.mark(record, cause, now)

    def request_refresh(self, record: int, now: datetime) -> None:
        self.rules.request_refresh(record, now)
        self.stored.request_refresh(record, now)

    def sweep(self, now: datetime) -> list[int]:
        sent = self.rules.sweep(now)
        assert self.stored.sweep(now) == sent
        return sent

    def begin_writing(self, record: int, until: datetime, now: datetime) -> ReadMarks | None:
        seen = self.rules.begin_writing(record, until, now)
        assert self.stored.begin_writing(record, until, now) == seen
        return seen

    def finish_writing(self, record: int, seen: ReadMarks, read_at: datetime, until: datetime, now: datetime) -> bool:
        done = self.rules.finish_writing(record, seen, read_at, until, now)
        assert self.stored.finish_writing(record, seen, read_at, until, now) is done
        return done

    def fail_writing(self, record: int, until: datetime, now: datetime) -> bool:
        done = self.rules.fail_writing(record, until, now)
        assert self.stored.fail_writing(record, until, now) is done
        return done

    def read_state(self, record: int) -> RecordState:
        shown = self.rules.read_state(record)
        assert self.stored.read_state(record) == shown
        return shown


@pytest.fixture
def database_pulses(library: KnowledgeTenant) -> DatabasePulses:
    """Three records of kinds with different windows; the third is what the others belong to."""
    desk = open_record_harness(library)
    made = []
    for place, window in enumerate(WINDOWS):
        children = {"children": "auto"} if place == PARENT else {}
        desk.define_type(f"kind{place}", {}, pulse="auto", coalesce_seconds=int(window.total_seconds()), **children)
        made.append(desk.create(RecordInput(f"kind{place}", f"Record {place}")))
        desk.now += timedelta(seconds=1)
    for part in made[:PARENT]:
        desk.link(part.handle, made[PARENT].handle, "is_in")
    found = DatabasePulses(desk, [one.id for one in made])
    found.clean()
    return found


def test_the_database_does_what_the_rules_say_whatever_happens(database_pulses: DatabasePulses) -> None:
    dice = random.Random(6)
    written = 0
    for _ in range(STORIES):
        database_pulses.clean()
        story = EventSequence(ComparedPulses(ReferenceModel(), database_pulses))
        for name, number in parse_events(dice.randbytes(dice.randrange(20, 100))):
            story.move(name, number)
            for record in range(len(WINDOWS)):
                story.world.read_state(record)
        story.settle()
        written += len(story.written)
    assert written >= STORIES


def due(database_pulses: DatabasePulses) -> None:
    """Every record changed, and its window is over."""
    for record in range(len(WINDOWS)):
        database_pulses.mark(record, "changed", START)


@pytest.fixture
def four(database_pulses: DatabasePulses, open_database: Callable[[], Database]) -> list[DatabasePulses]:
    return [DatabasePulses(database_pulses.desk, database_pulses.ids, open_database()) for _ in range(4)]


def at_once[R](worlds: list[DatabasePulses], act: Callable[[DatabasePulses, timedelta], R]) -> list[R]:
    """What each gives; no two workers read the same time."""
    together, given = Barrier(len(worlds)), list[R]()

    def one(world: DatabasePulses, extra: timedelta) -> None:
        together.wait()
        given.append(act(world, extra))

    threads = [Thread(target=one, args=(world, timedelta(microseconds=at))) for at, world in enumerate(worlds)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return given


def test_sweeps_at_once_send_each_pulse_once(database_pulses: DatabasePulses, four: list[DatabasePulses]) -> None:
    due(database_pulses)
    now = START + timedelta(minutes=3)
    sent = at_once(four, lambda world, extra: world.sweep(now + extra))
    assert sorted(one for each in sent for one in each) == [0, 1, 2]
    for record in range(3):
        due_at = database_pulses.read_state(record).due_at
        assert due_at is not None
        assert timedelta() <= due_at - now - scheduling_rules.WRITER_TIMEOUT < timedelta(seconds=1)


def test_writers_at_once_are_one(database_pulses: DatabasePulses, four: list[DatabasePulses]) -> None:
    due(database_pulses)
    now = START + timedelta(minutes=3)
    database_pulses.sweep(now)
    begun = at_once(four, lambda world, extra: world.begin_writing(0, now + LIFE + extra, now + extra))
    assert len([one for one in begun if one]) == 1


def ending_at(database_pulses: DatabasePulses) -> tuple[datetime, datetime, PendingChanges]:
    """A writer of record 0 that has read: when, until when it holds it, and the marks."""
    due(database_pulses)
    now = START + timedelta(minutes=3)
    database_pulses.sweep(now)
    seen = database_pulses.begin_writing(0, now + LIFE, now)
    assert seen is not None
    return now, now + LIFE, PendingChanges(seen.mark_count, 0, None, seen.causes)


def end(
    tx: Transaction, database_pulses: DatabasePulses, told: PendingChanges, read_at: datetime, until: datetime
) -> None:
    attempts.record_success(
        tx,
        database_pulses.ids[0],
        attempts.CurrentPulses(told, read_at, COST),
        until,
        read_at + timedelta(seconds=3),
        window=WINDOWS[0],
        max_age=AGE,
    )


def test_a_change_that_comes_before_a_writer_tells_is_not_lost(
    database_pulses: DatabasePulses, four: list[DatabasePulses]
) -> None:
    now, until, told = ending_at(database_pulses)
    later = now + timedelta(seconds=2)
    with database_pulses.database.transaction(database_pulses.tenant_id) as tx:
        assert attempts.lock_lease(tx, database_pulses.ids[0], until)
        changing = Thread(target=lambda: four[0].mark(0, "changed", later))
        changing.start()
        changing.join(10)
        assert not changing.is_alive()
        end(tx, database_pulses, told, now, until)
    shown = database_pulses.read_state(0)
    assert (shown.stale_since, shown.causes, shown.due_at) == (later, {"changed": later}, later + WINDOWS[0])
    assert shown.mark_count == shown.reflected_mark_count + 1


def test_a_change_that_comes_after_a_writer_told_waits_for_it_and_is_not_lost(
    database_pulses: DatabasePulses, four: list[DatabasePulses]
) -> None:
    now, until, told = ending_at(database_pulses)
    later = now + timedelta(seconds=2)
    changing = Thread(target=lambda: four[0].mark(0, "changed", later))
    with database_pulses.database.transaction(database_pulses.tenant_id) as tx:
        assert attempts.lock_lease(tx, database_pulses.ids[0], until)
        end(tx, database_pulses, told, now, until)
        changing.start()
        changing.join(0.5)
        assert changing.is_alive()
    changing.join(10)
    shown = database_pulses.read_state(0)
    assert (shown.stale_since, shown.causes, shown.due_at) == (later, {"changed": later}, later + WINDOWS[0])
    assert shown.mark_count == shown.reflected_mark_count + 1


def test_a_change_that_is_committed_after_a_writer_told_is_told_of_next(
    database_pulses: DatabasePulses, four: list[DatabasePulses]
) -> None:
    now, until, told = ending_at(database_pulses)
    later = now - timedelta(seconds=2)
    with four[0].database.transaction(database_pulses.tenant_id) as open_one:
        staleness.mark_stale(open_one, database_pulses.ids[0], "changed", later)
        with database_pulses.database.transaction(database_pulses.tenant_id) as tx:
            assert attempts.lock_lease(tx, database_pulses.ids[0], until)
            end(tx, database_pulses, told, now, until)
        assert database_pulses.read_state(0).due_at == now + WINDOWS[0]  # somebody is at it: what of, nobody knows yet
    then = now + timedelta(minutes=1)
    assert 0 in database_pulses.sweep(then)
    seen = database_pulses.begin_writing(0, then + LIFE, then)
    assert seen is not None
    assert (seen.mark_count, seen.causes) == (told.mark_count + 2, {"changed": later})
    assert database_pulses.finish_writing(0, seen, then, then + LIFE, then)
    shown = database_pulses.read_state(0)
    assert (shown.stale_since, shown.reflected_mark_count) == (None, shown.mark_count)


def test_those_who_change_parts_of_a_stale_whole_do_not_wait_for_each_other(
    database_pulses: DatabasePulses, four: list[DatabasePulses]
) -> None:
    due(database_pulses)
    marks = database_pulses.read_state(PARENT).mark_count
    later = START + timedelta(seconds=5)
    other = Thread(target=lambda: four[1].mark(1, "changed", later))
    with four[0].database.transaction(database_pulses.tenant_id) as tx:
        staleness.mark_stale(tx, database_pulses.ids[0], "changed", later)
        other.start()
        other.join(10)
        assert not other.is_alive()
    assert database_pulses.read_state(PARENT).mark_count == marks + 2


def test_a_kind_that_is_switched_on_while_its_pulses_are_settled_loses_no_mark(database_pulses: DatabasePulses) -> None:
    due(database_pulses)
    now = START + timedelta(minutes=3)
    rag = "UPDATE entity_types SET rag = jsonb_set(rag, '{pulse}', %(to)s::jsonb) WHERE key = 'kind0'"
    with database_pulses.desk.transaction() as tx:
        execute(tx, rag, to='"off"')
        gone = [row for row in store.list_due_pulses(tx, now, 99) if row.is_obsolete]
        execute(tx, rag, to='"auto"')
    database_pulses.mark(0, "changed", now)
    with database_pulses.desk.transaction() as tx:
        assert [row.id for row in gone] == [database_pulses.ids[0]]
        assert store.delete_obsolete_work(tx, [(row.id, row.due_at) for row in gone]) == 0
    assert 0 in database_pulses.sweep(now)


def test_what_somebody_is_just_marking_is_not_settled(
    database_pulses: DatabasePulses, four: list[DatabasePulses]
) -> None:
    due(database_pulses)
    now = START + timedelta(minutes=3)
    rag = "UPDATE entity_types SET rag = jsonb_set(rag, '{pulse}', %(to)s::jsonb) WHERE key = 'kind0'"
    with four[0].database.transaction(database_pulses.tenant_id) as open_one:
        staleness.mark_stale(open_one, database_pulses.ids[0], "changed", now)
        with database_pulses.desk.transaction() as tx:
            execute(tx, rag, to='"off"')
            gone = [row for row in store.list_due_pulses(tx, now, 99) if row.is_obsolete]
            assert store.delete_obsolete_work(tx, [(row.id, row.due_at) for row in gone]) == 0
    assert database_pulses.sweep(now + timedelta(minutes=1)).count(0) == 0
    with database_pulses.desk.transaction() as tx:
        assert work_due.find(tx, "pulse", database_pulses.ids[0]) is None


def test_a_writer_that_finds_no_kind_with_pulses_settles_only_what_is_still_without(
    database_pulses: DatabasePulses,
) -> None:
    now, until, _ = ending_at(database_pulses)
    database_pulses.mark(0, "changed", now)  # and the kind has Pulses again
    with database_pulses.desk.transaction() as tx:
        attempts.drop(tx, database_pulses.ids[0], until, now)
    assert database_pulses.sweep(now + timedelta(minutes=1)).count(0) == 1


def test_one_that_was_given_up_is_tried_again_when_it_changes(database_pulses: DatabasePulses) -> None:
    due(database_pulses)
    now = START + timedelta(minutes=3)
    for _ in range(scheduling_rules.MAX_FAILURES):
        database_pulses.sweep(now)
        database_pulses.begin_writing(0, now + LIFE, now)
        assert database_pulses.fail_writing(0, now + LIFE, now)
        due_at = database_pulses.read_state(0).due_at
        assert due_at
        tried, now = now, due_at
    assert now == tried + timedelta(days=1)
    database_pulses.mark(0, "changed", tried + timedelta(minutes=1))
    assert database_pulses.read_state(0).due_at == tried + staleness.RETRY_AFTER_GIVING_UP
    database_pulses.mark(0, "changed", tried + timedelta(hours=2))
    assert database_pulses.read_state(0).due_at == tried + staleness.RETRY_AFTER_GIVING_UP


def test_a_change_whose_clock_is_behind_the_reading_keeps_its_time(database_pulses: DatabasePulses) -> None:
    due(database_pulses)
    now = START + timedelta(minutes=3)
    database_pulses.sweep(now)
    until, read_at = now + LIFE, now + timedelta(seconds=5)
    seen = database_pulses.begin_writing(1, until, read_at)
    assert seen is not None
    database_pulses.mark(1, "file_ingested", now)
    assert database_pulses.finish_writing(1, seen, read_at, until, read_at + timedelta(seconds=3))
    assert database_pulses.read_state(1).causes == {"file_ingested": now}
    assert database_pulses.read_state(1).due_at == now + WINDOWS[1]


def test_a_deleted_record_and_one_whose_kind_has_no_pulses_any_more_are_settled(
    database_pulses: DatabasePulses,
) -> None:
    due(database_pulses)
    with database_pulses.desk.transaction() as tx:
        execute(tx, "UPDATE entity_types SET rag = '{}' WHERE key = 'kind0'")
    database_pulses.desk.delete(database_pulses.ids[1])
    assert database_pulses.sweep(START + timedelta(minutes=3)) == [PARENT]
    with database_pulses.desk.transaction() as tx:
        assert [work_due.find(tx, "pulse", one) is None for one in database_pulses.ids] == [True, True, False]


def test_what_is_read_more_is_sent_first_and_what_waits_for_budget_comes_with_the_next_day(
    database_pulses: DatabasePulses,
) -> None:
    due(database_pulses)
    with database_pulses.desk.transaction() as tx:
        execute(
            tx,
            "INSERT INTO pulse_states (tenant_id, entity_id, decayed_reads, reads_counted_at, last_cost_usd)"
            " SELECT tenant_id, id,"
            " CASE WHEN key = (SELECT key FROM entities WHERE id = %(id)s) THEN 9 ELSE 0 END, %(now)s, 0.03"
            " FROM entities",
            id=database_pulses.ids[1],
            now=START,
        )
    now = START + timedelta(minutes=3)
    assert database_pulses.sweep(now) == [1]
    assert database_pulses.read_state(0).waiting_for == database_pulses.read_state(2).waiting_for == "budget"
    assert database_pulses.read_state(0).due_at == scheduling_rules.start_of_next_day(now)
    assert database_pulses.sweep(now + timedelta(minutes=1)) == []
    assert database_pulses.sweep(scheduling_rules.start_of_next_day(now))[:1] != []
