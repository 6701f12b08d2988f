"""Questions of a working day: agreed to, refused, expired, edited, asked again, and allowed for longer."""

from datetime import timedelta

from parlour.approvals import approvals, grants
from parlour.approvals.approvals import Answer
from parlour.approvals.rows import Approval
from parlour.approvals.typed_answer import button_id
from parlour.conversations import answer_follower
from parlour.conversations.answer_follower import AnswerFollower
from parlour.infra.json_values import JsonObject
from parlour.principal import Principal
from tests.approval_harness import ApprovalHarness
from tests.conversation_harness import ConversationHarness, text_answer


def answer_questions(conversation: ConversationHarness) -> None:
    """Each once."""
    asking = ApprovalHarness(conversation)
    asking.add_tool(editable=True)
    ((handle,),) = conversation.query(
        "SELECT t.key || '/' || e.key FROM entities e JOIN entity_types t ON t.id = e.type_id"
        " WHERE e.deleted_at IS NULL ORDER BY e.created_at LIMIT 1"
    )
    approval = asking.ask_whatsapp("ask-1", message="north", about=str(handle))
    with conversation.database.transaction(conversation.admin) as tx:
        assert approvals.find_open_by_due_work(tx, approval.id)
    asking.write("yes", "ask-2")
    with conversation.database.transaction(conversation.admin) as tx:
        assert [call.id for call in approvals.list_approved(tx, approval.session_id)] == [approval.id]
    asking.dispatch(approval)
    asking.run_result_turn()
    asking.write("Yes", "ask-3", button_id(approval.id, "approve"))
    asking.ask_whatsapp("ask-4", message="south")
    asking.ask_whatsapp("ask-5", message="south")
    conversation.model.script = [text_answer("Then not.")]
    asking.write("no", "ask-6")
    late = asking.ask_whatsapp("ask-7", message="late")
    with conversation.database.transaction(conversation.admin) as tx:
        assert approvals.expire(tx, late, conversation.clock()).code == "expired"
    _allow_for_longer(asking)
    visitor = conversation.create_visitor()
    asked = asking.ask_web(visitor, message="web")
    _follow_answer(asking, visitor, asked)
    conversation.send_web(visitor, conversation.find_session(visitor), "And?")
    asking.run_result_turn()
    evening, user = asking.ask_whatsapp("ask-8", message="for the evening"), asking.user_of(approval)
    with conversation.database.transaction(user) as tx:
        grants.grant(user, tx, evening, conversation.clock() + timedelta(days=9), conversation.clock())


def _follow_answer(asking: ApprovalHarness, visitor: Principal, asked: Approval) -> None:
    """The visitor follows the turn that asks, and after their answer the one that has its outcome."""
    conversation = asking.conversation
    with conversation.database.transaction(visitor) as tx:
        assert answer_follower.list_asked_calls(tx, asked.session_id, [asked.id]).keys() == {asked.id}
    asking.answer(visitor, asked, Answer("refuse"))
    asking.run_result_turn()
    with conversation.database.transaction(visitor) as tx:
        progress = AnswerFollower(asked.session_id, None, [asked.tool_call_id]).read_new(visitor, tx)
    assert progress.is_over
    assert [*progress.replies.values()] == ["Done."]


def _allow_for_longer(asking: ApprovalHarness) -> None:
    conversation, now = asking.conversation, asking.conversation.clock()
    approval = asking.ask_whatsapp("ask-9", message="often")
    user = asking.user_of(approval)
    with conversation.database.transaction(user) as tx:
        made = grants.grant(user, tx, approval, now + timedelta(days=1), now)
        assert grants.is_granted(user, tx, approval.session_id, approval.binding_id, "page", now)
        assert grants.list_grants(user, tx, now, 10).rows
        grants.revoke(user, tx, made.id, now)
    renewed: JsonObject = {"message": "seldom"}
    again = asking.answer(user, approval, Answer("approve", arguments=renewed)).outcome
    asking.answer(user, again.approval, Answer("refuse", "enough"))
    asking.run_result_turn()
