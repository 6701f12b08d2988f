"""The base of all memory jobs: lease and attempts of a work_due row, backoff, and when to give up."""

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
from parlour.jobs.runner import LeasedJob
from parlour.jobs.work_due import SWEEP_DELAY, Attempts
from parlour.memory import job_scheduling
from parlour.memory.dependencies import MemoryDependencies
from parlour.memory.job_scheduling import DelayedJob
from parlour.memory.memory_job import MemoryJob
from parlour.principal import Principal, system_principal
from parlour.search.index import scheduling

#: The error of a model that will not read a text. It will not on another day either.
MODEL_REFUSED = "refused"

#: Failures in a row after which operators are told, and work that waiting does not mend is skipped.
MAX_FAILURES = 5

#: Until a tenant that has reached its daily cap is looked at again.
SPEND_CAP_WAIT = timedelta(hours=1)

#: With less time than this no round is begun: a model may take 60 s, and the commit needs some.
MIN_ROUND_SECONDS = 70.0

#: Our own code raised, or the worker died.
_OWN_ERRORS = frozenset({"error", "died"})


def is_failing_on_own_errors(attempts: Attempts) -> bool:
    """Return whether our own code broke so often that no further model call is paid for."""
    return attempts.failures >= MAX_FAILURES and attempts.problem in _OWN_ERRORS


def should_skip(code: str, failures: int) -> bool:
    """Return whether to skip a window after an error: the model refused it, or retries failed too often."""
    return code == MODEL_REFUSED or (failures >= MAX_FAILURES and code in {*_OWN_ERRORS, ProviderRejected.code})


@dataclass(frozen=True, slots=True)
class LeasedMemoryJob[Loaded, Answer, Result](LeasedJob[Loaded, Answer, Result]):
    """One work_due row of a memory job. `leased_until` identifies its lease.

    first_retry_delay  the wait after the first failure, doubled after each further one.
    failure_action     the action of the log line.
    """

    dependencies: MemoryDependencies
    job: MemoryJob
    leased_until: datetime

    first_retry_delay: ClassVar[timedelta]
    failure_action: ClassVar[str]

    @property
    def principal(self) -> Principal:
        """The system principal of the job's tenant."""
        return system_principal(self.job.tenant_id)

    @property
    def session_id(self) -> UUID:
        """The job's session."""
        return self.job.target_id

    @property
    def log_ids(self) -> dict[str, UUID]:
        """The ids of a log line."""
        return {"tenant_id": self.job.tenant_id, "session_id": self.job.target_id}

    def begin(self, tx: Transaction) -> bool:
        """Lease the work if it is due: `SWEEP_DELAY` before the time at which the sweep looks for it."""
        now, work = self.dependencies.clock(), work_due.find(tx, self.job.kind, self.job.target_id)
        if work is None or not (work.due_at == self.leased_until or self.is_due(tx, work.due_at, now)):
            return False
        return work_due.lease(tx, self.job.kind, self.job.target_id, self.leased_until, now)

    def is_due(self, _tx: Transaction, due_at: datetime, now: datetime) -> bool:
        """Return whether the work may begin at `now`."""
        return due_at - SWEEP_DELAY <= now

    def start_attempt(self, tx: Transaction) -> Attempts | None:
        """Count an attempt, and lock the work; return those before it. None when the lease is lost."""
        attempts = work_due.lock_leased(tx, self.job.kind, self.job.target_id, self.leased_until)
        if attempts is not None:
            self._record_attempts(tx, Attempts(attempts.failures + 1, "died"))
        return attempts

    def end_attempt(self, tx: Transaction) -> bool:
        """Lock the work, and reset its failures; False when the lease is lost."""
        if not work_due.lock_leased(tx, self.job.kind, self.job.target_id, self.leased_until):
            return False
        self._record_attempts(tx, Attempts())
        return True

    def complete(self, tx: Transaction) -> None:
        """Delete the work, which the caller has locked."""
        work_due.complete(tx, self.job.kind, self.job.target_id)

    def reschedule(self, tx: Transaction, due_at: datetime) -> None:
        """End the lease: the work is due at `due_at`."""
        work_due.release(tx, self.job.kind, self.job.target_id, self.leased_until, due_at)

    def fail(self, tx: Transaction, code: str) -> int:
        """Reschedule the work, later after each failure; a refusal for lack of budget is none."""
        attempts = work_due.lock_leased(tx, self.job.kind, self.job.target_id, self.leased_until)
        if attempts is None:
            return 0
        before = attempts.failures - (attempts.problem == "died")  # `load` was rolled back when it says otherwise
        failures = before + self.counts_as_failure(code)
        self._record_attempts(tx, Attempts(failures, code if self.counts_as_failure(code) else None))
        self.reschedule(tx, self.dependencies.clock() + self.retry_delay(code, failures))
        return failures if self.counts_as_failure(code) else 0

    def counts_as_failure(self, code: str) -> bool:
        """Return whether an error counts as a failed attempt."""
        return code != SpendRefused.code

    def retry_delay(self, code: str, failures: int) -> timedelta:
        """Return the wait until the next attempt."""
        return SPEND_CAP_WAIT if code == SpendRefused.code else backoff(failures, self.first_retry_delay)

    def report_failure(self, code: str, failures: int) -> None:
        """Log it; count it for operators after some failures in a row."""
        log.warning(self.failure_action, code=code, failures=failures, **self.log_ids)
        if failures >= MAX_FAILURES:
            log.count("MemoryGivenUp")

    def release(self, tx: Transaction) -> None:
        """End the lease: the work is due at once, and the sweep looks for it after `SWEEP_DELAY`."""
        self.reschedule(tx, self.dependencies.clock() + SWEEP_DELAY)

    def resend(self) -> None:
        """Send the order again."""
        job_scheduling.send_jobs(self.dependencies.memory_queue, [DelayedJob(self.job, 0.0)])

    def wake_embedder(self) -> None:
        """Have new rows embedded soon; what the embedder is not told of, the sweep finds."""
        with suppress(QueueUnavailable):
            scheduling.wake_embedder(self.dependencies.embedder_queue, self.job.tenant_id)

    def _record_attempts(self, tx: Transaction, attempts: Attempts) -> None:
        work_due.record_attempts(tx, self.job.kind, self.job.target_id, attempts)
