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


def recover_stale_work(conversation: ConversationHarness) -> None:
    """A message, a reply and a long call whose wake-ups got lost: the sweep finds them, and settles what is done."""
    conversation.add_tool("survey", lambda context, arguments: {}, heavy=True)
    conversation.send_whatsapp("Have the site surveyed", "day-lying-1")
    conversation.model.script = [
        [{"type": "tool_use", "id": "call_1", "name": "survey", "input": {}}],
        text_answer("It is on its way."),
    ]
    conversation.run_turn()
    conversation.send_whatsapp("And today?", "day-lying-2")
    with conversation.database.transaction(conversation.tenant_id) as tx:
        work_due.schedule(tx, "session", uuid7(conversation.clock()), conversation.clock())
    conversation.clock.now += 2 * work_due.SWEEP_DELAY
    swept_by = dependencies(conversation)
    swept = sweep(swept_by, lambda: 60.0)
    assert swept.woken_count >= 3
    assert swept.settled_count >= 1
    (due, *_) = conversation.database.run(
        None, lambda tx: work_due.list_overdue(tx, conversation.clock() + timedelta(days=1), 10)
    )
    handle_wakeup(swept_by, replace(due, due_at=conversation.clock()).to_json())
    conversation.model.script = [text_answer("Today, too.")]
    conversation.run_turn()
