"""Workers: handlers in processes of their own, which answer, raise, run out of time or die."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local.state import plain_environment
from local.workers import Context, Workers

EVENT: dict[str, Any] = {"httpMethod": "GET", "path": "/nowhere", "headers": {}, "body": None}


@dataclass(frozen=True)
class Instead:
    """Does something else than the handler."""

    what: str
    cold: bool = False

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
def workers(tmp_path: Path) -> Iterator[Workers]:
    environment = {**plain_environment(), "AWS_DEFAULT_REGION": "us-east-1", "WEBHOOK_SECRET": "none"}
    running = Workers(environment, tmp_path)
    yield running
    running.stop()


def test_a_handler_answers_from_a_process_of_its_own_and_logs_to_its_own_file(workers: Workers, tmp_path: Path) -> None:
    ended = workers.invoke("inbound", EVENT, 30)
    assert (ended.how, ended.answer["statusCode"]) == ("answered", 503)
    assert "Misconfigured" in (tmp_path / "inbound.log").read_text()


def test_what_is_raised_is_told_and_the_worker_goes_on(workers: Workers) -> None:
    ended = workers.invoke("inbound", EVENT, 30, Instead("raise"))
    assert (ended.how, ended.answer) == ("raised", "ValueError: no")
    first, second = (workers.invoke("inbound", EVENT, 30, Instead("")).answer for _ in range(2))
    assert first == second


def test_what_needs_a_cold_worker_gets_a_new_one(workers: Workers) -> None:
    first, second = (workers.invoke("inbound", EVENT, 30, Instead("", cold=True)).answer for _ in range(2))
    assert first != second


def test_a_worker_that_dies_is_told_from_one_that_runs_out_of_time(workers: Workers) -> None:
    assert workers.invoke("inbound", EVENT, 30, Instead("die")).how == "killed"
    assert workers.invoke("inbound", EVENT, 0.2, Instead("sleep")).how == "timed_out"
    assert workers.invoke("inbound", EVENT, 30, Instead("")).how == "answered"


def test_the_context_counts_down_and_not_below_zero() -> None:
    assert 900 <= Context("inbound", 1).get_remaining_time_in_millis() <= 1_000
    assert Context("inbound", -1).get_remaining_time_in_millis() == 0
