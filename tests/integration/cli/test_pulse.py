"""`parlour pulse`, against the real API and the real writer."""

import json
from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

from parlour.infra.postgres import Database
from tests.integration.api.conftest import FakeQueues, ManualClock
from tests.integration.cli.test_commands import RunCommand, configured, parlour, programs
from tests.integration.pulse.pulse_api_harness import PulseApiHarness, make_pulse_project

__all__ = ["configured", "parlour", "programs"]

type Output = pytest.CaptureFixture[str]


@pytest.fixture
def pulse_api(
    client: TestClient, open_database: Callable[[], Database], clock: ManualClock, queues: FakeQueues
) -> PulseApiHarness:
    """A project of the tenant that the command acts in."""
    return make_pulse_project(client, open_database, clock, queues, "acme")


def test_a_refresh_waits_for_the_text_and_shows_it_with_its_sources(
    parlour: RunCommand, pulse_api: PulseApiHarness, capsys: Output
) -> None:
    assert parlour("pulse", "show", "project/NRS") == 0
    assert "no Pulse yet" in capsys.readouterr().out
    assert parlour("pulse", "refresh", "project/NRS", sleep=lambda _: pulse_api.deliver()) == 0
    told = capsys.readouterr().out
    assert "River station" in told
    assert "version 1" in told
    assert "[1] " in told
    assert parlour("pulse", "show", "project/NRS", "--json") == 0
    assert json.loads(capsys.readouterr().out)["pulse"]["version"] == 1


def test_what_came_since_and_why_it_waits_is_shown(
    parlour: RunCommand, pulse_api: PulseApiHarness, capsys: Output
) -> None:
    pulse_api.write()
    pulse_api.clock.advance(minutes=1)
    pulse_api.change("project/NRS", properties={"state": "done"})
    assert parlour("pulse", "show", "project/NRS") == 0
    told = capsys.readouterr().out
    assert "stale since" in told
    assert "Since then: 1 change of it (state: done (was open))." in told


def test_a_question_is_answered_for_whoever_asks(
    parlour: RunCommand, pulse_api: PulseApiHarness, capsys: Output
) -> None:
    pulse_api.write()
    asked = ("pulse", "refresh", "project/NRS", "--question", "What is open?")
    assert parlour(*asked, sleep=lambda _: pulse_api.deliver()) == 0
    told = capsys.readouterr().out
    assert "What is open?" in told
    assert "[1] " in told


def test_what_it_said_before_and_what_changed_are_shown(
    parlour: RunCommand, pulse_api: PulseApiHarness, capsys: Output
) -> None:
    pulse_api.write()
    pulse_api.clock.advance(minutes=1)
    pulse_api.change("project/NRS", properties={"budget": 7000})
    pulse_api.write()
    assert parlour("pulse", "show", "project/NRS", "--history") == 0
    told = capsys.readouterr().out
    assert "version 2" in told
    assert "version 1" in told
    assert parlour("pulse", "show", "project/NRS", "--diff") == 0
    assert "version 1 -> 2" in capsys.readouterr().out
    assert parlour("pulse", "show", "project/NRS", "--diff", "--history") == 2


def test_why_shows_the_prompt_by_candidate(parlour: RunCommand, pulse_api: PulseApiHarness, capsys: Output) -> None:
    pulse_api.write()
    assert parlour("pulse", "explain", "project/NRS") == 0
    told = capsys.readouterr().out
    assert "identical bytes" in told
    assert "counts" in told
    assert parlour("pulse", "explain", "project/NRS", "--prompt") == 0
    assert "River station" in capsys.readouterr().out


def test_the_operators_numbers_and_the_budget(parlour: RunCommand, pulse_api: PulseApiHarness, capsys: Output) -> None:
    pulse_api.write()
    pulse_api.get()
    assert parlour("pulse", "stats") == 0
    told = capsys.readouterr().out
    assert "merged: changes" in told
    assert "project/NRS" in told
    assert parlour("pulse", "cap", "0.75") == 0
    assert "of $0.75" in capsys.readouterr().out
    assert parlour("pulse", "cap", "much") == 2
    assert parlour("pulse", "cap", "default") == 0


def test_what_has_no_pulse_is_said(parlour: RunCommand, pulse_api: PulseApiHarness, capsys: Output) -> None:
    assert parlour("pulse", "show", "task/T-1") == 1
    assert "has no Pulse" in capsys.readouterr().err
    assert parlour("pulse", "show", "NRS") == 2
