"""Questions and their outcomes as conversations of the inbox."""

import pytest

from parlour.infra.errors import OutcomeUnknown
from parlour.infra.json_values import JsonObject
from parlour.tools.run import ToolContext
from tests.approval_harness import ApprovalHarness
from tests.conversation_harness import ConversationHarness, text_answer


@pytest.fixture
def asking(conversation: ConversationHarness) -> ApprovalHarness:
    conversation.query("""UPDATE bindings SET inbox = '{"words": {"en": ["real person"]}}' RETURNING id""")
    made = ApprovalHarness(conversation)
    made.add_tool()
    return made


def threads(asking: ApprovalHarness) -> list[tuple[object, ...]]:
    return asking.conversation.query("SELECT state, reason, reason_text FROM inbox_threads")


def test_an_approved_call_of_unknown_outcome_needs_a_person(asking: ApprovalHarness) -> None:
    def lose_the_answer(_context: ToolContext, _arguments: JsonObject) -> JsonObject:
        raise OutcomeUnknown

    approval = asking.ask_whatsapp()
    asking.write("yes", "m2")
    asking.conversation.builtins["page"] = lose_the_answer
    asking.dispatch(approval)
    asking.run_result_turn("I do not know whether it arrived.")
    assert threads(asking) == [("waiting", "unknown_effect", "page")]


def test_a_question_and_a_refusal_are_no_failures_of_the_tool(asking: ApprovalHarness) -> None:
    asking.ask_whatsapp("m1", message="clear C4")
    asking.conversation.model.script = [text_answer("Then not.")]
    asking.write("no", "m2")
    asking.ask_whatsapp("m3", message="clear C5")
    asking.ask_whatsapp("m4", message="clear C6")
    assert threads(asking) == []
