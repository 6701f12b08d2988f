"""The runner of leased jobs: begin once, then load, ask, commit and report in rounds.

What ends a job, and what becomes of its work:

    nothing is left    `load` or `commit` has completed or released the work in its own transaction
    lease lost         `load` or `commit` returns None and writes nothing: another worker has it
    time is over       released; a message has the next invocation go on
    JobFailed          expected, as when no model answers: `fail` reschedules the work, later each time
    RetryError         the database, a queue or a store is away: released, raised, and the queue delivers again
    any other error    a bug: `fail` is told "error"; raised, for the queue to count it
    the worker dies    the work is due again when the lease ends; an attempt that `load` counted stays counted
"""

from abc import ABC, abstractmethod
from contextlib import suppress

from parlour.infra.errors import RetryError
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.principal import Principal


class JobFailed(Exception):
    """A failed attempt. `code` names the error; the work is rescheduled, and the message counts as handled."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class LeasedJob[Loaded, Answer, Result](ABC):
    """One kind of job. Each method with `tx` is one transaction, which may run twice (`Database.run`)."""

    @abstractmethod
    def begin(self, tx: Transaction) -> bool:
        """Lease the work. Return False when it is not due, or another worker has it."""

    @abstractmethod
    def load(self, tx: Transaction) -> Loaded | None:
        """Read what one round needs. Return None when nothing is left, or the lease is lost."""

    @abstractmethod
    def ask(self, loaded: Loaded, seconds_left: SecondsLeft) -> Answer:
        """Do what takes long, without a transaction. Raises JobFailed."""

    @abstractmethod
    def commit(self, tx: Transaction, loaded: Loaded, answer: Answer) -> Result | None:
        """Write the result and complete or release the work. Return None, and write nothing, when the lease is lost."""

    def report(self, loaded: Loaded, answer: Answer, result: Result) -> bool:  # noqa: ARG002
        """Log and send messages after the commit. Return whether another round follows."""
        return False

    @abstractmethod
    def fail(self, tx: Transaction, code: str) -> int:
        """Reschedule the work after an error. Return how many attempts in a row failed; 0 when none is counted."""

    def report_failure(self, code: str, failures: int) -> None:  # noqa: B027
        """Log a failure after its commit."""

    @abstractmethod
    def release(self, tx: Transaction) -> None:
        """End the lease before the work is done: it is due again soon."""

    def resend(self) -> None:  # noqa: B027
        """Send the message that makes the next invocation continue, for jobs of several rounds."""


def run[Loaded, Answer, Result](
    job: LeasedJob[Loaded, Answer, Result],
    database: Database,
    principal: Principal,
    seconds_left: SecondsLeft,
    round_seconds: float = 0.0,
) -> bool:
    """Run the job as far as the time allows; return whether it was begun.

    No round begins with less than `round_seconds` left. Raises RetryError when the database is away, and any unexpected
    error.
    """
    if not database.run(principal, job.begin):
        return False
    try:
        while seconds_left() >= round_seconds:
            if not _round(job, database, principal, seconds_left):
                return True
        database.run(principal, job.release)
        job.resend()
    except JobFailed as failure:
        _fail(job, database, principal, failure.code)
    except RetryError:
        with suppress(RetryError):
            database.run(principal, job.release)
        raise
    except Exception:
        with suppress(RetryError):
            _fail(job, database, principal, "error")
        raise
    return True


def _round[Loaded, Answer, Result](
    job: LeasedJob[Loaded, Answer, Result], database: Database, principal: Principal, seconds_left: SecondsLeft
) -> bool:
    loaded = database.run(principal, job.load)
    if loaded is None:
        return False
    answer = job.ask(loaded, seconds_left)
    result = database.run(principal, lambda tx: job.commit(tx, loaded, answer))
    return result is not None and job.report(loaded, answer, result)


def _fail[Loaded, Answer, Result](
    job: LeasedJob[Loaded, Answer, Result], database: Database, principal: Principal, code: str
) -> None:
    failures = database.run(principal, lambda tx: job.fail(tx, code))
    job.report_failure(code, failures)
