"""What is going on with a project, on the whole stack: a date moves, a report comes in and a task is closed; one new
text tells of all three and cites the page, and whoever looks in between reads the old one and what came since."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from local.stack_client import wait_until
from tests.end_to_end.operating import operate, state, thinking, upload
from tests.end_to_end.world import World
from tests.integration.models.aimock import ScriptedProtocolServer
from tests.integration.pulse import scripted_pulse_model
from tests.sample_files import make_pdf

PROJECT = "project/kestrel-lock"
TASK = "task/read-gauge"
REPORT = [
    [("Morning round", 20), ("Weather dry, river low.", 11)],
    [("Gauges", 14), ("The north footing moved overnight: the gauge reads 0.61 mm.", 11)],
]
NEWS = ("2027-03-05", "footing moved overnight", "done")
WINDOW_AND_SWEEP = 30 + 60 + 60
"""Seconds: how long changes are gathered, a minute between two sweeps, and time for the writing."""


def mind(request: dict[str, Any]) -> dict[str, Any]:
    """Quotes what is new in the material that it is given, then some of the rest, each with its number."""
    told = "\n".join(one["content"] for one in request["messages"] if isinstance(one["content"], str))
    if "</parlour:briefing>" not in told:
        return {"content": "A round of the site."}
    found = re.findall(r"^\[(\d+)\] (.+?)(?=\n\n|\Z)", told, re.MULTILINE | re.DOTALL)
    quoted = [(" ".join(text.split())[:300], [int(number)]) for number, text in found]
    quoted.sort(key=lambda one: not any(word in one[0] for word in NEWS))
    return {"content": scripted_pulse_model.statements_answer(*quoted[:8])}


@pytest.fixture(scope="module")
def model(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedProtocolServer]:
    with thinking(world, tmp_path_factory.mktemp("author"), mind) as server:
        yield server


def look(world: World, path: str = "", **params: str) -> dict[str, Any]:
    """The project's Pulse, or what its API has below it; such a look does not count as somebody's."""
    told: dict[str, Any] = operate(world, "GET", f"/v1/entities/{PROJECT}/pulse{path}", params=params).json()
    return told


def written(world: World, after: str = "") -> dict[str, Any]:
    """The Pulse once it was written after that moment."""

    def newer() -> dict[str, Any] | None:
        found = look(world, poll="true")
        is_new = found["pulse"] and found["pulse"]["generated_at"] > after
        return found if is_new and found["stale_since"] is None else None

    found = wait_until(newer, "the Pulse", WINDOW_AND_SWEEP)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def first(world: World, model: ScriptedProtocolServer) -> dict[str, Any]:
    """A project with a task, and its first Pulse."""
    parties = {"client": "Kestrel Dock Trust", "contractor": "Fennimore Build"}
    make(world, PROJECT, "Kestrel Lock", status="on site", forecast_completion="2027-02-12", **parties)
    make(world, TASK, "Read the gauge", PROJECT, state="open", owner="Ida Brandt")
    operate(world, "POST", f"/v1/entities/{PROJECT}/pulse/refresh")
    return written(world)


def test_three_changes_make_one_new_text_that_cites_the_page(world: World, first: dict[str, Any]) -> None:
    assert not any(word in first["pulse"]["markdown"] for word in NEWS)
    change(world, PROJECT, forecast_completion="2027-03-05")
    file_id = upload(world, "morning-round.pdf", make_pdf(REPORT), PROJECT)
    change(world, TASK, state="done")
    assert state(world, file_id)["state"] == "ready"

    between = look(world, poll="true")
    assert between["pulse"]["markdown"] == first["pulse"]["markdown"]
    for word in ("2027-03-05", "Read the gauge", "morning-round.pdf"):
        assert word in between["changes_text"], between["changes_text"]
    assert {one["cause"] for one in between["causes"]} == {"changed", "child_changed", "file_ingested"}, between

    after = written(world, first["pulse"]["generated_at"])
    for word in (*NEWS, "0.61 mm"):
        assert word in after["pulse"]["markdown"]
    assert after["changes_text"] == ""
    (told,) = [one for one in after["pulse"]["statements"] if "footing moved" in one["text"]]
    (cited,) = [one for one in after["pulse"]["citations"] if one["number"] in told["sources"]]
    assert (cited["title"], cited["locator"]) == ("morning-round.pdf", "Gauges · page 2")
    versions = look(world, "/history")["versions"]
    assert [one["generated_at"] for one in versions] == [one["pulse"]["generated_at"] for one in (after, first)], (
        "one text for three changes"
    )
    waited = datetime.fromisoformat(after["pulse"]["generated_at"]) - datetime.fromisoformat(between["stale_since"])
    assert 30 <= waited.total_seconds() <= WINDOW_AND_SWEEP


def make(world: World, handle: str, name: str, project: str | None = None, **properties: str) -> None:
    kind, _, key = handle.partition("/")
    wanted = {"type": kind, "key": key, "name": name, "project": project, "properties": properties}
    operate(world, "POST", "/v1/entities", json=wanted)


def change(world: World, handle: str, **properties: str) -> None:
    operate(world, "PATCH", f"/v1/entities/{handle}", json={"properties": properties})
