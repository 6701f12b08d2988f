"""`parlour cost` against the real API."""

import json

import pytest
from fastapi.testclient import TestClient

from tests.integration.api.conftest import OPERATOR
from tests.integration.cli.test_commands import RunCommand, configured, parlour, programs

__all__ = ["configured", "parlour", "programs"]


def test_the_cost_is_shown_and_as_json(parlour: RunCommand, acme: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert parlour("cost") == 0
    assert "$0.00 of $20.00 (deployment default), 0%" in capsys.readouterr().out
    assert parlour("cost", "--days", "2", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["days"]) == 2


def test_the_cap_is_set_and_given_back(parlour: RunCommand, acme: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert parlour("cost", "cap", "5") == 0
    assert "$0.00 of $5.00, 0%" in capsys.readouterr().out
    assert parlour("cost", "cap", "default") == 0
    assert "$20.00 (deployment default)" in capsys.readouterr().out


@pytest.mark.parametrize("cap", ["much", "-1", "NaN"])
def test_a_cap_that_is_none_is_not_understood(
    parlour: RunCommand, acme: str, cap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parlour("cost", "cap", "--", cap) == 2
    assert capsys.readouterr().err


def test_calls_are_stopped_and_resumed(
    parlour: RunCommand, client: TestClient, acme: str, capsys: pytest.CaptureFixture[str]
) -> None:
    headers = {"Authorization": f"Bearer {OPERATOR}", "Parlour-Tenant": acme}
    assert parlour("cost", "stop") == 0
    assert "Model calls are off since" in capsys.readouterr().out
    assert client.get("/v1/costs", headers=headers).json()["today"]["stopped"]
    assert parlour("cost", "resume") == 0
    assert not client.get("/v1/costs", headers=headers).json()["today"]["stopped"]
