"""What a turn's prompts have in common is decided once where nothing speaks against it."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from parlour.context.assemble import begin
from parlour.turns import load
from parlour.turns.prompts import prompting
from tests.desk import Desk, says


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often it was decided while the turn was loaded, and for its first prompt."""
    counted: Counter[str] = Counter()
    for module in (load, prompting):

        def count(*given: Any, name: str = module.__name__.rpartition(".")[2]) -> Any:
            counted[name] += 1
            return begin(*given)

        monkeypatch.setattr(module, "begin", count)
    return counted


def say(desk: Desk, text: str) -> None:
    desk.write(text, text)
    desk.model.script = [says("Noted.")]
    desk.run()


@pytest.mark.parametrize(("profile", "again"), [("entity", 0), ("messaging", 1)])
def test_a_turn_whose_briefing_stays_is_begun_once(
    desk: Desk, decided: Counter[str], profile: str, again: int
) -> None:  # fmt: skip
    """Where what is recalled takes its room before the history, it is spent once more when it is known."""
    desk.rows(f'UPDATE agents SET budget = \'{{"profile": "{profile}"}}\' RETURNING 1')
    say(desk, "Who pours?")
    assert decided == {"prompting": 1}
    say(desk, "And tomorrow?")
    assert decided == {"prompting": 1 + again, "load": 1}
    desk.clock.now += timedelta(minutes=20)
    say(desk, "And on Friday?")
    assert decided == {"prompting": 2 + again, "load": 2}
