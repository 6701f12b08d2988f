"""`parlour search`, `parlour records` and `parlour show`, against the real API."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.integration.api.conftest import create_key_headers, operator_headers
from tests.integration.cli.test_commands import RunCommand, configured, parlour, programs

__all__ = ["configured", "parlour", "programs"]

type Output = pytest.CaptureFixture[str]


@pytest.fixture
def risks(client: TestClient, acme: str) -> None:
    """A project with a risk and a task that are linked, and a risk of its own that is restricted."""

    def write(path: str, **body: Any) -> None:
        answer = client.post(path, json=body, headers=operator_headers(acme))
        assert answer.status_code == 201, answer.text

    write("/v1/entities", type="project", key="NRS", name="River station")
    crack = {"severity": "high", "state": "open", "response": "Measure twice a week"}
    write("/v1/entities", type="risk", key="R-1", name="Crack in the footing", project="project/NRS", properties=crack)
    write("/v1/entities", type="risk", key="R-2", name="Crack in the dam", classification=3, properties={})
    write("/v1/entities", type="task", key="T-1", name="Measure the crack", properties={"state": "open"})
    write("/v1/links", source="risk/R-1", target="task/T-1", relation="depends_on")


@pytest.mark.usefixtures("risks")
def test_a_search_shows_what_was_found_and_of_what(parlour: RunCommand, capsys: Output) -> None:
    assert parlour("search", "crack in the footing") == 0
    told = capsys.readouterr().out
    assert "Crack in the footing" in told
    assert "record of risk/R-1" in told
    assert "100%" in told
    assert parlour("search", "crack", "--type", "task") == 0
    told = capsys.readouterr().out
    assert "of task/T-1" in told
    assert "of risk/R-1" not in told
    assert parlour("search", "crack", "--in", "project/NRS", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert "risk/R-1" in {card["handle"] for card in found["cards"]}


@pytest.mark.usefixtures("risks")
def test_what_cannot_be_searched_is_said(parlour: RunCommand, capsys: Output) -> None:
    assert parlour("search", "crack", "--in", "project/NONE") == 1
    assert "not found" in capsys.readouterr().err
    assert parlour("search", "crack", "--in", "project/NRS", "--type", "risk") == 2
    assert parlour("search", "") == 2


@pytest.mark.usefixtures("risks")
def test_records_are_listed_by_type_project_and_property(parlour: RunCommand, capsys: Output) -> None:
    assert parlour("records", "risk", "--project", "project/NRS", "--where", "state=open") == 0
    [_, line] = capsys.readouterr().out.rstrip().splitlines()
    assert line.split()[0] == "Crack"
    assert line.rstrip().endswith("risk/R-1")
    assert parlour("records", "risk", "--where", "state=closed") == 0
    assert capsys.readouterr().out == "No records found\n"
    assert parlour("records", "rsik") == 2
    assert "risk" in capsys.readouterr().err


@pytest.mark.usefixtures("risks")
def test_records_are_read_page_after_page(parlour: RunCommand, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parlour.cli.records._PAGE_SIZE", 1)
    assert parlour("records", "--json") == 0
    handles = [one["handle"] for one in json.loads(capsys.readouterr().out)]
    assert {"project/NRS", "risk/R-1", "risk/R-2", "task/T-1"} <= set(handles)
    assert len(handles) == len(set(handles))
    assert parlour("records", "--limit", "2", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)) == 2


@pytest.mark.usefixtures("risks")
def test_a_record_is_shown_with_its_links(parlour: RunCommand, capsys: Output) -> None:
    assert parlour("show", "risk/R-1") == 0
    told = capsys.readouterr().out
    for text in ("Crack in the footing", "in project/NRS", "Measure twice a week", "-> depends on", "task/T-1"):
        assert text in told
    assert parlour("show", "risk/R-9") == 1
    assert parlour("show", "R-1") == 2
    assert "a handle is a type and a key" in capsys.readouterr().err


def test_a_packs_document_is_shown_with_its_text(parlour: RunCommand, acme: str, capsys: Output) -> None:
    assert parlour("show", "document/plan.md") == 0
    told = capsys.readouterr().out
    assert told.startswith("Plan\n")
    assert "The pour is on 14 March." in told
    assert parlour("show", "document/none.md") == 1


@pytest.mark.usefixtures("risks")
def test_what_is_above_a_keys_clearance_is_not_there(parlour: RunCommand, client: TestClient, capsys: Output) -> None:
    viewer = create_key_headers(client, "acme", "viewer")["Authorization"].removeprefix("Bearer ")
    assert parlour("--key", viewer, "search", "crack in the dam") == 0
    assert parlour("--key", viewer, "records", "risk") == 0
    told = capsys.readouterr().out
    assert "R-2" not in told
    assert "dam" not in told.replace("River", "")
    assert parlour("--key", viewer, "show", "risk/R-2") == 1
