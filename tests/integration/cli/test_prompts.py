"""`parlour explain` and `parlour rebuild` against the real API."""

import hashlib
import json
import uuid
from pathlib import Path
from uuid import UUID

import pytest

from parlour.cli import prompts, terminal
from tests.conversation_harness import ConversationHarness
from tests.integration.cli.test_commands import RunCommand, configured, parlour, programs
from tests.integration.day_prompt_inspection import run_two_turns

__all__ = ["configured", "parlour", "programs"]


@pytest.fixture
def talk(conversation: ConversationHarness, configured: None, monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """The ids of two turns of the tenant that the command asks for."""
    monkeypatch.setenv("PARLOUR_TENANT", "northbank")
    return run_two_turns(conversation)


def test_a_turn_is_explained(parlour: RunCommand, talk: list[UUID], capsys: pytest.CaptureFixture[str]) -> None:
    assert parlour("explain", str(talk[1])) == 0
    said = capsys.readouterr().out
    for part in (
        "turn 2, 3 prompts",
        "step 3",
        "history",
        "800",
        "2,000",
        "were cached",
        "call_2",
        "Good morning, who",
    ):
        assert part in said
    assert parlour("explain", str(talk[1]), "--step", "2", "--json") == 0
    assert [one["step"] for one in json.loads(capsys.readouterr().out)["steps"]] == [2]


def test_a_turn_and_its_explanation_give_a_prompt_the_same_count(
    parlour: RunCommand, talk: list[UUID], capsys: pytest.CaptureFixture[str]
) -> None:
    assert parlour("turn", str(talk[1]), "--json") == 0
    layers = json.loads(capsys.readouterr().out)["tokens_by_layer"]
    assert parlour("explain", str(talk[1]), "--json") == 0
    last = json.loads(capsys.readouterr().out)["steps"][-1]
    explained: dict[str, int] = {}
    for segment in last["segments"]:
        explained[segment["layer"]] = explained.get(segment["layer"], 0) + segment["tokens"]
    assert {name: tokens for name, tokens in explained.items() if tokens} == layers
    assert sum(layers.values()) == last["tokens"]


def test_two_turns_are_compared(parlour: RunCommand, talk: list[UUID], capsys: pytest.CaptureFixture[str]) -> None:
    assert parlour("explain", str(talk[1]), "--diff", str(talk[0])) == 0
    said = capsys.readouterr().out
    assert "turn 1 step 1 -> turn 2 step 1" in said
    assert "first change: byte " in said
    assert parlour("explain", str(talk[1]), "--diff", str(talk[1])) == 0
    assert "turn 2 step 2 -> turn 2 step 3" in capsys.readouterr().out


def test_a_prompt_is_written_byte_for_byte_with_its_hash(
    parlour: RunCommand, talk: list[UUID], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parlour("rebuild", str(talk[1]), "--step", "2") == 0
    out, said = capsys.readouterr()
    made = hashlib.sha256(out.encode()).hexdigest()
    assert f"rebuilt {made}: identical bytes" in said
    assert parlour("rebuild", str(talk[1]), "--step", "2", "--out", str(tmp_path / "prompt.json")) == 0
    assert (tmp_path / "prompt.json").read_bytes() == out.encode()
    assert capsys.readouterr().out == ""
    assert parlour("rebuild", str(talk[1]), "--out", str(tmp_path / "no" / "prompt.json")) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_what_is_not_the_same_is_said_and_fails(
    parlour: RunCommand, conversation: ConversationHarness, talk: list[UUID], capsys: pytest.CaptureFixture[str]
) -> None:
    conversation.query("UPDATE ledger_texts SET text = 'Hello' WHERE text LIKE 'Good morning, who%' RETURNING 1")
    assert parlour("rebuild", str(talk[0])) == 1
    assert "DIFFERENT from the bytes that were sent" in capsys.readouterr().err
    conversation.query("UPDATE ledger_texts SET text = NULL WHERE text = 'Hello' RETURNING 1")
    assert parlour("rebuild", str(talk[0])) == 1
    out, said = capsys.readouterr()
    assert out == ""
    assert "1 part was erased (message)" in said


def test_a_prompt_is_assembled_again_under_another_budget(
    parlour: RunCommand, talk: list[UUID], capsys: pytest.CaptureFixture[str]
) -> None:
    assert parlour("rebuild", str(talk[1]), "--budget", "6000", "--json") == 0
    made = json.loads(capsys.readouterr().out)
    again = made["reassembly"]
    assert again["tokens"] <= 6_000
    assert parlour("rebuild", str(talk[1]), "--budget", str(again["tokens_before"] - 300)) == 0
    said = capsys.readouterr().err
    assert "; sent with " in said
    assert "dropped" in said or "shortened" in said
    assert parlour("rebuild", str(talk[1]), "--budget", "300") == 2
    assert "300 tokens cannot hold this prompt" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("explain", "soon"), 2),
        (("explain",), 2),
        (("explain", str(uuid.UUID(int=7))), 1),
        (("rebuild", str(uuid.UUID(int=7)), "--budget", "0"), 2),
        (("rebuild", str(uuid.UUID(int=7)), "--step", "many"), 2),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    parlour: RunCommand, talk: list[UUID], arguments: tuple[str, ...], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parlour(*arguments) == status
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_what_was_closed_or_deleted_since_is_said(
    parlour: RunCommand, conversation: ConversationHarness, talk: list[UUID], capsys: pytest.CaptureFixture[str]
) -> None:
    conversation.query(
        "UPDATE ledgers SET prompt_inputs = (SELECT prompt_inputs FROM ledgers WHERE step = 1 LIMIT 1) WHERE step"
        " = 3 RETURNING 1"
    )
    assert parlour("explain", str(talk[1])) == 0
    assert "the turn restarted here" in capsys.readouterr().out
    assert parlour("explain", str(talk[1]), "--diff", str(talk[1])) == 0
    assert "the two prompts have little in common" in capsys.readouterr().out
    found = {
        "step": 1,
        "recorded_hash": "h",
        "hash": "h",
        "is_identical": True,
        "erased": [],
        "withheld": [],
        "deleted_sources": [{"table": "entities", "id": "7"}],
        "reassembly": None,
    }
    terminal.print_renderable(prompts.render_rebuilt(found))
    assert "deleted since: entities 7" in capsys.readouterr().out
    terminal.print_renderable(prompts.render_rebuilt({**found, "withheld": [{"layer": "calls", "text_hash": "x"}]}))
    assert "restricted or deleted since (calls)" in capsys.readouterr().out
