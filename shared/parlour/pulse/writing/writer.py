"""A record's Pulses written anew: by one writer at a time, by a model only where what they are made of is different.

What was marked while the writer was at work stays marked. Whatever goes wrong with a model, the Pulses that there are
stay as they are, the reason is written down with the record, and the next try waits.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import Misconfigured, PromptOverflow, RetryError
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import work_due
from parlour.knowledge.records import stale
from parlour.knowledge.records.kinds import CLOSED_TALK, TALK
from parlour.knowledge.records.stale import Unreflected
from parlour.models.request import Model
from parlour.principal import Principal, system
from parlour.pulse.due import ending
from parlour.pulse.fingerprint import results
from parlour.pulse.material import gather
from parlour.pulse.material.gather import Gathered, Subject
from parlour.pulse.pulse import Order
from parlour.pulse.writing import answering, draft, store
from parlour.pulse.writing.draft import Draft, Outcome, Services
from parlour.pulse.writing.store import Day, NewText

_CHEAP, _BROKE = "cheap", "error"
_OF_A_TEXT = ("", "refused", "bad_json", "nothing_left")
"""What is wrong with the answer for one level, and may be right with the next."""


def run(services: Services, order: Order, seconds_left: SecondsLeft) -> None:
    """Write the record's Pulses, or answer the question of the order.

    Raises a RetryError when the database is away or, for a question, somebody else is at the record; the message comes
    again. Everything that is wrong with models is written down and is no error here.
    """
    if order.question_id is not None:
        answering.answer(services, order, order.question_id, seconds_left)
        services.ended(order.tenant_id)
        return
    now = services.clock()
    work = _Work(services, system(order.tenant_id), order.entity_id, now + timedelta(seconds=seconds_left()))
    if not services.database.run(
        work.principal, lambda tx: ending.begin(tx, work.record_id, work.until, now)
    ):  # fmt: skip
        log.info("pulse_not_asked", tenant_id=order.tenant_id, entity_id=order.entity_id)
        services.ended(order.tenant_id)  # who is at it may be dead
        return
    try:
        work.write(seconds_left)
    except RetryError:
        with suppress(RetryError):
            work.let_go()
        raise
    except Exception:
        work.stumbled()
        raise
    services.ended(order.tenant_id)


@dataclass(frozen=True, slots=True)
class _Read:
    """Everything for one writing, as it was at `at`. kept: the fingerprints of the Pulses there are, by level."""

    at: datetime
    about: Subject
    seen: Unreflected
    gathered: Sequence[Gathered]
    kept: Mapping[int, str]


@dataclass(slots=True)
class _Result:
    """What became of the levels so far. same: those that nothing is different for; present: all that have a Pulse."""

    present: list[int] = field(default_factory=list)
    same: list[Draft] = field(default_factory=list)
    asked: list[Outcome] = field(default_factory=list)

    @property
    def problem(self) -> Outcome | None:
        """The one that stopped it."""
        return next((one for one in self.asked if one.problem), None)

    @property
    def cost_usd(self) -> Decimal:
        return sum((one.cost_usd for one in self.asked), Decimal())


@dataclass(frozen=True, slots=True)
class _Work:
    """One record's turn. `until`: what it is held by."""

    services: Services
    principal: Principal
    record_id: UUID
    until: datetime

    def write(self, seconds_left: SecondsLeft) -> None:
        """Read, compare, ask, keep."""
        services, at = self.services, self.services.clock()
        found = services.database.run(self.principal, lambda tx: self._read(tx, at))
        if found is None:
            services.database.run(self.principal, lambda tx: ending.gone(tx, self.record_id, self.until, at))
            return
        models = services.models()
        try:
            drafts = self._drafts(found, models)
        except (Misconfigured, PromptOverflow) as problem:
            log.warning("pulse_not_written", code=problem.code, **self._ids())
            self._fail(found, _Result(), problem.code)
            return
        result = self._asked(found, drafts, models, seconds_left)
        if result.problem is None:
            self._keep(found, result)
        elif result.problem.for_money:
            self._wait(found, result)
        else:
            log.warning("pulse_not_written", code=result.problem.problem, **self._ids())
            self._fail(found, result, result.problem.problem)

    def let_go(self) -> None:
        """Leave it to whoever comes next, at once."""
        now = self.services.clock()
        self.services.database.run(
            self.principal, lambda tx: work_due.release(tx, ending.KIND, self.record_id, self.until, now)
        )

    def stumbled(self) -> None:
        """Something broke that nobody foresaw: it counts as a try, so that it is not repeated for ever."""
        now = self.services.clock()

        def fail(tx: Transaction) -> int:
            if not self._is_ours(tx):
                return 0
            store.note_day(tx, self.record_id, Day(_day(now), failed=1))
            return ending.failed(tx, self.record_id, _BROKE, self.until, now)

        with suppress(RetryError):
            failures = self.services.database.run(self.principal, fail)
            ending.tell_given_up(self.principal.tenant_id, self.record_id, _BROKE, failures)

    def _ids(self) -> dict[str, UUID]:
        return {"tenant_id": self.principal.tenant_id, "entity_id": self.record_id}

    def _read(self, tx: Transaction, at: datetime) -> _Read | None:
        """None when the record has no Pulses any more. The marks come first: one that is made meanwhile is younger than
        what was read of them, and stays."""
        seen = stale.unreflected(tx, self.record_id)
        about = gather.subject(tx, self.record_id)
        if seen is None or about is None or not has_pulses(about):
            return None
        levels = gather.levels(tx, about)
        gathered = [gather.gather(tx, about, level, at, self.principal.tenant_id) for level in levels]
        return _Read(at, about, seen, gathered, store.kept(tx, self.record_id))

    def _drafts(self, found: _Read, models: Mapping[str, Model]) -> list[Draft]:
        """A prompt for every level that has something of its own; where it has not, the one below says it all."""
        purpose = found.about.kind.settings.pulse_model or _CHEAP
        chosen = draft.choices(found.about, purpose, models)
        drafts: list[Draft] = []
        for one in found.gathered:
            made = draft.draft(one, chosen, found.at)
            if not drafts or results(drafts[-1].prompted.documents) != results(made.prompted.documents):
                drafts.append(made)
        return drafts

    def _asked(
        self, found: _Read, drafts: Sequence[Draft], models: Mapping[str, Model], seconds_left: SecondsLeft
    ) -> _Result:
        """Each level in turn, up to the first problem that is not of its text alone."""
        result = _Result([one.level for one in drafts])
        for one in drafts:
            if found.kept.get(one.level) == one.fingerprint:
                result.same.append(one)
                continue
            result.asked.append(draft.ask(self.services, self.principal, one, models, seconds_left))
            if result.asked[-1].problem not in _OF_A_TEXT:
                break
        return result

    def _keep(self, found: _Read, result: _Result) -> None:
        """The record's Pulses are as they should be."""
        services, now = self.services, self.services.clock()
        ledgers = self._new_ids(result, now)
        window = timedelta(seconds=found.about.kind.settings.coalesce_seconds)
        cost = result.cost_usd if result.asked else None

        def keep(tx: Transaction) -> bool:
            if not self._is_ours(tx):
                return False
            self._texts(tx, found, result, ledgers)
            store.drop_pulses(tx, self.record_id, result.present)
            store.note_day(tx, self.record_id, self._day(found, result, now))
            ending.written(
                tx, self.record_id, found.seen, found.at, window=window, age=services.age, held_until=self.until,
                cost_usd=cost, now=now,
            )  # fmt: skip
            self._hurry(tx, now)
            return True

        if services.database.run(self.principal, keep):
            log.info("pulse_written", levels=len(result.present), asked=len(result.asked), **self._ids())

    def _wait(self, found: _Read, result: _Result) -> None:
        """There is no room in a budget: what was written before it was used up is kept, the rest waits."""
        services, now = self.services, self.services.clock()
        ledgers = self._new_ids(result, now)

        def wait(tx: Transaction) -> None:
            if self._is_ours(tx):
                self._texts(tx, found, result, ledgers)
                store.note_day(tx, self.record_id, Day(_day(now), cost_usd=result.cost_usd))
                ending.waiting(tx, self.record_id, self.until, services.pulse_cap, now)

        services.database.run(self.principal, wait)

    def _fail(self, found: _Read, result: _Result, problem: str) -> None:
        """It came to nothing: what there is stays, and so do the marks."""
        services, now = self.services, self.services.clock()
        ledgers = self._new_ids(result, now)

        def fail(tx: Transaction) -> int:
            if not self._is_ours(tx):
                return 0
            self._texts(tx, found, result, ledgers)
            store.note_day(tx, self.record_id, Day(_day(now), failed=1, cost_usd=result.cost_usd))
            level = result.problem.draft.level if result.problem else None
            return ending.failed(tx, self.record_id, problem, self.until, now, level)

        failures = services.database.run(self.principal, fail)
        ending.tell_given_up(self.principal.tenant_id, self.record_id, problem, failures)

    def _is_ours(self, tx: Transaction) -> bool:
        """Whether nobody else took it over, and it was not kept already by a commit whose answer was lost."""
        return ending.is_ours(tx, self.record_id, self.until)

    def _hurry(self, tx: Transaction, now: datetime) -> None:
        """Who wanted them written while they were being written waits for no window either."""
        left = stale.unreflected(tx, self.record_id)
        if left is not None and "manual" in left.causes:
            work_due.schedule(tx, ending.KIND, self.record_id, now)

    def _new_ids(self, result: _Result, now: datetime) -> list[UUID]:
        return [self.services.new_id(now) for _ in result.asked]

    def _texts(self, tx: Transaction, found: _Read, result: _Result, ledgers: Sequence[UUID]) -> None:
        for one in result.same:
            store.check_pulse(tx, self.record_id, one.level, one.prompted.told_of, found.at)
        for one_asked, ledger_id in zip(result.asked, ledgers, strict=True):
            text = _text(found, one_asked)
            version = store.keep_pulse(tx, self.record_id, text) if text else None
            if not one_asked.for_money:
                store.keep_ledger(tx, one_asked.ledger(ledger_id), version)

    def _day(self, found: _Read, result: _Result, now: datetime) -> Day:
        """Marks beyond the first needed no writing of their own."""
        answered = found.seen.marks - found.seen.told
        return Day(
            _day(now), regenerated=int(bool(result.asked)), skipped=int(not result.asked),
            coalesced=max(answered - 1, 0), cost_usd=result.cost_usd,
        )  # fmt: skip


def has_pulses(about: Subject) -> bool:
    """Whether the record's kind has Pulses, and the record is no conversation that was closed."""
    is_over = about.kind.key == TALK and about.properties.get("state") in CLOSED_TALK
    return about.kind.settings.pulse and not is_over


def _text(found: _Read, asked: Outcome) -> NewText | None:
    """The text as it is kept; None when there is none."""
    if asked.written is None or asked.answered is None:
        return None
    made = asked.draft
    causes: list[JsonObject] = [
        {"cause": cause, "since": since.isoformat()} for cause, since in found.seen.causes.items()
    ]
    return NewText(
        level=made.level, markdown=asked.written.markdown,
        statements=[one.to_json() for one in asked.written.statements],
        citations=[one.to_json() for one in asked.written.citations], told_of=made.prompted.told_of,
        dropped=asked.dropped, fingerprint=made.fingerprint, prompt_version=made.prompt_version,
        provider=asked.answered.provider, model=asked.answered.model, cost_usd=asked.cost_usd, causes=causes,
        marks=found.seen.marks - found.seen.told, read_at=found.at, generated_at=asked.at,
    )  # fmt: skip


def _day(now: datetime) -> date:
    return now.astimezone(UTC).date()
