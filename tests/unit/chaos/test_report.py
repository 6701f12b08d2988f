"""The fault suite's own parts: what a port call is called, where a worker dies, what the table says."""

import json
import os
import signal
from io import StringIO
from pathlib import Path

import httpx2
import pytest
from rich.console import Console

from tests.chaos import report
from tests.chaos.report import ResultRow
from tests.chaos.scenarios import SCENARIOS, Invocation, list_boundaries
from tests.chaos.tripwire import WHOLE_INVOCATION, KillPoint, RecordedInvocation, Tripwire

PLACES = {"phone.example": "phone"}


def reach(*paths: str) -> str:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200))
    with httpx2.Client(transport=transport) as client:
        for path in paths:
            client.post(f"http://phone.example{path}")
    return "done"


def test_a_clean_run_is_recorded_call_by_call_with_names_that_repeat_numbered() -> None:
    key = "01a200f9-0c89-73ca-8afb-f4d300214114"
    recorded = Tripwire(PLACES)(lambda: reach("/messages", "/messages", f"/by-key/{key}:1:toolu"))
    assert recorded == RecordedInvocation(
        "done",
        (WHOLE_INVOCATION, "phone: POST /messages", "phone: POST /messages (2)", "phone: POST /by-key/..."),
    )


def test_the_seams_are_as_before_once_the_handler_is_back() -> None:
    before = httpx2.Client.send
    Tripwire(PLACES)(reach)
    assert httpx2.Client.send is before


@pytest.mark.parametrize(("after", "sent"), [(False, 1), (True, 2)])
def test_the_process_gets_its_signal_just_before_or_just_after_the_call(
    after: bool, sent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    signals: list[tuple[int, int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: signals.append((pid, number, len(seen))))

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.url.path)
        return httpx2.Response(200)

    def work() -> None:
        with httpx2.Client(transport=httpx2.MockTransport(answer)) as client:
            client.post("http://phone.example/a")
            client.post("http://phone.example/b")

    Tripwire(PLACES, KillPoint("phone: POST /b", after))(work)
    assert signals == [(os.getpid(), signal.SIGKILL, sent)]


def test_every_port_call_of_the_named_invocation_is_two_boundaries() -> None:
    (scenario,) = [one for one in SCENARIOS if one.name == "receive"]
    found = list_boundaries(scenario, {Invocation("receiver", 1): ("a", "b"), Invocation("orchestrator", 1): ("c",)})
    assert [(one.number, one.point) for one in found] == [
        (1, KillPoint("a", is_after=False)),
        (1, KillPoint("a", is_after=True)),
        (2, KillPoint("b", is_after=False)),
        (2, KillPoint("b", is_after=True)),
    ]


def test_an_invocation_that_a_clean_run_never_made_is_named() -> None:
    with pytest.raises(LookupError, match=r"receive.*receiver"):
        list_boundaries(
            next(one for one in SCENARIOS if one.name == "receive"), {Invocation("orchestrator", 1): ("c",)}
        )


def rows(*, broken: tuple[str, ...] = ()) -> list[ResultRow]:
    return [
        ResultRow(
            "send", "database: commit", "outbound", 7, is_after=False, outcome="one reply", redeliveries=1, seconds=12.0
        ),
        ResultRow(
            "send",
            "database: commit",
            "outbound",
            7,
            is_after=True,
            outcome="one reply, unknown",
            broken_guarantees=broken,
        ),
        ResultRow("database down", "30 s", outcome="60 of 60"),
    ]


def shown(rows: list[ResultRow], *, verbose: bool) -> str:
    out = StringIO()
    console = Console(file=out, width=160)
    report.print_table(rows, console, verbose=verbose)
    report.print_conclusion(rows, console)
    return out.getvalue()


def test_deaths_before_and_after_a_call_stand_beside_each_other() -> None:
    (pair,) = report.before_and_after(rows()[:2])
    assert [row.is_after for row in pair if row] == [False, True]
    line = next(line for line in shown(rows(), verbose=True).splitlines() if "database: commit" in line)
    assert "one reply " in line
    assert "one reply, unknown" in line


def test_a_broken_promise_is_named_with_its_row_and_fails_the_suite() -> None:
    broken = rows(broken=("a reply reached the phone 2 times",))
    assert report.print_conclusion(broken, Console(file=StringIO())) == 1
    text = shown(broken, verbose=False)
    assert "send, outbound, killed after call 7: database: commit" in text
    assert "a reply reached the phone 2 times" in text
    assert "2 kills; 1 break a promise" in text


def test_nothing_broken_is_success() -> None:
    assert report.print_conclusion(rows(), Console(file=StringIO())) == 0


def test_the_rows_are_written_as_json(tmp_path: Path) -> None:
    file = tmp_path / "chaos.json"
    report.write_json(rows(), file)
    assert [row["scenario"] for row in json.loads(file.read_text())] == ["send", "send", "database down"]
