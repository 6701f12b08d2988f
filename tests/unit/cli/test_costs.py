"""What a terminal shows of spend."""

import io
from typing import Any

import pytest
from rich.console import Console

from parlour.cli import costs

USED = {
    "calls": 3, "failed_calls": 1, "unpriced_calls": 0, "input_tokens": 1000, "cache_read_tokens": 3000, "cache_write_tokens": 0,
    "output_tokens": 200, "cache_hit_percent": 75, "cost_usd": "0.5",
}  # fmt: skip


def told(**changes: Any) -> dict[str, Any]:
    today = {
        "spent_usd": "8", "reserved_usd": "0.5", "cap_usd": "20", "has_own_cap": True, "warned_percent": 0,
        "stopped": False, "stopped_at": None, "stopped_by": None,
    }  # fmt: skip
    days = [
        {"day": "2026-03-02", "spent_usd": "8", "unsettled_usd": "0", "degraded_turns": 2, **USED},
        {"day": "2026-03-01", "spent_usd": "4", "unsettled_usd": "0.3", "degraded_turns": 0, **USED},
    ]
    total = {
        "spent_usd": "12", "unsettled_usd": "0.3", "degraded_turns": 2, **USED,
        "by_binding": {"desk": USED, "": {**USED, "cost_usd": "0.00001"}},
        "by_model": {"anthropic sonnet": USED}, "by_purpose": {"turn": USED},
    }  # fmt: skip
    return {"today": {**today, **changes}, "days": days, "total": total}


def shown(found: dict[str, Any]) -> str:
    out = io.StringIO()
    Console(width=120, file=out, force_terminal=False).print(costs.render_costs(found))
    return out.getvalue()


def test_today_is_told_against_the_cap_with_what_is_reserved() -> None:
    text = shown(told())
    assert "$8.00 of $20.00, 40%, plus $0.50 reserved for running calls" in text
    gauge = next(line for line in text.splitlines() if "░" in line)
    assert (gauge.count("█"), gauge.count("▒"), len(gauge.strip())) == (11, 1, 28)


def test_days_agents_and_models_have_bars_and_tokens() -> None:
    text = shown(told())
    day, before = (
        next(line for line in text.splitlines() if line.startswith(name)) for name in ("2026-03-02", "2026-03-01")
    )
    assert day.count("█") == 28
    assert before.count("█") == 14
    for part in (
        "2 turns without a model",
        "3 calls, 4,200 tokens, 75% cached",
        "anthropic sonnet",
        "(no agent)",
        "<$0.0001",
    ):
        assert part in text


@pytest.mark.parametrize(("spent", "cap"), [("0", "0"), ("3", "0"), ("30", "20"), ("0.00000001", "20")])
def test_any_amounts_can_be_drawn(spent: str, cap: str) -> None:
    assert "today" in shown(told(spent_usd=spent, cap_usd=cap))


def test_the_deployments_cap_is_said_to_be_one_and_a_switch_who_turned_it() -> None:
    text = shown(told(has_own_cap=False, stopped=True, stopped_at="2026-03-02T09:30:00+00:00", stopped_by="operator"))
    assert "(deployment default)" in text
    assert "by operator. Resume: parlour cost resume" in text


def test_without_a_call_there_is_only_today_and_the_sum() -> None:
    empty = dict.fromkeys(USED, 0) | {"cost_usd": "0"}
    day = {"day": "2026-03-02", "spent_usd": "0", "unsettled_usd": "0", "degraded_turns": 0, **empty}
    nothing: dict[str, Any] = {
        "spent_usd": "0",
        "unsettled_usd": "0",
        "degraded_turns": 0,
        **empty,
        "by_binding": {},
        "by_model": {},
        "by_purpose": {},
    }
    text = shown({**told(spent_usd="0", reserved_usd="0"), "days": [day], "total": nothing})
    assert "today: $0.00 counted against the cap" in text
    assert "by agent" not in text
    assert "unsettled" not in text


def test_what_may_have_been_spent_besides_is_told_beside_what_was() -> None:
    text = shown(told())
    assert "cached, at most $0.30 unsettled" in text
    assert "up to $0.30 more, unsettled" in text
