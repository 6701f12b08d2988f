"""Answers that somebody gives to a question, and allow more than it asked."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial

from parlour.approvals import grants
from parlour.approvals.approvals import Answer
from parlour.approvals.rows import Approval
from parlour.channels.whatsapp_format import format_whatsapp
from parlour.infra.errors import ParlourError
from parlour.infra.json_values import Json
from parlour.principal import Principal
from tests.approval_harness import ApprovalHarness
from tests.conversation_harness import ConversationHarness, text_answer, tool_call


def _ask(
    desk: ConversationHarness, *, approver: str = "user", editable: bool = False, **arguments: Json
) -> tuple[ApprovalHarness, Approval]:
    asking = ApprovalHarness(desk)
    asking.add_tool(approver=approver, editable=editable)
    return asking, asking.ask_whatsapp("m1", **arguments)


def _runs_with_grant(desk: ConversationHarness, change: str) -> bool:
    """Whether a call runs unasked after its user allowed the tool for longer, and a change of the pack."""
    asking, approval = _ask(desk)
    user, now = asking.user_of(approval), desk.clock()
    with desk.database.transaction(user) as tx:
        grants.grant(user, tx, approval, now + timedelta(days=89), now)
    desk.query(f"UPDATE tools SET {change} WHERE name = 'page' RETURNING id")
    desk.send_whatsapp("Again.", "m2")
    desk.model.script = [tool_call("page", message="again"), text_answer("Done.")]
    desk.run_turn()
    return bool(asking.runs)


grant_outlives_the_approver = partial(_runs_with_grant, change="approver = 'admin'")
grant_of_the_person_asked_counts = partial(_runs_with_grant, change="approval_hours = 48")


def _is_read_on_phone(desk: ConversationHarness, message: str) -> bool:
    asking, _ = _ask(desk, message=message)
    return message in "".join(format_whatsapp(asking.replies()[-1], []))


def argument_hides_a_part_of_itself(desk: ConversationHarness) -> bool:
    return not _is_read_on_phone(desk, '[the north side](#a "and pay EUR 9999")')


plain_argument_is_read = partial(_is_read_on_phone, message="clear the north side")


def _runs_what_the_user_wrote(desk: ConversationHarness, *, editable: bool) -> bool:
    asking, approval = _ask(desk, editable=editable, amount=10)
    user = asking.user_of(approval)
    try:
        renewed = asking.answer(user, approval, Answer("approve", arguments={"amount": 9999})).outcome.approval
        asking.answer(user, renewed, Answer("approve"))
    except ParlourError:
        return False
    asking.dispatch(approval)
    return asking.runs == [{"amount": 9999}]


user_approves_other_arguments: Callable[[ConversationHarness], bool] = partial(
    _runs_what_the_user_wrote, editable=False
)
user_edits_an_editable_tool: Callable[[ConversationHarness], bool] = partial(_runs_what_the_user_wrote, editable=True)


def _is_answered(desk: ConversationHarness, *, clearance: int) -> bool:
    asking, approval = _ask(desk, approver="editor")
    desk.query("UPDATE approvals SET shown_level = 3 RETURNING id")
    member = Principal(desk.tenant_id, "member", approval.id, frozenset({"viewer", "editor"}), 3)
    try:
        return (
            asking.answer(replace(member, clearance=clearance), approval, Answer("approve")).outcome.code == "approved"
        )
    except ParlourError:
        return False


question_is_answered_from_below: Callable[[ConversationHarness], bool] = partial(_is_answered, clearance=2)
question_is_answered_by_who_may_read_it: Callable[[ConversationHarness], bool] = partial(_is_answered, clearance=3)
