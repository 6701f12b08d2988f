"""What a terminal shows of turns, whatever was written in them."""

import io
from typing import Any

from rich.console import Console, RenderableType

from parlour.cli import rendering


def shown(what: RenderableType, width: int = 100) -> str:
    out = io.StringIO()
    Console(width=width, file=out, force_terminal=False).print(what)
    return out.getvalue()


def a_turn(**changes: Any) -> dict[str, Any]:
    call = {
        "provider": "offline",
        "model": "extractive",
        "outcome": "ok",
        "input_tokens": 1200,
        "output_tokens": 34,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "cost_usd": "0.01150000",
        "latency_ms": 21,
        "first_token_ms": None,
    }
    turn = {
        "id": "01a20071-4055-748d-8a5f-ff178b733394",
        "binding": "desk",
        "state": "answered",
        "degraded": False,
        "frozen_at": "2026-03-02T09:30:00+00:00",
        "finished_at": "2026-03-02T09:30:01.250000+00:00",
        "input_messages": [{"id": "1", "text": "When is\nthe pour?"}],
        "stage_ms": {"model": 1000, "tools": 10},
        "total_ms": 1250,
        "total_prompt_tokens": 1200,
        "total_output_tokens": 34,
        "tokens_by_layer": {"persona": 900, "tool_results": 300},
        "model_calls": [call],
        "tool_calls": [],
        "cost_usd": "0.01150000",
        "reply": {"text": "On 14 March [1].", "citations": [{"number": 1, "title": "Plan", "locator": ""}]},
    }
    return {**turn, **changes}


def test_a_turn_says_where_time_tokens_and_money_went() -> None:
    text = shown(rendering.render_turn(a_turn()))
    for part in (
        "When is the pour?",
        "1.25 s",
        "1,234 tokens",
        "$0.0115",
        "tool results",
        "[1] Plan",
        "On 14 March [1].",
    ):
        assert part in text


def test_a_tool_that_failed_says_why() -> None:
    problem = "not_allowed: 127.0.0.1 may not be reached from here"
    call = {"id": "7", "name": "weather", "state": "failed", "latency_ms": 1, "problem": problem, "detail": ""}
    assert problem in " ".join(shown(rendering.render_turn(a_turn(tool_calls=[call]))).split())


def test_bars_are_as_long_as_their_part_of_the_longest() -> None:
    lines = shown(rendering.render_turn(a_turn())).splitlines()
    full, third = (
        next(line.count("█") for line in lines if line.strip().startswith(name)) for name in ("persona", "tool results")
    )
    assert full == 28
    assert 8 <= third <= 10


def test_a_turn_that_was_not_answered_is_shown_too() -> None:
    text = shown(
        rendering.render_turn(
            a_turn(
                reply=None,
                model_calls=[],
                stage_ms={},
                tokens_by_layer={},
                finished_at=None,
                total_ms=None,
                cost_usd=None,
                input_messages=[],
            )
        )
    )
    assert "(no text)" in text
    assert "cost unknown" in text


def test_nothing_that_was_written_moves_the_cursor_or_is_taken_for_markup() -> None:
    wild = "\x1b[2J\x1b]0;title\x07[bold red]hello[/]\x9b31m"
    text = shown(
        rendering.render_turn(a_turn(input_messages=[{"id": "1", "text": wild}], reply={"text": wild, "citations": []}))
    )
    assert "\x1b" not in text
    assert "\x9b" not in text
    assert "[bold red]hello[/]" in text
