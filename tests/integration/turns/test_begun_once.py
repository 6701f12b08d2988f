"""What a turn's prompts have in common is decided once where nothing speaks against it."""

from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.context.assemble import begin
from parlour.principal import Principal
from parlour.turns.prompts import prompting
from tests.desk import Desk, says


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often it was decided."""
    counted: Counter[str] = Counter()

    def count(*given: Any) -> Any:
        counted["begun"] += 1
        return begin(*given)

    monkeypatch.setattr(prompting, "begin", count)
    return counted


def say(desk: Desk, visitor: Principal, session: UUID, text: str) -> None:
    desk.clock.now += timedelta(seconds=20)
    desk.write_web(visitor, session, text)
    desk.model.script = [says("Noted.")]
    desk.run()


@pytest.fixture
def visitor(desk: Desk) -> Principal:
    return desk.visit()


@pytest.fixture
def session(desk: Desk, visitor: Principal) -> UUID:
    """A conversation about a project."""
    found = desk.session_of(visitor)
    about = "(SELECT id FROM entities WHERE key = 'NRS')"
    desk.rows(f"UPDATE sessions SET entity_id = {about} WHERE id = '{found}' RETURNING id")
    return found


@pytest.mark.parametrize("profile", ["entity", "messaging"])
def test_a_turn_is_begun_once(
    desk: Desk, visitor: Principal, session: UUID, decided: Counter[str], profile: str
) -> None:  # fmt: skip
    """Also where the briefing is rendered anew for a cause that is known before."""
    desk.rows(f'UPDATE agents SET budget = \'{{"profile": "{profile}"}}\' RETURNING 1')
    read = desk.database.statements.by_name
    say(desk, visitor, session, "Who pours?")
    assert (decided["begun"], read["around.around"]) == (1, 1)
    say(desk, visitor, session, "And tomorrow?")
    assert (decided["begun"], read["around.around"]) == (2, 1)
    desk.clock.now += timedelta(minutes=20)
    say(desk, visitor, session, "And on Friday?")
    assert (decided["begun"], read["around.around"]) == (3, 2)


def test_what_stands_further_around_is_read_once_the_history_turns_out_to_be_cut(
    desk: Desk, visitor: Principal, session: UUID, decided: Counter[str]
) -> None:
    read = desk.database.statements.by_name
    for number in range(10):
        say(desk, visitor, session, f"Delivery {number} came.")
    assert (decided["begun"], read["around.around"]) == (10, 1)
    for number in range(10, 12):
        say(desk, visitor, session, f"Delivery {number} came.")
    assert (decided["begun"], read["around.around"]) == (13, 2)
    ((since,),) = desk.rows("SELECT (standing -> 'lead' ->> 'since')::int FROM session_prompts")
    assert int(str(since)) > 1


def test_a_turn_that_is_reminded_of_something_is_begun_with_it(
    desk: Desk, visitor: Principal, session: UUID, decided: Counter[str]
) -> None:
    """Once more where its history turns out to be cut, and where nothing is found it stays at what was decided."""
    for number in range(12):
        say(desk, visitor, session, f"Delivery {number} came.")
    before = decided["begun"]
    say(desk, visitor, session, "What did I say of deliveries?")
    assert decided["begun"] == before + 1
    for number in range(12, 17):
        before = decided["begun"]
        say(desk, visitor, session, f"Delivery {number} came.")
    assert decided["begun"] == before + 2
