"""The order in which the runner calls a job's steps, and what becomes of its errors."""

from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

import pytest

from parlour.infra.errors import DatabaseUnavailable, RetryError
from parlour.infra.postgres import Database, Transaction
from parlour.jobs import runner
from parlour.jobs.runner import JobFailed, LeasedJob
from parlour.principal import system_principal

TX = cast(Transaction, object())


class FakeDatabase:
    """Runs each unit of work once; `is_open` while it does."""

    is_open = False

    def run(self, _principal: object, work: Callable[[Transaction], Any], /) -> Any:
        self.is_open = True
        try:
            return work(TX)
        finally:
            self.is_open = False


class RecordingJob(LeasedJob[int, int, str]):
    """A job that writes down its steps: `rounds` of work, and errors by step."""

    def __init__(self, rounds: int = 1, **errors: BaseException) -> None:
        self.database, self.rounds, self.errors, self.steps = FakeDatabase(), rounds, errors, list[str]()
        self.is_begun, self.is_lost = True, False

    def _step(self, name: str, *, in_transaction: bool = True) -> None:
        assert self.database.is_open is in_transaction
        self.steps.append(name)
        if error := self.errors.get(name):
            raise error

    def begin(self, _tx: Transaction) -> bool:
        self._step("begin")
        return self.is_begun

    def load(self, _tx: Transaction) -> int | None:
        self._step("load")
        return self.rounds or None

    def ask(self, loaded: int, _seconds_left: object) -> int:
        self._step("ask", in_transaction=False)
        return loaded * 10

    def commit(self, _tx: Transaction, loaded: int, answer: int) -> str | None:
        self._step("commit")
        self.rounds -= 1
        return None if self.is_lost else f"{loaded} {answer}"

    def report(self, loaded: int, answer: int, result: str) -> bool:
        self._step("report", in_transaction=False)
        assert result == f"{loaded} {answer}"
        return True

    def fail(self, _tx: Transaction, code: str) -> int:
        self._step(f"fail {code}")
        return 3

    def report_failure(self, code: str, failures: int) -> None:
        self._step(f"report {code} {failures}", in_transaction=False)

    def release(self, _tx: Transaction) -> None:
        self._step("release")

    def resend(self) -> None:
        self._step("resend", in_transaction=False)


def run(job: RecordingJob, seconds: float = 100.0) -> list[str]:
    runner.run(job, cast(Database, job.database), system_principal(UUID(int=1)), lambda: seconds, 50.0)
    return job.steps


def failing(step: str, error: BaseException) -> RecordingJob:
    job = RecordingJob()
    job.errors[step] = error
    return job


ROUND = ["load", "ask", "commit", "report"]


def test_runner_with_work_goes_round_until_nothing_is_loaded() -> None:
    assert run(RecordingJob(rounds=2)) == ["begin", *ROUND, *ROUND, "load"]


def test_runner_without_a_lease_does_nothing() -> None:
    job = RecordingJob()
    job.is_begun = False
    assert run(job) == ["begin"]


def test_runner_that_lost_its_lease_at_the_commit_reports_nothing() -> None:
    job = RecordingJob(rounds=2)
    job.is_lost = True
    assert run(job) == ["begin", "load", "ask", "commit"]


def test_runner_short_of_time_releases_and_resends() -> None:
    left = iter([100.0, 49.0])
    job = RecordingJob(rounds=2)
    runner.run(job, cast(Database, job.database), system_principal(UUID(int=1)), lambda: next(left), 50.0)
    assert job.steps == ["begin", *ROUND, "release", "resend"]


def test_runner_without_time_begins_no_round() -> None:
    assert run(RecordingJob(), seconds=49.0) == ["begin", "release", "resend"]


@pytest.mark.parametrize("step", ["load", "ask"])
def test_runner_after_an_expected_failure_reschedules_and_raises_nothing(step: str) -> None:
    assert run(failing(step, JobFailed("away")))[-2:] == ["fail away", "report away 3"]


@pytest.mark.parametrize("step", ["load", "ask", "commit", "report"])
def test_runner_when_something_is_away_releases_and_raises(step: str) -> None:
    job = failing(step, DatabaseUnavailable())
    with pytest.raises(DatabaseUnavailable):
        run(job)
    assert job.steps[-2:] == [step, "release"]


def test_runner_that_cannot_release_raises_the_first_error() -> None:
    job = RecordingJob(ask=DatabaseUnavailable(), release=RetryError())
    with pytest.raises(DatabaseUnavailable):
        run(job)


@pytest.mark.parametrize("step", ["load", "ask", "commit", "report"])
def test_runner_after_a_bug_counts_it_and_raises(step: str) -> None:
    job = failing(step, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        run(job)
    assert job.steps[-3:] == [step, "fail error", "report error 3"]
