"""Workers: handlers in processes of their own, which answer, raise, run out of time or die."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local.state import minimal_environment
from local.workers import LambdaContext, WorkerPool

EVENT: dict[str, Any] = {"httpMethod": "GET", "path": "/nowhere", "headers": {}, "body": None}


@dataclass(frozen=True)
class Instead:
    """Does something else than the handler."""

    what: str
    needs_cold_worker: bool = False

    def __call__(self, call: Callable[[], Any], /) -> Any:
        match self.what:
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "sleep":
                time.sleep(60)
            case "raise":
                raise ValueError("no")
        return os.getpid()


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[WorkerPool]:
    environment = {**minimal_environment(), "AWS_DEFAULT_REGION": "us-east-1", "WEBHOOK_SECRET": "none"}
    running = WorkerPool(environment, tmp_path)
    yield running
    running.stop()


def test_a_handler_answers_from_a_process_of_its_own_and_logs_to_its_own_file(
    workers: WorkerPool, tmp_path: Path
) -> None:
    ended = workers.invoke("inbound", EVENT, 30)
    assert (ended.outcome, ended.answer["statusCode"]) == ("answered", 503)
    assert "Misconfigured" in (tmp_path / "inbound.log").read_text()


def test_what_is_raised_is_told_and_the_worker_goes_on(workers: WorkerPool) -> None:
    ended = workers.invoke("inbound", EVENT, 30, Instead("raise"))
    assert (ended.outcome, ended.answer) == ("raised", "ValueError: no")
    first, second = (workers.invoke("inbound", EVENT, 30, Instead("")).answer for _ in range(2))
    assert first == second


def test_what_needs_a_cold_worker_gets_a_new_one(workers: WorkerPool) -> None:
    first, second = (workers.invoke("inbound", EVENT, 30, Instead("", needs_cold_worker=True)).answer for _ in range(2))
    assert first != second


def test_a_worker_that_dies_is_told_from_one_that_runs_out_of_time(workers: WorkerPool) -> None:
    assert workers.invoke("inbound", EVENT, 30, Instead("die")).outcome == "killed"
    assert workers.invoke("inbound", EVENT, 0.2, Instead("sleep")).outcome == "timed_out"
    assert workers.invoke("inbound", EVENT, 30, Instead("")).outcome == "answered"


def test_the_context_counts_down_and_not_below_zero() -> None:
    assert 900 <= LambdaContext("inbound", 1).get_remaining_time_in_millis() <= 1_000
    assert LambdaContext("inbound", -1).get_remaining_time_in_millis() == 0
