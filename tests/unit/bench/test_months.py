"""The script that the benchmark of memory plays is what it says to be, and what cannot be played is named."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bench.memory import MONTH
from bench.months import Taken, read
from bench.planted import planted
from bench.talks import Malformed

OTHER = MONTH.with_name("other_month.json")
TURN = {"user": "I live in Pune.", "agent": "Noted.", "tells": {"city": "Pune"}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "month.json"


def write(file: Path, *turns: Any, **changes: Any) -> Path:
    session = {"who": "ana", "channel": "web", "day": 2, "at": "18:30", "turns": turns or (TURN,), **changes}
    file.write_text(json.dumps({"begins": "2026-03-02T00:00:00+00:00", "sessions": [session]}), "utf-8")
    return file


def test_the_month_has_what_it_is_said_to_have() -> None:
    month = read(MONTH)
    values = planted(month)
    assert 2 * len(month.turns) == 400
    assert month.sessions == 30
    assert {visit.channel for visit in month.visits} == {"web", "whatsapp"}
    assert len({(one.who, one.name) for one in values}) == 60
    assert [sum(one.ended == how for one in values) for how in ("changed", "retracted")] == [20, 10]
    right = sum(len(turn.model) for turn in month.turns)
    wrong = sum(len(turn.wrong) for turn in month.turns)
    assert 0.32 < wrong / (right + wrong) < 0.35
    assert {one.kind for turn in month.turns for one in turn.keeps} == {
        "identifier", "amount", "date", "name", "decision", "approval", "promise",
    }  # fmt: skip


def test_there_is_another_one_of_other_people() -> None:
    other = read(OTHER)
    assert not set(other.people) & set(read(MONTH).people)
    assert len(planted(other)) > 90


def test_its_values_stand_in_the_messages_that_tell_them_and_no_question_holds_its_answer() -> None:
    for turn in read(MONTH).turns:
        said = turn.user.casefold()
        for spellings in turn.tells.values():
            assert any(word in said for one in spellings for word in one.casefold().split()), turn
        for kept in turn.keeps:
            assert kept.value.casefold() in f"{turn.user} {turn.agent}".casefold()
            assert kept.value.casefold() not in kept.ask.casefold()


def test_a_model_takes_what_is_told_and_retracted_unless_the_script_says_otherwise(file: Path) -> None:
    gone = {"user": "Forget where I live.", "agent": "Done.", "retracts": ["city"]}
    silent = {**TURN, "model": [], "wrong": [{"why": "nowhere", "key": "city", "value": "Rome", "lines": "nowhere"}]}
    first, second, third = read(write(file, TURN, gone, silent)).turns
    assert first.model == (Taken("city", "Pune"),)
    assert second.model == (Taken("city", "", ends=True),)
    assert third.model == ()
    assert third.wrong == (Taken("city", "Rome", nowhere=True, why="nowhere"),)


def test_turns_have_their_times_and_visits_stand_in_their_order(file: Path) -> None:
    month = read(write(file, TURN, TURN, every=90))
    first = datetime(2026, 3, 4, 18, 30, tzinfo=UTC)
    assert [turn.at for turn in month.turns] == [first, first + timedelta(seconds=90)]
    sessions = [
        {"who": "ana", "channel": channel, "day": day, "turns": [TURN]}
        for day, channel in ((3, "web"), (1, "whatsapp"), (2, "whatsapp"))
    ]
    file.write_text(json.dumps({"begins": "2026-03-02T00:00:00Z", "sessions": sessions}), "utf-8")
    month = read(file)
    assert [visit.channel for visit in month.visits] == ["whatsapp", "whatsapp", "web"]
    assert month.sessions == 2  # what is said on one phone is one thread


@pytest.mark.parametrize(
    ("turn", "problem"),
    [
        ({"user": "Hi"}, "session 1, turn 1: `agent` is missing"),
        ({**TURN, "says": 1}, "turn 1: unknown key 'says'"),
        ({**TURN, "tells": {"city": []}}, "turn 1, tells: 'city' has no value"),
        ({**TURN, "tells": {"city": 5}}, "turn 1, tells: 'city' is words, or a list of them"),
        ({**TURN, "may": {"city": ["Pune", 5]}}, "turn 1, may: 'city' is words, or a list of them"),
        ({**TURN, "keeps": [{"value": "A-1"}]}, "turn 1, keeps: an entry has a `value` and what to `ask`"),
        ({**TURN, "retracts": ["plan"]}, "ana retracts 'plan' in 'I live in Pune.', and never told it before"),
        ({**TURN, "wrong": [{"key": "a", "confidence": "sure"}]}, "wrong, confidence"),
    ],
)
def test_a_turn_that_cannot_be_played_is_named(file: Path, turn: object, problem: str) -> None:
    with pytest.raises(Malformed) as refused:
        read(write(file, turn))
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"channel": "fax"}, "session 1: `channel` is one of whatsapp, web"),
        ({"at": "noon"}, "`at` is a time of the day"),
        ({"at": "25:10"}, "`at` is a time of the day"),
        ({"at": "10:75"}, "`at` is a time of the day"),
        ({"day": 1e9}, "session 1: its turns are in no year that there is"),
        ({"day": 4e6}, "session 1: its turns are in no year that there is"),
        ({"every": float("nan")}, "session 1: its turns are in no year that there is"),
        ({"turns": []}, "`turns` is a list of at least one turn"),
        ({"who": ""}, "`who` names a person"),
        ({"day": -1}, "session 1, day: expected a number from 0 on"),
    ],
)
def test_a_session_that_cannot_be_played_is_named(file: Path, changes: dict[str, object], problem: str) -> None:
    with pytest.raises(Malformed) as refused:
        read(write(file, **changes))
    assert problem in str(refused.value)


@pytest.mark.parametrize("given", ["{", "[]", '{"begins": "monday", "sessions": []}', '{"begins": "2026-03-02"}'])
def test_a_file_that_is_no_script_is_named(file: Path, given: str) -> None:
    file.write_text(given, "utf-8")
    with pytest.raises(Malformed, match=r"month\.json"):
        read(file)
