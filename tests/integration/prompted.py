"""A talk whose prompts are looked at, and the readers of their records once each."""

from datetime import timedelta
from uuid import UUID

from parlour.turns.prompts.difference import diff
from parlour.turns.prompts.explain import explain, words
from parlour.turns.prompts.rebuild import rebuild
from tests.desk import Desk, says, searches


def two_turns(desk: Desk) -> list[UUID]:
    """A turn without tools, then one with two rounds of searches, half a minute later; their ids."""
    desk.write("Good morning, who is on site today?", "prompted-1")
    desk.model.script = [says("The crane crew.")]
    desk.run()
    desk.clock.now += timedelta(seconds=30)
    desk.write("How wide is the crack at C4, and what is the wind limit of the crane?", "prompted-2")
    desk.model.script = [searches("crack C4", "call_1"), searches("wind limit", "call_2"), says("0.35 mm [1].")]
    desk.run()
    found = desk.rows("SELECT turn_id FROM messages WHERE provider_message_id LIKE '%prompted-_' ORDER BY position")
    return [UUID(str(one)) for (one,) in found]


def prompts_looked_at(desk: Desk) -> None:
    """An operator looks at the prompts of two turns, compares them, and has one made again."""
    first, second = two_turns(desk)
    with desk.database.transaction(desk.admin) as tx:
        step = explain(desk.admin, tx, second)["steps"]
        assert step
        assert words(desk.admin, tx, second, ["nothing"]) == {}
        assert diff(desk.admin, tx, second, first)["segments"]
        assert rebuild(desk.admin, tx, second, 3)["matches"]
