"""A working day of edits, played through the product's own marks, sweep and writer (see `bench.pulse`).

People come back to a project some times a day and change several things of it within minutes, as they do: states of its
tasks, what a risk may cost, a date; once a day an agent changes several in one go. Between that others read its Pulse,
and somebody presses Refresh for nothing. The clock is the script's: a sweep every minute, from six to six, so that what
nobody touched is looked at for its age.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from bench import report
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.infra.postgres import Database, Transaction
from parlour.infra.queries import Query
from parlour.models.model import Completion, ModelRequest, StreamPart, TokenUsage
from parlour.principal import Principal
from parlour.pulse.due.sweep import PulseSweepDependencies, sweep
from parlour.pulse.pulse import PulseJob
from parlour.pulse.reading import pulse_statistics, pulse_view
from parlour.pulse.reading.pulse_statistics import PulseTotals
from parlour.pulse.writing import writing_job
from parlour.pulse.writing.level_draft import PulseDependencies
from parlour.records import crud, staleness
from parlour.records.record import RecordInput, RecordPatch
from parlour.tenancy import roles, tenants
from parlour.text import token_counter

type Until = Callable[[], bool]

MODEL = "claude-haiku-4-5"
"""Whose price the day is reckoned at."""

_SEED = 11
_BEGINS = datetime(2026, 3, 2, 6, tzinfo=UTC)
_OPENS, _OPEN_FOR = timedelta(hours=2), timedelta(hours=10)
_TASKS, _RISKS = 8, 2
_STATES = ("open", "in progress", "waiting", "done")
_MINUTE = timedelta(minutes=1)
_FIRST_LINE = re.compile(r"^\[(\d+)\] (.+)$", re.MULTILINE)
_PLENTY = Decimal(1_000_000)

_ROUTING = Query(
    "bench.routing",
    "-",
    """
    WITH human AS (
        INSERT INTO humans (tenant_id, id, slug, display_name, identity, created_at, updated_at)
        VALUES (current_tenant(), gen_random_uuid(), 'asha', 'Asha', 'A site engineer.', %(now)s, %(now)s) RETURNING id
    ), team AS (
        INSERT INTO teams (tenant_id, id, slug, display_name, role, created_at, updated_at)
        VALUES (current_tenant(), gen_random_uuid(), 'site', 'Site', 'Answers.', %(now)s, %(now)s) RETURNING id
    ), agent AS (
        INSERT INTO agents (tenant_id, id, slug, display_name, instructions, model_routing, created_at, updated_at)
        VALUES (current_tenant(), gen_random_uuid(), 'adviser', 'Adviser', 'Answer.', %(routing)s, %(now)s, %(now)s)
        RETURNING id
    )
    INSERT INTO bindings (tenant_id, id, slug, display_name, human_id, team_id, agent_id, created_at, updated_at)
    SELECT current_tenant(), gen_random_uuid(), 'desk', 'Desk', human.id, team.id, agent.id, %(now)s, %(now)s
      FROM human, team, agent
    """,
)
_KIND = Query(
    "bench.kind",
    "-",
    """
    INSERT INTO entity_types (tenant_id, id, key, display_name, properties, rag, created_at, updated_at)
    VALUES (current_tenant(), gen_random_uuid(), %(key)s, initcap(%(key)s), %(properties)s, %(rag)s, %(now)s, %(now)s)
    """,
)
_MARKS = Query("bench.marks", "-", "SELECT coalesce(sum(stale_mark_count), 0) FROM entities")


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one property, or with an empty name somebody who presses Refresh."""

    at: datetime
    record: UUID
    name: str = ""
    value: str | int = ""


@dataclass
class Clerk:
    """A model that quotes the first lines of what it is given, with their numbers; its tokens are counted."""

    provider: str = "anthropic"
    calls: int = 0

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:  # noqa: ARG002
        self.calls += 1
        asked = "\n".join(str(block.get("text", "")) for block in request.system)
        found = _FIRST_LINE.findall(asked)[:6]
        answer = canonical_json({"statements": [{"text": text, "sources": [int(number)]} for number, text in found]})
        usage = TokenUsage(
            token_counter.count_tokens(canonical_json(request.to_json())), token_counter.count_tokens(answer)
        )
        yield Completion(({"type": "text", "text": answer},), "end_turn", usage)


@dataclass
class Day:
    """A tenant with projects, and the time of the script."""

    database: Database
    principal: Principal
    now: datetime = _BEGINS
    orders: list[PulseJob] = field(default_factory=list)
    model: Clerk = field(default_factory=Clerk)
    projects: dict[UUID, list[UUID]] = field(default_factory=dict)
    whole: dict[UUID, UUID] = field(default_factory=dict)
    pulses: set[UUID] = field(default_factory=set)
    waiting: dict[UUID, list[datetime]] = field(default_factory=lambda: defaultdict(list))
    delays: list[float] = field(default_factory=list)

    def send(self, body: JsonObject, _seconds: float, /) -> None:
        """As the queue of the writers."""
        self.orders.append(PulseJob.from_json(body))

    def run[R](self, work: Callable[[Transaction], R]) -> R:
        with self.database.transaction(self.principal) as tx:
            return work(tx)

    def edit(self, one: Edit) -> None:
        """What somebody does, and whose Pulse has to tell of it."""
        self.now = one.at
        if not one.name:
            self.run(lambda tx: staleness.request_refresh(tx, one.record, one.at))
            return
        patch = RecordPatch(properties={one.name: one.value})
        changed = self.run(lambda tx: crud.update_record(self.principal, tx, one.record, patch, None, one.at))
        if changed.updated_at != one.at:
            return  # it was so before
        for record in {one.record, self.whole.get(one.record, one.record)} & self.pulses:
            self.waiting[record].append(one.at)

    def minute(self) -> None:
        """A sweep, and every writing that it asks for."""
        sweeper = PulseSweepDependencies(self.database, self, _PLENTY, _PLENTY, lambda: self.now)
        sweep(sweeper, lambda: 600.0)
        orders, self.orders = self.orders, []
        for order in orders:
            writing_job.run_pulse_job(self.services, order, lambda: 600.0)
            self.delays += [(self.now - at).total_seconds() for at in self.waiting.pop(order.entity_id, [])]

    def look(self, record: UUID) -> None:
        """Somebody reads a Pulse."""
        self.run(lambda tx: pulse_view.read_pulse(self.principal, tx, record, self.now))

    @property
    def services(self) -> PulseDependencies:
        return PulseDependencies(
            self.database,
            lambda: {"anthropic": self.model},
            _PLENTY,
            _PLENTY,
            timedelta(hours=24),
            lambda _: None,
            lambda: self.now,
            lambda _: None,
            lambda low, _: low,
        )


def played(database: Database, projects: int) -> dict[str, report.Cell]:
    """The figures of one day on so many projects."""
    day = _opened(database, projects)
    _until(day, _BEGINS + 2 * _MINUTE, [])
    first, before = day.model.calls, int(day.run(lambda tx: tx.value(_MARKS)))
    day.waiting.clear()
    edits = _script(day, random.Random(_SEED))
    _until(day, _BEGINS + timedelta(hours=24, minutes=5), edits)
    told = day.run(lambda tx: pulse_statistics.read_statistics(day.principal, tx, 2, _PLENTY, day.now)).total
    changes, calls = int(day.run(lambda tx: tx.value(_MARKS))) - before, day.model.calls - first
    return _figures(day, told, len(edits), changes, calls, first)


def _figures(day: Day, told: PulseTotals, edits: int, changes: int, calls: int, first: int) -> dict[str, report.Cell]:
    each = float(told.cost_usd) / (calls + first)
    kept = len(day.pulses)
    return {
        "records": kept,
        "edits": edits,
        "changes": changes,
        "calls": calls,
        "avoided": round(1 - calls / changes, 3),
        "same": told.skipped,
        "usd per call": round(each, 5),
        "usd per record and day": round(each * calls / kept, 5),
        "at every change": round(each * changes / kept, 5),
        "told after s p50": round(report.percentile(day.delays, 50), 1),
        "p95": round(report.percentile(day.delays, 95), 1),
        "max": round(max(day.delays), 1),
    }


def _opened(database: Database, projects: int) -> Day:
    day = Day(database, roles.operator_principal(uuid7(_BEGINS)))
    day.run(lambda tx: _tenant(day.principal, tx))
    for number in range(projects):
        day.run(lambda tx, number=number: _project(day, tx, number))  # type: ignore[misc]
    return day


def _tenant(principal: Principal, tx: Transaction) -> None:
    tenants.create_tenant(principal, tx, slug="day", display_name="Day", settings={}, now=_BEGINS)
    chosen: JsonObject = {"provider": "anthropic", "model": MODEL}
    tx.run(_ROUTING, routing={"default": chosen}, now=_BEGINS)
    state: JsonObject = {"type": "choice", "choices": [*_STATES]}
    kinds: dict[str, tuple[JsonObject, JsonObject]] = {
        "project": ({"state": state, "due": {"type": "date"}}, {"pulse": "auto", "children": "auto"}),
        "task": ({"state": state, "note": {"type": "text"}}, {}),
        "risk": ({"state": state, "exposure": {"type": "number"}}, {"pulse": "auto"}),
    }
    for key, (properties, rag) in kinds.items():
        tx.run(_KIND, key=key, properties=properties, rag={**rag, "status_properties": ["state"]}, now=_BEGINS)


def _project(day: Day, tx: Transaction, number: int) -> None:
    def made(kind: str, key: str, name: str, project: str | None = None) -> UUID:
        new = RecordInput(kind, name, key=key, properties={"state": "open"}, project=project)
        return crud.create_record(day.principal, tx, new, day.now).id

    whole = made("project", f"P-{number}", f"Works at berth {number}")
    names = [("task", f"T-{number}-{each}", f"Section {each} of the quay wall") for each in range(_TASKS)]
    names += [("risk", f"R-{number}-{each}", f"Settlement at pile {each}") for each in range(_RISKS)]
    parts = [made(kind, key, name, f"project/P-{number}") for kind, key, name in names]
    day.projects[whole] = parts
    day.whole.update(dict.fromkeys(parts, whole))
    day.pulses |= {whole, *parts[_TASKS:]}


def _script(day: Day, dice: random.Random) -> list[Edit]:
    """What people do between eight and six, in the order of its time."""
    edits: list[Edit] = []
    for whole, parts in day.projects.items():
        for _ in range(dice.randint(2, 6)):
            at = _BEGINS + _OPENS + _OPEN_FOR * dice.random()
            for _ in range(dice.randint(1, 9)):
                edits.append(_edit(dice, at, whole, parts))
                at += timedelta(seconds=dice.uniform(4, 40))
        at = _BEGINS + _OPENS + _OPEN_FOR * dice.random()
        edits += [_edit(dice, at + timedelta(seconds=each), whole, parts) for each in range(dice.randint(4, 10))]
        if dice.random() < 0.5:
            edits.append(Edit(_BEGINS + _OPENS + _OPEN_FOR * dice.random(), whole))
    return sorted(edits, key=lambda one: one.at)


def _edit(dice: random.Random, at: datetime, whole: UUID, parts: list[UUID]) -> Edit:
    kind = dice.random()
    if kind < 0.15:
        return Edit(at, whole, "due", f"2026-{dice.randint(4, 9):02}-{dice.randint(1, 28):02}")
    if kind < 0.4:
        return Edit(at, dice.choice(parts[_TASKS:]), "exposure", dice.randint(10, 90) * 1_000)
    return Edit(at, dice.choice(parts[:_TASKS]), "state", dice.choice(_STATES))


def _until(day: Day, end: datetime, edits: list[Edit]) -> None:
    """Every edit at its time, every minute its sweep, and a look at some Pulse every ten."""
    waiting, looks = list(reversed(edits)), 0
    minute = day.now.replace(second=0, microsecond=0) + _MINUTE
    while minute <= end:
        while waiting and waiting[-1].at <= minute:
            day.edit(waiting.pop())
        day.now = minute
        day.minute()
        looks += 1
        if looks % 10 == 0:
            day.look(sorted(day.pulses)[looks % len(day.pulses)])
        minute += _MINUTE
