"""A talk whose prompts are looked at, and the readers of their records once each."""

from datetime import timedelta
from uuid import UUID

from parlour.prompts.ledger.explanation import explain_turn, read_texts
from parlour.prompts.ledger.prompt_diff import compare_turn_prompts
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from tests.conversation_harness import ConversationHarness, search_call, text_answer


def run_two_turns(conversation: ConversationHarness) -> list[UUID]:
    """A turn without tools, then one with two rounds of searches, half a minute later; their ids."""
    conversation.send_whatsapp("Good morning, who is on site today?", "prompted-1")
    conversation.model.script = [text_answer("The crane crew.")]
    conversation.run_turn()
    conversation.clock.now += timedelta(seconds=30)
    conversation.send_whatsapp("How wide is the crack at C4, and what is the wind limit of the crane?", "prompted-2")
    conversation.model.script = [
        search_call("crack C4", "call_1"),
        search_call("wind limit", "call_2"),
        text_answer("0.35 mm [1]."),
    ]
    conversation.run_turn()
    found = conversation.query(
        "SELECT turn_id FROM messages WHERE provider_message_id LIKE '%prompted-_' ORDER BY position"
    )
    return [UUID(str(one)) for (one,) in found]


def inspect_prompts(conversation: ConversationHarness) -> None:
    """An operator looks at the prompts of two turns, compares them, and has one made again."""
    first, second = run_two_turns(conversation)
    conversation.send_whatsapp("Where does [1] say that?", "numbered-1")
    conversation.model.script = [text_answer("In the site report.")]
    conversation.run_turn()
    with conversation.database.transaction(conversation.admin) as tx:
        step = explain_turn(conversation.admin, tx, second)["steps"]
        assert step
        assert read_texts(conversation.admin, tx, second, ["nothing"]) == {}
        assert compare_turn_prompts(conversation.admin, tx, second, first)["segments"]
        assert rebuild_turn_prompt(conversation.admin, tx, second, 3)["is_identical"]
