"""What prompts cost is reckoned as a cache charges it, and scripts are refused with the place of what is wrong."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import cache_simulation, conversation_scripts
from bench.cache_simulation import Sent
from bench.prompt_cost import SCRIPTS, measured
from bench.script_player import play
from local.state import ROOT, minimal_environment


def sent(text: str, at: float, *marks: int, least: int = 0) -> Sent:
    """A prompt whose every letter is a block."""
    return Sent(1, at, text.encode(), tuple(range(1, len(text) + 1)), marks, least)


def floors(*prompts: Sent) -> list[tuple[int, int, int]]:
    return [(cost.read, cost.written, cost.plain) for cost in cache_simulation.floor(prompts)]


def charges(*prompts: Sent) -> list[tuple[int, int, int]]:
    return [(cost.read, cost.written, cost.plain) for cost in cache_simulation.charged(prompts)]


def test_the_floor_writes_once_what_is_read_again_and_nothing_else() -> None:
    assert floors(sent("abcdX", 0), sent("abcdeY", 60), sent("abcdefZ", 120)) == [(0, 4, 1), (4, 1, 1), (5, 0, 2)]


def test_a_prefix_lives_five_minutes_after_its_last_use() -> None:
    assert floors(sent("abcX", 0), sent("abY", 200), sent("abcZ", 400))[2] == (2, 0, 2)
    assert floors(sent("abc", 0), sent("abc", 300), sent("abc", 601)) == [(0, 3, 0), (3, 0, 0), (0, 0, 3)]


def test_a_prefix_below_the_minimum_is_not_cached() -> None:
    assert floors(sent("abc", 0, least=4), sent("abc", 1, least=4)) == [(0, 0, 3), (0, 0, 3)]
    assert charges(sent("abc", 0, 3, least=4), sent("abc", 1, 3, least=4)) == [(0, 0, 3), (0, 0, 3)]


def test_only_what_was_marked_is_read_and_only_up_to_the_last_mark_is_written() -> None:
    assert charges(sent("abcd", 0, 2), sent("abcde", 60, 4), sent("abcdef", 120, 4)) == [
        (0, 2, 2),
        (2, 2, 1),
        (4, 0, 2),
    ]


def test_the_provider_looks_back_twenty_blocks_from_a_mark() -> None:
    first, text = sent("a" * 5, 0, 5), "a" * 40
    assert charges(first, sent(text, 1, 24))[1][0] == 5
    assert charges(first, sent(text, 1, 25))[1][0] == 0
    assert charges(first, sent(text, 1, 5, 40))[1][0] == 5


def test_the_bytes_of_a_prompt_are_tools_system_and_messages_without_marks() -> None:
    (script,) = conversation_scripts.read(SCRIPTS / "one-question.json")
    first, second = play(script)[:2]
    assert first.bytes.startswith(b'{"tools":[{"description":')
    assert b"cache_control" not in first.bytes
    assert 1 <= len(first.marks) <= 4
    end = first.ends[first.marks[-2] - 1]
    assert second.bytes[:end] == first.bytes[:end]


def test_short_scripts_stay_near_the_floor_and_below_the_naive_layouts() -> None:
    figures = measured([script for script in conversation_scripts.read(SCRIPTS) if len(script.turns) <= 10])
    assert set(figures["turns"]) == {"3", "10"}
    assert all(1 <= row["over_floor"] <= 1.08 for row in figures["turns"].values())
    assert figures["cold_gaps"]["ratio"] <= 1
    naive = figures["naive"]
    assert naive["nothing_marked"] == {"ratio": 1, "cold_ratio": 1}
    assert naive["volatile_first"]["ratio"] > figures["turns"]["10"]["ratio"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"turns": [\n{"user": "Hi" "reply": 5}]}', "line 2, column 15"),
        ('{"turns": []}', "`turns` is a list of at least one turn"),
        ('{"name": "A", "turns": [{"user": 1, "reply": 1}, {"user": 1}]}', "script 1 (A), turn 2: `reply` is missing"),
        (
            '{"turns": [{"user": 1, "reply": 1, "after": "now"}]}',
            "turn 1, after: expected a number from 0 on, found 'now'",
        ),
        ('{"turns": [{"user": 1, "reply": 1, "spoken": 1}]}', "turn 1: unknown key 'spoken'"),
        ('{"turns": [{"user": 1, "reply": 1, "calls": [[{"tool": "x"}]]}]}', "round 1, call 1: a call has either"),
        ('{"budget": {"profile": "x"}, "turns": [{"user": 1, "reply": 1}]}', "budget.profile is 'x'"),
        ('{"briefing": {"history": 1}, "turns": [{"user": 1, "reply": 1}]}', "briefing: unknown key 'history'"),
    ],
)
def test_a_script_that_cannot_be_played_says_where_and_why(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "talk.json"
    file.write_text(text)
    with pytest.raises(conversation_scripts.Malformed) as raised:
        conversation_scripts.read(file)
    assert str(file) in str(raised.value)
    assert said in str(raised.value)


def test_a_turn_that_does_not_fit_the_budget_is_named(tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    file.write_text('{"name": "Long", "turns": [{"user": 9, "reply": 9}, {"user": 30000, "reply": 9}]}')
    with pytest.raises(conversation_scripts.Malformed, match=r"Long, turn 2: .*message"):
        play(conversation_scripts.read(file)[0])


def test_other_scripts_are_measured_from_the_command_line(tmp_path: Path) -> None:
    script, file = tmp_path / "mine.json", tmp_path / "figures.json"
    turns = [{"user": "Is it safe?", "reply": 60, "calls": [[{"found": [90, 90]}]]}, {"user": 20, "reply": 40}]
    script.write_text(json.dumps({"name": "Mine", "turns": turns}))
    command = [sys.executable, "-m", "bench.prompt_cost", "--scripts", str(script), "--json", str(file)]
    run = subprocess.run(command, cwd=ROOT, env=minimal_environment(), check=True, capture_output=True, text=True)
    assert "Mine" in run.stdout
    figures = json.loads(file.read_text())
    assert figures["turns"]["2"]["floor"] <= figures["turns"]["2"]["ratio"] < 1
    script.write_text("[]")
    refused = subprocess.run(command, cwd=ROOT, env=minimal_environment(), check=False, capture_output=True, text=True)
    assert refused.returncode == 1
    assert "no scripts here" in refused.stderr
