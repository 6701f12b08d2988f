"""Questions of a working day: agreed to, refused, expired, edited, asked again, and allowed for longer."""

from datetime import timedelta

from parlour.approvals import approvals, grants
from parlour.approvals.approvals import Answer
from parlour.approvals.typed_answer import button_id
from parlour.infra.json_values import JsonObject
from tests.approval_harness import ApprovalHarness
from tests.conversation_harness import ConversationHarness, text_answer


def answer_questions(conversation: ConversationHarness) -> None:
    """Each once."""
    asking = ApprovalHarness(conversation)
    asking.add_tool()
    ((handle,),) = conversation.query(
        "SELECT t.key || '/' || e.key FROM entities e JOIN entity_types t ON t.id = e.type_id"
        " WHERE e.deleted_at IS NULL ORDER BY e.created_at LIMIT 1"
    )
    approval = asking.ask_whatsapp("ask-1", message="north", about=str(handle))
    with conversation.database.transaction(conversation.admin) as tx:
        assert approvals.find_open_by_due_work(tx, approval.id)
    asking.write("yes", "ask-2")
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
    asking.answer(visitor, asked, Answer("refuse"))
    conversation.send_web(visitor, conversation.find_session(visitor), "And?")
    asking.run_result_turn()
    asking.ask_whatsapp("ask-8", message="for the evening")


def _allow_for_longer(asking: ApprovalHarness) -> None:
    conversation, now = asking.conversation, asking.conversation.clock()
    approval = asking.ask_whatsapp("ask-9", message="often")
    user = asking.user_of(approval)
    with conversation.database.transaction(user) as tx:
        made = grants.grant(user, tx, approval, "pag*", now + timedelta(days=1), now)
        assert grants.list_active_grants(tx, made.user_id, made.binding_id, now)
        assert grants.list_grants(user, tx, now, 10).rows
        grants.revoke(user, tx, made.id, now)
        left = grants.grant(user, tx, approval, "other", now + timedelta(days=9), now)
    renewed: JsonObject = {"message": "seldom"}
    again = asking.answer(user, approval, Answer("approve", arguments=renewed)).outcome
    asking.answer(user, again.approval, Answer("refuse", "enough"))
    asking.run_result_turn()
    assert left.tool == "other"
