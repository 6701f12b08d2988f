"""Questions and their outcomes as conversations of the inbox."""

from datetime import timedelta

import pytest

from parlour.approvals import approvals
from parlour.approvals.approvals import Answer
from parlour.approvals.rows import Approval, Decision
from parlour.infra.errors import OutcomeUnknown
from parlour.infra.json_values import JsonObject
from parlour.principal import Principal
from parlour.tools.run import ToolContext
from tests.approval_harness import ApprovalHarness
from tests.conversation_harness import ConversationHarness, text_answer, tool_call
from tests.integration.inbox.test_threads import add_member, hand_back, say, take


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


@pytest.fixture
def asking_members(conversation: ConversationHarness) -> ApprovalHarness:
    made = ApprovalHarness(conversation)
    made.add_tool(approver="editor")
    return made


def answer(asking: ApprovalHarness, by: Principal, approval: Approval, decision: Decision) -> None:
    given = asking.answer(by, approval, Answer(decision))
    if given.wakeup:
        asking.conversation.turns.send([given.wakeup.message])


@pytest.mark.parametrize("decision", ["approve", "refuse"])
def test_a_question_to_members_waits_in_the_inbox_and_the_answer_hands_it_back(
    asking_members: ApprovalHarness, decision: Decision
) -> None:
    asking, conversation = asking_members, asking_members.conversation
    approval = asking.ask_whatsapp()
    assert threads(asking) == [("waiting", "approval", "page")]
    asking.write("Is it done?", "m2")
    asking.write("Hello?", "m3")
    assert len(conversation.model.requests) == 1
    answer(asking, add_member(conversation, "Asha"), approval, decision)
    assert threads(asking)[0][0] == "agent"
    assert conversation.query("SELECT actor_name FROM inbox_events WHERE kind = 'handed_back'") == [("Asha",)]
    if decision == "approve":
        assert "Is it done?" in asking.run_result_turn("In a moment.")
        asking.dispatch(approval)
    prompt = asking.run_result_turn("So it is.").replace("\\", "")
    assert f'"outcome":"{"done" if decision == "approve" else "failed"}"' in prompt
    assert ("Is it done?" in prompt) == (decision == "refuse")
    assert asking.replies()[-1] == "So it is."
    assert len(asking.runs) == (decision == "approve")


def test_a_conversation_waits_until_the_last_question_to_members_is_answered(asking_members: ApprovalHarness) -> None:
    conversation = asking_members.conversation
    conversation.send_whatsapp("Page them twice.", "m1")
    conversation.model.script = [
        [*tool_call("page", "a", message="clear C4"), *tool_call("page", "b", message="clear C5")]
    ]
    conversation.run_turn()
    session_id = asking_members.latest().session_id
    with conversation.database.transaction(conversation.admin) as tx:
        first, second = approvals.list_open(tx, session_id)
    answer(asking_members, conversation.admin, first, "refuse")
    assert threads(asking_members)[0][0] == "waiting"
    answer(asking_members, conversation.admin, second, "refuse")
    assert threads(asking_members)[0][0] == "agent"


def test_a_person_who_writes_in_a_conversation_keeps_it_after_the_answer(asking_members: ApprovalHarness) -> None:
    conversation, asha = asking_members.conversation, add_member(asking_members.conversation, "Asha")
    approval = asking_members.ask_whatsapp()
    claim = take(conversation, asha, approval.session_id).claim
    say(conversation, asha, approval.session_id, "I look into it.", claim)
    answer(asking_members, asha, approval, "approve")
    assert threads(asking_members)[0][0] == "person"
    hand_back(conversation, asha, approval.session_id)
    assert threads(asking_members)[0][0] == "agent"


def test_whoever_took_a_conversation_only_to_approve_gives_it_back(asking_members: ApprovalHarness) -> None:
    conversation, asha = asking_members.conversation, add_member(asking_members.conversation, "Asha")
    approval = asking_members.ask_whatsapp()
    take(conversation, asha, approval.session_id)
    answer(asking_members, asha, approval, "approve")
    assert threads(asking_members)[0][0] == "agent"


def test_a_question_to_members_that_expires_goes_back_to_the_agent(asking_members: ApprovalHarness) -> None:
    asking_members.ask_whatsapp()
    asking_members.conversation.clock.now += timedelta(hours=25)
    asking_members.sweep()
    assert threads(asking_members)[0][0] == "agent"
    assert '"code":"expired"' in asking_members.run_result_turn().replace("\\", "")
