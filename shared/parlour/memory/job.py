"""What the jobs of memory have in common: lease and attempts of a work_due row, backoff, when to give up."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import ProviderRejected, QueueUnavailable, SpendRefused
from parlour.infra.postgres import Transaction
from parlour.jobs import work_due
from parlour.jobs.backoff import backoff
from parlour.jobs.runner import Job
from parlour.jobs.work_due import GRACE, Attempts
from parlour.knowledge.index import pending
from parlour.memory import waking
from parlour.memory.order import Order
from parlour.memory.services import Services
from parlour.memory.waking import Later
from parlour.principal import Principal, system

#: The error of a model that will not read a text. It will not on another day either.
REFUSED = "refused"

#: Failures in a row after which operators are told, and work that waiting does not mend is skipped.
GIVEN_UP = 5

#: Until a tenant that has reached its daily cap is looked at again.
NO_BUDGET_WAIT = timedelta(hours=1)

#: With less time than this no round is begun: a model may take 60 s, and the commit needs some.
ROUND_SECONDS = 70.0

#: Our own code raised, or the worker died.
_OWN_ERRORS = frozenset({"error", "died"})


def is_broken(attempts: Attempts) -> bool:
    """Return whether our own code broke so often that no further model call is paid for."""
    return attempts.failures >= GIVEN_UP and attempts.problem in _OWN_ERRORS


def is_hopeless(code: str, failures: int) -> bool:
    """Return whether to skip a text after an error: nobody will read it, or waiting did not mend it often enough."""
    return code == REFUSED or (failures >= GIVEN_UP and code in {*_OWN_ERRORS, ProviderRejected.code})


@dataclass(frozen=True, slots=True)
class MemoryJob[Loaded, Answer, Result](Job[Loaded, Answer, Result]):
    """One work_due row of a memory job. `until` identifies its lease.

    first_wait      after the first failure; doubled after each further one.
    failure_action  of the log line.
    """

    services: Services
    order: Order
    until: datetime

    first_wait: ClassVar[timedelta]
    failure_action: ClassVar[str]

    @property
    def principal(self) -> Principal:
        """The system, acting in the order's tenant."""
        return system(self.order.tenant_id)

    @property
    def session_id(self) -> UUID:
        """The session that the order is about."""
        return self.order.id

    @property
    def ids(self) -> dict[str, UUID]:
        """The ids of a log line."""
        return {"tenant_id": self.order.tenant_id, "session_id": self.order.id}

    def begin(self, tx: Transaction) -> bool:
        """Lease the work if it is due: `GRACE` before the time at which the sweep looks for it."""
        now, work = self.services.clock(), work_due.find(tx, self.order.kind, self.order.id)
        if work is None or not (work.due_at == self.until or self.is_due(tx, work.due_at, now)):
            return False
        return work_due.lease(tx, self.order.kind, self.order.id, self.until, now)

    def is_due(self, _tx: Transaction, due_at: datetime, now: datetime) -> bool:
        """Return whether the work may begin at `now`."""
        return due_at - GRACE <= now

    def start_attempt(self, tx: Transaction) -> Attempts | None:
        """Count an attempt, and lock the work; return those before it. None when the lease is lost."""
        attempts = work_due.lock(tx, self.order.kind, self.order.id, self.until)
        if attempts is not None:
            self._note(tx, Attempts(attempts.failures + 1, "died"))
        return attempts

    def end_attempt(self, tx: Transaction) -> bool:
        """Lock the work, and reset its failures; False when the lease is lost."""
        if not work_due.lock(tx, self.order.kind, self.order.id, self.until):
            return False
        self._note(tx, Attempts())
        return True

    def complete(self, tx: Transaction) -> None:
        """The work, which is locked, is done."""
        work_due.complete(tx, self.order.kind, self.order.id)

    def reschedule(self, tx: Transaction, due_at: datetime) -> None:
        """End the lease: the work is due at `due_at`."""
        work_due.release(tx, self.order.kind, self.order.id, self.until, due_at)

    def fail(self, tx: Transaction, code: str) -> int:
        """Reschedule the work, later after each failure; a refusal for lack of budget is none."""
        attempts = work_due.lock(tx, self.order.kind, self.order.id, self.until)
        if attempts is None:
            return 0
        before = attempts.failures - (attempts.problem == "died")  # `load` was rolled back when it says otherwise
        failures = before + self.is_counted(code)
        self._note(tx, Attempts(failures, code if self.is_counted(code) else None))
        self.reschedule(tx, self.services.clock() + self.wait(code, failures))
        return failures if self.is_counted(code) else 0

    def is_counted(self, code: str) -> bool:
        """Return whether an error counts as a failed attempt."""
        return code != SpendRefused.code

    def wait(self, code: str, failures: int) -> timedelta:
        """Return the wait until the next attempt."""
        return NO_BUDGET_WAIT if code == SpendRefused.code else backoff(failures, self.first_wait)

    def report_failure(self, code: str, failures: int) -> None:
        """Log it; count it for operators after some failures in a row."""
        log.warning(self.failure_action, code=code, failures=failures, **self.ids)
        if failures >= GIVEN_UP:
            log.count("MemoryGivenUp")

    def release(self, tx: Transaction) -> None:
        """End the lease: the work is due at once, and the sweep looks for it after `GRACE`."""
        self.reschedule(tx, self.services.clock() + GRACE)

    def resend(self) -> None:
        """Send the order again."""
        waking.send(self.services.memory, [Later(self.order, 0.0)])

    def wake_embedder(self) -> None:
        """Have new rows embedded soon; what the embedder is not told of, the sweep finds."""
        with suppress(QueueUnavailable):
            pending.nudge(self.services.embedding, self.order.tenant_id)

    def _note(self, tx: Transaction, attempts: Attempts) -> None:
        work_due.note_attempts(tx, self.order.kind, self.order.id, attempts)
