"""The part of the working day in which wake-ups get lost."""

from dataclasses import replace
from datetime import timedelta

from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.jobs import work_due
from parlour.jobs.sweep import handle_wakeup, sweep
from tests.conversation_harness import ConversationHarness, text_answer
from tests.integration.sweeping import dependencies


class DiscardingQueue:
    """Takes wake-ups, and forgets them."""

    def send(self, body: JsonObject, seconds: float, /) -> None:
        assert seconds > 0


def recover_stale_work(desk: ConversationHarness) -> None:
    """A message, a reply and a long call whose wake-ups got lost: the sweep finds them, and settles what is done."""
    desk.add_tool("survey", lambda context, arguments: {}, heavy=True)
    desk.send_whatsapp("Have the site surveyed", "day-lying-1")
    desk.model.script = [
        [{"type": "tool_use", "id": "call_1", "name": "survey", "input": {}}],
        text_answer("It is on its way."),
    ]
    desk.run_turn()
    desk.send_whatsapp("And today?", "day-lying-2")
    with desk.database.transaction(desk.tenant_id) as tx:
        work_due.schedule(tx, "session", uuid7(desk.clock()), desk.clock())
    desk.clock.now += 2 * work_due.SWEEP_DELAY
    swept_by = dependencies(desk)
    swept = sweep(swept_by, lambda: 60.0)
    assert swept.woken_count >= 3
    assert swept.settled_count >= 1
    (due, *_) = desk.database.run(None, lambda tx: work_due.list_overdue(tx, desk.clock() + timedelta(days=1), 10))
    handle_wakeup(swept_by, replace(due, due_at=desk.clock()).to_json())
    desk.model.script = [text_answer("Today, too.")]
    desk.run_turn()
