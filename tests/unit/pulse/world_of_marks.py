"""The rules of staleness as they are written down, to be held against what the code does: records, those who change
them, a sweep, a queue that loses and repeats messages, and writers that are slow, fail and die."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Protocol
from uuid import UUID

from parlour.pulse.due import rules
from parlour.pulse.due.rules import Budget, Candidate

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
AGE = timedelta(hours=24)
LIFE = timedelta(minutes=5)
"""How long a writer has its record."""

WINDOWS = tuple(timedelta(seconds=seconds) for seconds in (10, 30, 120))
"""Of the records: the third is what the first and second belong to."""

WHOLE = 2
COST = Decimal("0.01")
CAP = Decimal("0.05")

type Move = tuple[str, int]
"""What happens, and to which record, for how many seconds or to which message or writer."""


@dataclass(frozen=True)
class Marks:
    """What a writer has read: up to which mark, and the causes since when."""

    marks: int
    causes: Mapping[str, datetime]


@dataclass(frozen=True)
class Shown:
    """A record from outside: as the database has it, too."""

    since: datetime | None
    causes: Mapping[str, datetime]
    marks: int
    told: int
    due_at: datetime | None
    failures: int
    waiting_for: str | None


@dataclass
class Cause:
    """When it came up, by the number of the mark."""

    times: dict[int, datetime]

    @property
    def since(self) -> datetime:
        return min(self.times.values())

    def after(self, mark: int) -> "Cause":
        return Cause({number: at for number, at in self.times.items() if number > mark})


class Marked(Protocol):
    """Records that are marked, swept and written: the model of the rules, or the database."""

    def mark(self, record: int, cause: str, now: datetime) -> None: ...

    def ask(self, record: int, now: datetime) -> None: ...

    def sweep(self, now: datetime) -> list[int]: ...

    def begin(self, record: int, until: datetime, now: datetime) -> Marks | None: ...

    def written(self, record: int, seen: Marks, read_at: datetime, until: datetime, now: datetime) -> bool: ...

    def failed(self, record: int, until: datetime, now: datetime) -> bool: ...

    def show(self, record: int) -> Shown: ...


@dataclass
class Record:
    """One record by the rules."""

    window: timedelta
    marks: int = 0
    told: int = 0
    since: datetime | None = None
    causes: dict[str, Cause] = field(default_factory=dict)
    due_at: datetime | None = None
    held_until: datetime | None = None
    asked_at: datetime | None = None
    failures: int = 0
    waiting_for: str | None = None
    cost: Decimal | None = None

    def mark(self, cause: str, now: datetime) -> None:
        """Counted, kept with its first time; the first of all says by when to look, unless that is sooner already."""
        self.marks += 1
        is_first = self.since is None
        self.since = self.since or now
        self.causes.setdefault(cause, Cause({})).times[self.marks] = now
        by = self.since + self.window
        if self.due_at is None or (self.held_until is None and is_first and by < self.due_at):
            self.due_at = by


class Rules:
    """All of it in the memory of this process. cap: US dollars a day; spent: by the day's end."""

    def __init__(self, cap: Decimal = CAP) -> None:
        self.cap = cap
        self.records = [Record(window) for window in WINDOWS]
        self.spent: dict[datetime, Decimal] = {}

    def mark(self, record: int, cause: str, now: datetime) -> None:
        self.records[record].mark(cause, now)
        if record != WHOLE:
            self.records[WHOLE].mark("child_changed", now)

    def ask(self, record: int, now: datetime) -> None:
        one = self.records[record]
        one.mark("manual", now)
        if one.due_at and one.due_at > now and (one.held_until is None or one.held_until <= now):
            one.due_at = now

    def sweep(self, now: datetime) -> list[int]:
        due = [
            (place, one)
            for place, one in enumerate(self.records)
            if one.due_at and one.due_at <= now and (one.held_until is None or one.held_until <= now)
        ]
        for _, one in due:
            if one.since is None:
                one.mark("age", now)
        found = [Candidate(UUID(int=place), one.due_at or now, one.since, 0, None, one.cost) for place, one in due]
        budget = self._budget(now)
        chosen = rules.choose(found, budget, 99, now)
        for waits in chosen.wait:
            one = self.records[waits.id.int]
            one.due_at, one.waiting_for, one.asked_at = rules.room_again(budget, now), "budget", None
        for sends in chosen.send:
            one = self.records[sends.id.int]
            one.due_at, one.waiting_for, one.asked_at = now + rules.GRACE, None, now
        return [one.id.int for one in chosen.send]

    def begin(self, record: int, until: datetime, now: datetime) -> Marks | None:
        one = self.records[record]
        if not (one.asked_at or "manual" in one.causes) or (one.held_until and one.held_until > now):
            return None
        one.due_at = one.held_until = until
        return Marks(one.marks, {cause: found.since for cause, found in one.causes.items()})

    def written(self, record: int, seen: Marks, read_at: datetime, until: datetime, now: datetime) -> bool:
        one = self.records[record]
        if one.held_until != until:
            return False
        one.told = max(one.told, seen.marks)
        later = {cause: found.after(seen.marks) for cause, found in one.causes.items()}
        one.causes = {cause: found for cause, found in later.items() if found.times}
        one.since = min((found.since for found in one.causes.values()), default=None)
        one.due_at, one.held_until = rules.look_at(one.since, one.window, now, AGE), None
        one.failures, one.waiting_for, one.asked_at, one.cost = 0, None, None, COST
        day = rules.next_day(now)
        self.spent[day] = self.spent.get(day, Decimal()) + COST
        return True

    def failed(self, record: int, until: datetime, now: datetime) -> bool:
        one = self.records[record]
        if one.held_until != until:
            return False
        one.failures += 1
        one.waiting_for, one.asked_at = "backoff", None
        one.due_at, one.held_until = now + rules.back_off(one.failures), None
        return True

    def show(self, record: int) -> Shown:
        one = self.records[record]
        causes = {cause: found.since for cause, found in one.causes.items()}
        return Shown(one.since, causes, one.marks, one.told, one.due_at, one.failures, one.waiting_for)

    def _budget(self, now: datetime) -> Budget:
        under_way = [one for one in self.records if one.asked_at and one.asked_at > now - rules.GRACE]
        expected = sum((one.cost or rules.UNKNOWN_COST for one in under_way), Decimal())
        return Budget(self.cap, self.spent.get(rules.next_day(now), Decimal()), expected)


@dataclass(frozen=True)
class Writing:
    """A writer who is at a record: what it has read, when, and until when the record is its own."""

    record: int
    seen: Marks
    read_at: datetime
    until: datetime


@dataclass(frozen=True)
class Written:
    """Pulses that were written: when their sources were read, and what for."""

    record: int
    read_at: datetime
    at: datetime
    causes: tuple[str, ...]
    since: datetime | None


@dataclass
class Story:
    """What happened in one world. changes: every change of a record and when it was told of; None while it is not."""

    world: Marked
    now: datetime = START
    messages: list[int] = field(default_factory=list)
    writers: list[Writing] = field(default_factory=list)
    written: list[Written] = field(default_factory=list)
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
            shown = [self.world.show(record) for record in range(len(WINDOWS))]
            if not (due := [one.due_at for one in shown if one.since and one.due_at]):
                return
            self.now = max(self.now, *due)
            self.move("sweep", 0)

    def _change(self, number: int) -> None:
        self.world.mark(number % len(WINDOWS), ("changed", "link_changed", "file_ingested")[number % 7 % 3], self.now)

    def _ask(self, number: int) -> None:
        record = number % len(WINDOWS)
        self.world.ask(record, self.now)
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
            if seen := self.world.begin(record, until, self.now):
                self.writers.append(Writing(record, seen, self.now, until))

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
            if self.world.written(one.record, one.seen, one.read_at, one.until, self.now):
                self.written.append(Written(one.record, one.read_at, self.now, tuple(one.seen.causes), since))

    def _fail(self, number: int) -> None:
        if self.writers:
            one = self.writers.pop(number % len(self.writers))
            self.world.failed(one.record, one.until, self.now)

    def _die(self, number: int) -> None:
        if self.writers:
            self.writers.pop(number % len(self.writers))


MOVES: Mapping[str, int] = {
    "change": 20, "ask": 2, "wait": 400, "sweep": 1, "deliver": 3, "repeat": 3, "lose": 3, "finish": 3, "fail": 3,
    "die": 3,
}  # fmt: skip
"""What can happen, and the largest number that it is given."""

_OFTEN = ("change", "change", "wait", "sweep", "deliver", "finish")
_NAMES = (*MOVES, *_OFTEN)


def moves(dice: bytes) -> list[Move]:
    """Whatever bytes are, as things that happen: two for each."""
    thrown = zip(dice[::2], dice[1::2], strict=False)
    return [((name := _NAMES[one % len(_NAMES)]), other * (MOVES[name] + 1) // 256) for one, other in thrown]
