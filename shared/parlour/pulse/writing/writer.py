"""A record's Pulses, written again by a model only where what they are made of is different.

What is marked while the job runs stays marked. Whatever goes wrong with a model, the Pulses that there are stay as they
are, the reason is written down with the record, and the next attempt waits. The attempts are counted with the record's
state (`due/ending.py`): readers are told of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import Misconfigured, PromptOverflow, SpendRefused
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import runner, work_due
from parlour.jobs.runner import Job
from parlour.knowledge.records import stale
from parlour.knowledge.records.kinds import CLOSED_TALK, TALK
from parlour.knowledge.records.stale import Unreflected
from parlour.models.request import Model
from parlour.principal import system
from parlour.pulse.due import ending
from parlour.pulse.fingerprint import results
from parlour.pulse.material import gather
from parlour.pulse.material.gather import Gathered, Subject
from parlour.pulse.pulse import Order
from parlour.pulse.writing import draft, store
from parlour.pulse.writing.answering import QuestionJob
from parlour.pulse.writing.draft import Draft, Outcome, Services
from parlour.pulse.writing.store import Day, NewText

#: The purpose in an agent's model_routing, unless the record's kind names another.
_CHEAP = "cheap"

#: Problems of the answer for one level; the next level is asked all the same.
_OF_A_TEXT = ("", "refused", "bad_json", "nothing_left")


def run(services: Services, order: Order, seconds_left: SecondsLeft) -> None:
    """Write the record's Pulses, or answer the question of the order.

    Raises a RetryError when the database is away or, for a question, while another worker has the record; the message
    comes again. Everything that is wrong with models is written down and is no error here.
    """
    until = services.clock() + timedelta(seconds=seconds_left())
    principal, database = system(order.tenant_id), services.database
    if order.question_id is None:
        runner.run(PulseJob(services, order, until), database, principal, seconds_left)
    else:
        runner.run(QuestionJob(services, order, order.question_id, until), database, principal, seconds_left)
    services.ended(order.tenant_id)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """Everything for one writing, as it was at `at`. kept: the fingerprints of the Pulses there are, by level."""

    at: datetime
    about: Subject
    seen: Unreflected
    gathered: Sequence[Gathered]
    kept: Mapping[int, str]


@dataclass(slots=True)
class _Result:
    """What became of the levels.

    present     all that have a Pulse; same: those that nothing is different for; asked: a model, for the others.
    problem     why it stopped, "" if it did not; level: the one that it stopped at.
    ledger_ids  one for each that was asked: a commit may run twice.
    """

    at: datetime
    present: Sequence[int] = ()
    same: list[Draft] = field(default_factory=list)
    asked: list[Outcome] = field(default_factory=list)
    problem: str = ""
    level: int | None = None
    ledger_ids: Sequence[UUID] = ()

    @property
    def is_for_money(self) -> bool:
        """Whether there was no room in a budget."""
        return self.problem == SpendRefused.code

    @property
    def cost_usd(self) -> Decimal:
        return sum((outcome.cost_usd for outcome in self.asked), Decimal())


@dataclass(frozen=True, slots=True)
class PulseJob(Job[_Loaded, _Result, int]):
    """The job of one record's Pulses. `until` identifies its lease."""

    services: Services
    order: Order
    until: datetime

    def begin(self, tx: Transaction) -> bool:
        """Lease the record's Pulses, if somebody asks for them."""
        is_ours = ending.begin(tx, self.order.entity_id, self.until, self.services.clock())
        if not is_ours:
            log.info("pulse_not_asked", **self._ids())
        return is_ours

    def load(self, tx: Transaction) -> _Loaded | None:
        """Read the marks, then what they are about: a mark that is made meanwhile is younger, and stays. Complete the
        work when the record has no Pulses any more."""
        at, record_id, tenant_id = self.services.clock(), self.order.entity_id, self.order.tenant_id
        seen = stale.unreflected(tx, record_id)
        about = gather.subject(tx, record_id)
        if seen is None or about is None or not has_pulses(about):
            ending.gone(tx, record_id, self.until, at)
            return None
        gathered = [gather.gather(tx, about, level, at, tenant_id) for level in gather.levels(tx, about)]
        return _Loaded(at, about, seen, gathered, store.kept(tx, record_id))

    def ask(self, loaded: _Loaded, seconds_left: SecondsLeft) -> _Result:
        """Ask a model for each level that is different, up to the first problem that is not of its text alone."""
        services, models = self.services, self.services.models()
        try:
            drafts = _drafts(loaded, models)
        except (Misconfigured, PromptOverflow) as problem:
            return _Result(services.clock(), problem=problem.code)
        result = _Result(loaded.at, [made.level for made in drafts])
        for made in drafts:
            if loaded.kept.get(made.level) == made.fingerprint:
                result.same.append(made)
                continue
            outcome = draft.ask(services, system(self.order.tenant_id), made, models, seconds_left)
            result.asked.append(outcome)
            if outcome.problem and not result.problem:
                result.problem, result.level = outcome.problem, made.level
            if outcome.problem not in _OF_A_TEXT:
                break
        result.at = services.clock()
        result.ledger_ids = [services.new_id(result.at) for _ in result.asked]
        return result

    def commit(self, tx: Transaction, loaded: _Loaded, result: _Result) -> int | None:
        """Write the texts, those before a problem too, and when the record is looked at again. Return how many attempts
        in a row failed."""
        services, record_id, now = self.services, self.order.entity_id, result.at
        if not ending.is_ours(tx, record_id, self.until):
            return None
        self._write_texts(tx, loaded, result)
        if not result.problem:
            store.drop_pulses(tx, record_id, result.present)
            store.note_day(tx, record_id, _day_of_success(loaded, result))
            window = timedelta(seconds=loaded.about.kind.settings.coalesce_seconds)
            ending.written(
                tx,
                record_id,
                loaded.seen,
                loaded.at,
                window=window,
                age=services.age,
                held_until=self.until,
                cost_usd=result.cost_usd if result.asked else None,
                now=now,
            )
            self._expedite(tx, now)
        elif result.is_for_money:
            store.note_day(tx, record_id, Day(_day(now), cost_usd=result.cost_usd))
            ending.waiting(tx, record_id, self.until, services.pulse_cap, now)
        else:
            store.note_day(tx, record_id, Day(_day(now), failed=1, cost_usd=result.cost_usd))
            return ending.failed(tx, record_id, result.problem, self.until, now, result.level)
        return 0

    def report(self, _loaded: _Loaded, written: _Result, failures: int) -> bool:
        """Log what became of it. There is no further round."""
        if not written.problem:
            log.info("pulse_written", levels=len(written.present), asked=len(written.asked), **self._ids())
        elif not written.is_for_money:
            log.warning("pulse_not_written", code=written.problem, **self._ids())
            self.report_failure(written.problem, failures)
        return False

    def fail(self, tx: Transaction, code: str) -> int:
        """Count an attempt that broke, so that it is not repeated for ever."""
        now = self.services.clock()
        if not ending.is_ours(tx, self.order.entity_id, self.until):
            return 0
        store.note_day(tx, self.order.entity_id, Day(_day(now), failed=1))
        return ending.failed(tx, self.order.entity_id, code, self.until, now)

    def report_failure(self, code: str, failures: int) -> None:
        """Tell operators after some failures in a row."""
        ending.tell_given_up(self.order.tenant_id, self.order.entity_id, code, failures)

    def release(self, tx: Transaction) -> None:
        """End the lease: the record is due at once."""
        work_due.release(tx, ending.KIND, self.order.entity_id, self.until, self.services.clock())

    def _ids(self) -> dict[str, UUID]:
        return {"tenant_id": self.order.tenant_id, "entity_id": self.order.entity_id}

    def _expedite(self, tx: Transaction, now: datetime) -> None:
        """Have the record written again at once when somebody wanted that while it was being written."""
        left = stale.unreflected(tx, self.order.entity_id)
        if left is not None and "manual" in left.causes:
            work_due.schedule(tx, ending.KIND, self.order.entity_id, now)

    def _write_texts(self, tx: Transaction, loaded: _Loaded, result: _Result) -> None:
        record_id = self.order.entity_id
        for made in result.same:
            store.check_pulse(tx, record_id, made.level, made.prompted.told_of, loaded.at)
        for outcome, ledger_id in zip(result.asked, result.ledger_ids, strict=True):
            text = _text(loaded, outcome)
            version = store.keep_pulse(tx, record_id, text) if text else None
            if not outcome.for_money:
                store.keep_ledger(tx, outcome.ledger(ledger_id), version)


def has_pulses(about: Subject) -> bool:
    """Return whether the record's kind has Pulses, and the record is no conversation that was closed."""
    is_over = about.kind.key == TALK and about.properties.get("state") in CLOSED_TALK
    return about.kind.settings.pulse and not is_over


def _drafts(loaded: _Loaded, models: Mapping[str, Model]) -> list[Draft]:
    """A prompt for every level that has something of its own; where it has not, the one below says it all."""
    purpose = loaded.about.kind.settings.pulse_model or _CHEAP
    chosen = draft.choices(loaded.about, purpose, models)
    drafts: list[Draft] = []
    for gathered in loaded.gathered:
        made = draft.draft(gathered, chosen, loaded.at)
        if not drafts or results(drafts[-1].prompted.documents) != results(made.prompted.documents):
            drafts.append(made)
    return drafts


def _text(loaded: _Loaded, asked: Outcome) -> NewText | None:
    """The text as it is kept; None when there is none."""
    if asked.written is None or asked.answered is None:
        return None
    made, seen = asked.draft, loaded.seen
    causes: list[JsonObject] = [{"cause": cause, "since": since.isoformat()} for cause, since in seen.causes.items()]
    return NewText(
        level=made.level,
        markdown=asked.written.markdown,
        statements=[statement.to_json() for statement in asked.written.statements],
        citations=[citation.to_json() for citation in asked.written.citations],
        told_of=made.prompted.told_of,
        dropped=asked.dropped,
        fingerprint=made.fingerprint,
        prompt_version=made.prompt_version,
        provider=asked.answered.provider,
        model=asked.answered.model,
        cost_usd=asked.cost_usd,
        causes=causes,
        marks=seen.marks - seen.told,
        read_at=loaded.at,
        generated_at=asked.at,
    )


def _day_of_success(loaded: _Loaded, result: _Result) -> Day:
    """Marks beyond the first needed no writing of their own."""
    answered = loaded.seen.marks - loaded.seen.told
    return Day(
        _day(result.at),
        regenerated=int(bool(result.asked)),
        skipped=int(not result.asked),
        coalesced=max(answered - 1, 0),
        cost_usd=result.cost_usd,
    )


def _day(now: datetime) -> date:
    return now.astimezone(UTC).date()
