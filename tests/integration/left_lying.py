"""The part of the working day in which wake-ups get lost."""

from dataclasses import replace
from datetime import timedelta

from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.jobs import work_due
from parlour.jobs.sweep import sweep, wake_up
from tests.desk import Desk, says
from tests.integration.sweeping import dependencies


class Later:
    """Takes wake-ups, and forgets them."""

    def send(self, body: JsonObject, seconds: float, /) -> None:
        assert seconds > 0


def work_left_lying(desk: Desk) -> None:
    """A message, a reply and a long call whose wake-ups got lost: the sweep finds them, and settles what is done."""
    desk.add_tool("survey", lambda context, arguments: {}, heavy=True)
    desk.write("Have the site surveyed", "day-lying-1")
    desk.model.script = [
        [{"type": "tool_use", "id": "call_1", "name": "survey", "input": {}}],
        says("It is on its way."),
    ]
    desk.run()
    desk.write("And today?", "day-lying-2")
    with desk.database.transaction(desk.tenant_id) as tx:
        work_due.schedule(tx, "session", uuid7(desk.clock()), desk.clock())
    desk.clock.now += 2 * work_due.GRACE
    swept_by = dependencies(desk)
    swept = sweep(swept_by, lambda: 60.0)
    assert swept.woken >= 3
    assert swept.settled >= 1
    (due, *_) = desk.database.run(None, lambda tx: work_due.overdue(tx, desk.clock() + timedelta(days=1), 10))
    wake_up(swept_by, replace(due, due_at=desk.clock()).to_json())
    desk.model.script = [says("Today, too.")]
    desk.run()
