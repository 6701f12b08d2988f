"""Taking an answer to a question about a tool call: one way, for the API's route and for AG-UI's `resume`."""

from uuid import UUID

from parlour.api.approval_schemas import AlwaysAllow
from parlour.api.authorization import Caller
from parlour.approvals import approvals, grants
from parlour.approvals.approvals import Answer, Outcome
from parlour.conversations import approval_answers
from parlour.infra import log
from parlour.infra.errors import InvalidArguments, InvalidRequest, QueueUnavailable
from parlour.principal import system_principal
from parlour.tenancy import audit


def give_answer(caller: Caller, approval_id: UUID, given: Answer, always: AlwaysAllow | None = None) -> Outcome:
    """Take the caller's answer, and wake who goes on with it.

    Raises:
        NotFound: the caller may not see the question.
        Forbidden: they may see it, and somebody else is asked.
        InvalidRequest: edited arguments do not fit the tool's schema.
    """
    who = caller.principal
    # As the system, so that the records that the call names are compared as they were when the question was asked.
    with (
        caller.dependencies.databases.borrow() as database,
        database.transaction(system_principal(who.tenant_id)) as tx,
    ):
        caller.check_session_token(approvals.get_approval(who, tx, approval_id).session_id)
        try:
            answered = approval_answers.answer_approval(who, tx, approval_id, given, caller.now)
        except InvalidArguments as problem:
            raise InvalidRequest(f"arguments: {problem}") from None
        outcome = answered.outcome
        if always and outcome.code == "approved":
            grants.grant(who, tx, outcome.approval, always.until, caller.now)
        audit.add_entry(who, tx, f"approval.{outcome.code}", f"approval:{approval_id}", {}, caller.now)
    try:
        if answered.dispatch:
            caller.dependencies.tools_queue.send([answered.dispatch])
        if answered.wakeup:
            caller.dependencies.turn_queues[answered.wakeup.queue_channel].send([answered.wakeup.message])
    except QueueUnavailable as problem:  # the sweep wakes the dispatcher or the conversation
        log.warning("wake_failed", code=problem.code)
    return outcome
