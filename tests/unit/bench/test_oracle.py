"""How two recordings of conversations are compared, and which differences are accepted."""

from typing import Any

import pytest

from bench.oracle import recording
from bench.oracle.recording import Difference

LAYERS = ["tools", "tiers", "briefing"]


def prompt(text: str = "t", **changes: Any) -> dict[str, Any]:
    return {"text": text, "tokens": 10, "marks": [1], "layers": {"0": "a", "2": "b"}, **changes}


def recorded(*prompts: Any, jobs: tuple[str, ...] = ("summary:1",), state: str = "answered") -> dict[str, Any]:
    turn = {"place": "a1", "state": state, "prompts": list(prompts)}
    return {"code": "", "conversations": {"talk": {"turns": [turn], "jobs": list(jobs)}}}


def parts(before: Any, now: Any) -> list[tuple[str, str]]:
    return [(one.place, one.part) for one in recording.compare(before, now, LAYERS)]


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (recorded(prompt()), []),
        (recorded(prompt("u", layers={"0": "a", "2": "c"}, tokens=11)), [("a1.1", "briefing")]),
        (recorded(prompt("u", layers={"0": "a"})), [("a1.1", "briefing")]),
        (recorded(prompt("u", layers={"0": "a", "1": "x", "2": "b"})), [("a1.1", "tiers")]),
        (recorded(prompt("u")), [("a1.1", "order")]),
        (recorded(prompt(marks=[2])), [("a1.1", "marks")]),
        (recorded(prompt(tokens=11)), [("a1.1", "tokens")]),
        (recorded(prompt(), prompt()), [("a1", "prompts")]),
        (recorded(prompt(), state="failed"), [("a1", "turns")]),
        (recorded(prompt(), jobs=("summary:2", "pulse:1")), [("job 1", "summary"), ("job 2", "pulse")]),
    ],
)
def test_compare_names_the_parts_that_differ(now: Any, expected: list[tuple[str, str]]) -> None:
    assert parts(recorded(prompt()), now) == expected


def test_compare_reports_a_conversation_that_was_never_recorded() -> None:
    before: Any = {"code": "", "conversations": {}}
    assert parts(before, recorded(prompt())) == [("a1", "turns"), ("job 1", "summary")]


def test_a_recording_is_read_as_it_was_written(tmp_path: Any) -> None:
    recording.write(recorded(prompt()), tmp_path / "found.json")
    assert recording.read(tmp_path / "found.json") == recorded(prompt())


def test_accepted_differences_are_closed_until_they_change() -> None:
    marks = [Difference("talk", "a1.1", "marks", "[2]"), Difference("other", "a1.1", "marks", "[3]")]
    briefing = Difference("talk", "a1.1", "briefing", "c")
    accepted = recording.accept([*marks, briefing], [], {"talk", "other"}, "Marks follow a rule.", ["marks"])
    assert recording.open_differences([*marks, briefing], accepted) == [briefing]
    moved = [Difference("talk", "a1.1", "marks", "[4]"), marks[1]]
    assert recording.open_differences(moved, accepted) == [moved[0]]


def test_accept_drops_what_does_not_hold_any_more() -> None:
    marks = [Difference("talk", "a1.1", "marks", "[2]"), Difference("other", "a1.1", "marks", "[3]")]
    first = recording.accept(marks, [], {"talk", "other"}, "Marks follow a rule.", [])
    changed = Difference("talk", "a1.1", "marks", "[4]")
    second = recording.accept([changed, marks[1]], first, {"talk", "other"}, "The rule changed.", [])
    assert [(entry.reason, list(entry.digests)) for entry in second] == [
        ("Marks follow a rule.", ["other"]),
        ("The rule changed.", ["talk"]),
    ]


def test_accept_keeps_the_entries_of_conversations_that_were_not_played() -> None:
    marks = [Difference("talk", "a1.1", "marks", "[2]"), Difference("other", "a1.1", "marks", "[3]")]
    first = recording.accept(marks, [], {"talk", "other"}, "Marks follow a rule.", [])
    changed = Difference("talk", "a1.1", "marks", "[4]")
    second = recording.accept([changed], first, {"talk"}, "The rule changed.", [])
    assert [list(entry.digests) for entry in second] == [["other"], ["talk"]]
