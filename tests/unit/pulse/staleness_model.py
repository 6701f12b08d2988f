"""The rules of staleness as they are written down, to be held against what the code does: records, those who change
them, a sweep, a queue that loses and repeats messages, and writers that are slow, fail and die."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Protocol
from uuid import UUID

from parlour.pulse.due import scheduling_rules
from parlour.pulse.due.scheduling_rules import DuePulse, PulseBudget

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
AGE = timedelta(hours=24)
LIFE = timedelta(minutes=5)
"""How long a writer has its record."""

WINDOWS = tuple(timedelta(seconds=seconds) for seconds in (10, 30, 120))
"""Of the records: the third is what the first and second belong to."""

PARENT = 2
COST = Decimal("0.01")
CAP = Decimal("0.05")

type Move = tuple[str, int]
"""What happens, and to which record, for how many seconds or to which message or writer."""


@dataclass(frozen=True)
class ReadMarks:
    """What a writer has read: up to which mark, and the causes since when."""

    mark_count: int
    causes: Mapping[str, datetime]


@dataclass(frozen=True)
class RecordState:
    """A record from outside: as the database has it, too."""

    stale_since: datetime | None
    causes: Mapping[str, datetime]
    mark_count: int
    reflected_mark_count: int
    due_at: datetime | None
    failures: int
    waiting_for: str | None


@dataclass
class CauseTimes:
    """When it came up, by the number of the mark."""

    times: dict[int, datetime]

    @property
    def since(self) -> datetime:
        return min(self.times.values())

    def after(self, mark: int) -> "CauseTimes":
        return CauseTimes({number: at for number, at in self.times.items() if number > mark})


class StalenessModel(Protocol):
    """Records that are marked, swept and written: the model of the rules, or the database."""

    def mark(self, record: int, cause: str, now: datetime) -> None: ...

    def request_refresh(self, record: int, now: datetime) -> None: ...

    def sweep(self, now: datetime) -> list[int]: ...

    def begin_writing(self, record: int, until: datetime, now: datetime) -> ReadMarks | None: ...

    def finish_writing(
        self, record: int, seen: ReadMarks, read_at: datetime, until: datetime, now: datetime
    ) -> bool: ...

    def fail_writing(self, record: int, until: datetime, now: datetime) -> bool: ...

    def read_state(self, record: int) -> RecordState: ...


@dataclass
class ModelRecord:
    """One record by the rules."""

    window: timedelta
    mark_count: int = 0
    reflected_mark_count: int = 0
    stale_since: datetime | None = None
    causes: dict[str, CauseTimes] = field(default_factory=dict)
    due_at: datetime | None = None
    leased_until: datetime | None = None
    requested_at: datetime | None = None
    failures: int = 0
    waiting_for: str | None = None
    cost: Decimal | None = None

    def mark(self, cause: str, now: datetime) -> None:
        """Counted, kept with its first time; the first of all says by when to look, unless that is sooner already."""
        self.mark_count += 1
        is_first = self.stale_since is None
        self.stale_since = self.stale_since or now
        self.causes.setdefault(cause, CauseTimes({})).times[self.mark_count] = now
        by = self.stale_since + self.window
        if self.due_at is None or (self.leased_until is None and is_first and by < self.due_at):
            self.due_at = by


class ReferenceModel:
    """All of it in the memory of this process. cap: US dollars a day; spent: by the day's end."""

    def __init__(self, cap: Decimal = CAP) -> None:
        self.cap = cap
        self.records = [ModelRecord(window) for window in WINDOWS]
        self.spent: dict[datetime, Decimal] = {}

    def mark(self, record: int, cause: str, now: datetime) -> None:
        self.records[record].mark(cause, now)
        if record != PARENT:
            self.records[PARENT].mark("child_changed", now)

    def request_refresh(self, record: int, now: datetime) -> None:
        one = self.records[record]
        one.mark("manual", now)
        if one.due_at and one.due_at > now and (one.leased_until is None or one.leased_until <= now):
            one.due_at = now

    def sweep(self, now: datetime) -> list[int]:
        due = [
            (place, one)
            for place, one in enumerate(self.records)
            if one.due_at and one.due_at <= now and (one.leased_until is None or one.leased_until <= now)
        ]
        for _, one in due:
            if one.stale_since is None:
                one.mark("age", now)
        found = [DuePulse(UUID(int=place), one.due_at or now, one.stale_since, 0, None, one.cost) for place, one in due]
        budget = self._budget(now)
        chosen = scheduling_rules.select_pulses(found, budget, 99, now)
        for waits in chosen.wait_for_budget:
            one = self.records[waits.id.int]
            one.due_at, one.waiting_for, one.requested_at = (
                scheduling_rules.next_attempt_with_budget(budget, now),
                "budget",
                None,
            )
        for sends in chosen.send:
            one = self.records[sends.id.int]
            one.due_at, one.waiting_for, one.requested_at = now + scheduling_rules.WRITER_TIMEOUT, None, now
        return [one.id.int for one in chosen.send]

    def begin_writing(self, record: int, until: datetime, now: datetime) -> ReadMarks | None:
        one = self.records[record]
        if not (one.requested_at or "manual" in one.causes) or (one.leased_until and one.leased_until > now):
            return None
        one.due_at = one.leased_until = until
        return ReadMarks(one.mark_count, {cause: found.since for cause, found in one.causes.items()})

    def finish_writing(self, record: int, seen: ReadMarks, read_at: datetime, until: datetime, now: datetime) -> bool:
        one = self.records[record]
        if one.leased_until != until:
            return False
        one.reflected_mark_count = max(one.reflected_mark_count, seen.mark_count)
        later = {cause: found.after(seen.mark_count) for cause, found in one.causes.items()}
        one.causes = {cause: found for cause, found in later.items() if found.times}
        one.stale_since = min((found.since for found in one.causes.values()), default=None)
        one.due_at, one.leased_until = scheduling_rules.next_check_at(one.stale_since, one.window, now, AGE), None
        one.failures, one.waiting_for, one.requested_at, one.cost = 0, None, None, COST
        day = scheduling_rules.start_of_next_day(now)
        self.spent[day] = self.spent.get(day, Decimal()) + COST
        return True

    def fail_writing(self, record: int, until: datetime, now: datetime) -> bool:
        one = self.records[record]
        if one.leased_until != until:
            return False
        one.failures += 1
        one.waiting_for, one.requested_at = "backoff", None
        one.due_at, one.leased_until = now + scheduling_rules.back_off(one.failures), None
        return True

    def read_state(self, record: int) -> RecordState:
        one = self.records[record]
        causes = {cause: found.since for cause, found in one.causes.items()}
        return RecordState(
            one.stale_since, causes, one.mark_count, one.reflected_mark_count, one.due_at, one.failures, one.waiting_for
        )

    def _budget(self, now: datetime) -> PulseBudget:
        under_way = [
            one for one in self.records if one.requested_at and one.requested_at > now - scheduling_rules.WRITER_TIMEOUT
        ]
        expected = sum((one.cost or scheduling_rules.DEFAULT_COST_USD for one in under_way), Decimal())
        return PulseBudget(self.cap, self.spent.get(scheduling_rules.start_of_next_day(now), Decimal()), expected)


@dataclass(frozen=True)
class RunningWriter:
    """A writer who is at a record: what it has read, when, and until when the record is its own."""

    record: int
    seen: ReadMarks
    read_at: datetime
    until: datetime


@dataclass(frozen=True)
class FinishedWriting:
    """Pulses that were written: when their sources were read, and what for."""

    record: int
    read_at: datetime
    at: datetime
    causes: tuple[str, ...]
    since: datetime | None


@dataclass
class EventSequence:
    """What happened in one world. changes: every change of a record and when it was told of; None while it is not."""

    world: StalenessModel
    now: datetime = START
    messages: list[int] = field(default_factory=list)
    writers: list[RunningWriter] = field(default_factory=list)
    written: list[FinishedWriting] = field(default_factory=list)
    ends: int = 0

    def play(self, moves: Sequence[Move]) -> None:
        for name, number in moves:
            self.move(name, number)

    def move(self, name: str, number: int) -> None:
        """One thing happens; every one takes a moment."""
        self.now += timedelta(milliseconds=1)
        getattr(self, f"_{name}")(number)

    def settle(self) -> None:
        """Nothing changes any more and nothing fails: a sweep whenever something is due, until nobody has anything to
        tell."""
        for _ in range(20):
            while self.messages or self.writers:
                self.move("deliver" if self.messages else "finish", 0)
            shown = [self.world.read_state(record) for record in range(len(WINDOWS))]
            if not (due := [one.due_at for one in shown if one.stale_since and one.due_at]):
                return
            self.now = max(self.now, *due)
            self.move("sweep", 0)

    def _change(self, number: int) -> None:
        self.world.mark(number % len(WINDOWS), ("changed", "link_changed", "file_ingested")[number % 7 % 3], self.now)

    def _ask(self, number: int) -> None:
        record = number % len(WINDOWS)
        self.world.request_refresh(record, self.now)
        self.messages.append(record)

    def _wait(self, number: int) -> None:
        self.now += timedelta(seconds=number)

    def _sweep(self, number: int) -> None:
        """Two at once as often as one: the second finds nothing left of what the first has taken."""
        self.messages += self.world.sweep(self.now)
        if number % 2:
            assert self.world.sweep(self.now) == []

    def _deliver(self, number: int) -> None:
        if self.messages:
            record = self.messages.pop(number % len(self.messages))
            until = self.now + LIFE
            if seen := self.world.begin_writing(record, until, self.now):
                self.writers.append(RunningWriter(record, seen, self.now, until))

    def _repeat(self, number: int) -> None:
        if self.messages:
            self.messages.append(self.messages[number % len(self.messages)])

    def _lose(self, number: int) -> None:
        if self.messages:
            self.messages.pop(number % len(self.messages))

    def _finish(self, number: int) -> None:
        if self.writers:
            one = self.writers.pop(number % len(self.writers))
            since = min(one.seen.causes.values(), default=None)
            if self.world.finish_writing(one.record, one.seen, one.read_at, one.until, self.now):
                self.written.append(FinishedWriting(one.record, one.read_at, self.now, tuple(one.seen.causes), since))

    def _fail(self, number: int) -> None:
        if self.writers:
            one = self.writers.pop(number % len(self.writers))
            self.world.fail_writing(one.record, one.until, self.now)

    def _die(self, number: int) -> None:
        if self.writers:
            self.writers.pop(number % len(self.writers))


MOVES: Mapping[str, int] = {
    "change": 20,
    "ask": 2,
    "wait": 400,
    "sweep": 1,
    "deliver": 3,
    "repeat": 3,
    "lose": 3,
    "finish": 3,
    "fail": 3,
    "die": 3,
}
"""What can happen, and the largest number that it is given."""

_OFTEN = ("change", "change", "wait", "sweep", "deliver", "finish")
_NAMES = (*MOVES, *_OFTEN)


def parse_events(dice: bytes) -> list[Move]:
    """Whatever bytes are, as things that happen: two for each."""
    thrown = zip(dice[::2], dice[1::2], strict=False)
    return [((name := _NAMES[one % len(_NAMES)]), other * (MOVES[name] + 1) // 256) for one, other in thrown]
