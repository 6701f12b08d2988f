"""Effects of a turn: done at most once, whatever breaks where; what nobody knows is told and left to a person."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from parlour.conversations import canned_replies, turn_views
from parlour.conversations.inbound_messages import SessionWakeup
from parlour.conversations.tool_result_messages import PendingWakeup, store_tool_result
from parlour.conversations.turn_runner import run_session
from parlour.infra.errors import DatabaseUnavailable, OutcomeUnknown, QueueUnavailable, RetryError, ToolRefused
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.infra.postgres import Database
from parlour.tools.calls import IN_PROGRESS_RESULT
from parlour.tools.rows import EndedCall
from parlour.tools.run import ToolContext
from tests.conversation_harness import ConversationHarness, text_answer, tool_call


@dataclass
class Office:
    """Does what it is asked; may break before or after it did."""

    done: list[str] = field(default_factory=list)
    before: list[Exception | None] = field(default_factory=list)
    after: list[BaseException | None] = field(default_factory=list)

    def __call__(self, context: ToolContext, arguments: JsonObject) -> JsonObject:
        if self.before and (refusal := self.before.pop(0)):
            raise refusal
        self.done.append(context.idempotency_key)
        if self.after and (end := self.after.pop(0)):
            raise end
        return {"number": len(self.done)}


class Killed(BaseException):
    """Stands for the end of the process: nothing of ours catches it."""


@pytest.fixture
def office(conversation: ConversationHarness) -> Office:
    made = Office()
    conversation.add_tool("raise_rfi", made)
    conversation.send_whatsapp("Please ask them about the crack.")
    return made


def states(conversation: ConversationHarness) -> list[object]:
    return [state for (state,) in conversation.query("SELECT state FROM tool_calls ORDER BY step, call_id")]


def replies(conversation: ConversationHarness) -> list[object]:
    return [
        body
        for (body,) in conversation.query("SELECT body FROM messages WHERE direction = 'outbound' ORDER BY position")
    ]


def test_an_effect_is_reserved_with_its_step_and_done_once(conversation: ConversationHarness, office: Office) -> None:
    seen: list[list[object]] = []

    def watched(context: ToolContext, arguments: JsonObject) -> JsonObject:
        seen.append(states(conversation))
        return office(context, arguments)

    conversation.builtins["raise_rfi"] = watched
    conversation.model.script = [tool_call("raise_rfi"), text_answer("Asked.")]
    conversation.run_turn()
    assert seen == [["running"]]
    assert states(conversation) == ["done"]
    assert len(office.done) == 1
    assert conversation.query("SELECT writes, result FROM tool_calls") == [(True, {"number": 1})]


def test_two_effects_of_one_step_are_both_known_before_the_first_begins(
    conversation: ConversationHarness, office: Office
) -> None:
    office.after = [Killed()]
    conversation.model.script = [[*tool_call("raise_rfi", "a"), *tool_call("raise_rfi", "b")]]
    with pytest.raises(Killed):
        conversation.run_turn()
    assert states(conversation) == ["running", "reserved"]


def test_an_effect_that_a_dead_worker_had_begun_is_unknown_and_not_done_again(
    conversation: ConversationHarness, office: Office
) -> None:
    office.after = [Killed()]
    conversation.model.script = [[*tool_call("raise_rfi", "a"), *tool_call("raise_rfi", "b")]]
    with pytest.raises(Killed):
        conversation.run_turn()
    conversation.clock.now += timedelta(minutes=2)
    conversation.model.script = [text_answer("The second is asked; the first I do not know.")]
    conversation.run_turn()
    assert states(conversation) == ["unknown", "done"]
    assert len(office.done) == 2
    assert len(set(office.done)) == 2
    told = canonical_json(list(conversation.model.requests[-1].messages))
    assert OutcomeUnknown.code in told


def test_an_effect_that_broke_off_is_unknown_and_the_conversation_goes_on(
    conversation: ConversationHarness, office: Office
) -> None:
    office.after = [TimeoutError()]
    conversation.model.script = [tool_call("raise_rfi"), text_answer("I do not know whether it was asked.")]
    conversation.run_turn()
    assert states(conversation) == ["unknown"]
    assert replies(conversation) == ["I do not know whether it was asked."]


def test_an_effect_that_was_refused_is_told_and_may_be_asked_for_again(
    conversation: ConversationHarness, office: Office
) -> None:
    office.before = [ToolRefused("no such subject"), None]
    conversation.model.script = [tool_call("raise_rfi"), tool_call("raise_rfi", "call_2"), text_answer("Asked.")]
    conversation.run_turn()
    assert states(conversation) == ["failed", "done"]
    assert len(office.done) == 1


def test_a_repeatable_effect_is_done_again_under_the_same_key(conversation: ConversationHarness) -> None:
    office = Office(after=[Killed()])
    conversation.add_tool("raise_rfi", office, idempotent=True)
    conversation.send_whatsapp("Please ask.")
    conversation.model.script = [tool_call("raise_rfi")]
    with pytest.raises(Killed):
        conversation.run_turn()
    conversation.clock.now += timedelta(minutes=2)
    conversation.model.script = [text_answer("Asked.")]
    conversation.run_turn()
    assert states(conversation) == ["done"]
    assert len(set(office.done)) == 1


def test_a_turn_that_is_given_up_leaves_no_effect_in_the_dark(
    conversation: ConversationHarness, office: Office
) -> None:
    office.after = [Killed()]
    conversation.model.script = [[*tool_call("raise_rfi", "a"), *tool_call("raise_rfi", "b")]]
    with pytest.raises(Killed):
        conversation.run_turn()
    conversation.clock.now += timedelta(minutes=2)
    conversation.query("UPDATE turns SET attempt_count = 3 RETURNING 1")  # two more workers died before they got there
    conversation.run_turn()
    assert replies(conversation) == [canned_replies.FAILED_REPLY]
    assert states(conversation) == ["unknown", "failed"]
    assert len(office.done) == 1


def test_a_turn_that_ends_without_the_model_leaves_no_effect_in_the_dark_either(
    conversation: ConversationHarness, office: Office
) -> None:
    office.after = [Killed()]
    conversation.model.script = [[*tool_call("raise_rfi", "a"), *tool_call("raise_rfi", "b")]]
    with pytest.raises(Killed):
        conversation.run_turn()
    conversation.clock.now += timedelta(minutes=2)
    conversation.query("UPDATE bindings SET is_active = false RETURNING 1")
    conversation.run_turn()
    assert replies(conversation) == [canned_replies.PAUSED_REPLY]
    assert states(conversation) == ["unknown", "failed"]
    assert len(office.done) == 1


def test_an_effect_past_the_last_round_is_never_reserved(conversation: ConversationHarness, office: Office) -> None:
    conversation.query("UPDATE agents SET max_tool_iterations = 1 RETURNING 1")
    conversation.model.script = [tool_call("raise_rfi", name) for name in ("a", "b", "c")]
    conversation.run_turn()
    assert replies(conversation) == [canned_replies.NO_ANSWER_REPLY]
    assert states(conversation) == ["done"]
    assert len(office.done) == 1


def test_a_heavy_call_is_handed_over_and_the_turn_goes_on(conversation: ConversationHarness) -> None:
    office = Office()
    conversation.add_tool("compile_report", office, writes=False, heavy=True)
    conversation.send_whatsapp("Compile the weekly report.")
    conversation.model.script = [tool_call("compile_report"), text_answer("I am working on it.")]
    conversation.run_turn()
    assert office.done == []
    assert states(conversation) == ["reserved"]
    (message,) = conversation.tools.sent.values()
    ((call_id,),) = conversation.query("SELECT id FROM tool_calls")
    assert message.body == {"tenant_id": str(conversation.tenant_id), "tool_call_id": str(call_id)}
    assert replies(conversation) == ["I am working on it."]
    assert ("tool_call", call_id) in conversation.query("SELECT kind, id FROM work_due")
    assert str(IN_PROGRESS_RESULT["message"]) in canonical_json(list(conversation.model.requests[-1].messages))


def test_a_heavy_call_whose_message_was_not_sent_is_sent_by_the_resumed_turn(conversation: ConversationHarness) -> None:
    conversation.add_tool("compile_report", Office(), writes=False, heavy=True)
    conversation.send_whatsapp("Compile the weekly report.")
    conversation.tools.error = QueueUnavailable()
    conversation.model.script = [tool_call("compile_report")]
    with pytest.raises(QueueUnavailable):
        conversation.run_turn()
    assert states(conversation) == ["reserved"]
    conversation.tools.error = None
    conversation.model.script = [text_answer("I am working on it.")]
    conversation.run_turn()
    assert (len(conversation.tools.sent), states(conversation)) == (1, ["reserved"]), (
        "the end of its turn is not the end of it"
    )
    assert replies(conversation) == ["I am working on it."]


def test_a_heavy_call_with_wrong_arguments_is_told_at_once(conversation: ConversationHarness) -> None:
    conversation.add_tool("compile_report", Office(), writes=False, heavy=True)
    conversation.query(
        """UPDATE tools SET schema = '{"type": "object", "required": ["week"]}' WHERE heavy RETURNING 1"""
    )
    conversation.send_whatsapp("Compile the weekly report.")
    conversation.model.script = [tool_call("compile_report"), text_answer("Which week?")]
    conversation.run_turn()
    assert conversation.query("SELECT state, code FROM tool_calls") == [("failed", "invalid_arguments")]
    assert conversation.tools.sent == {}


def test_the_result_of_a_heavy_call_is_answered_by_a_turn_of_its_own_once(conversation: ConversationHarness) -> None:
    conversation.add_tool("compile_report", Office(), writes=False, heavy=True)
    conversation.send_whatsapp("Compile the weekly report.")
    conversation.model.script = [tool_call("compile_report"), text_answer("I am working on it.")]
    conversation.run_turn()
    (ended,) = _ended(conversation)
    told = [tell(conversation, ended), tell(conversation, ended)]
    assert [one.queue_channel for one in told] == ["whatsapp", "whatsapp"]
    assert len(conversation.query("SELECT id FROM work_due WHERE kind = 'session'")) == 1, (
        "should both wake-ups get lost"
    )
    conversation.model.script = [text_answer("The report has 12 pages.")]
    for one in told:
        conversation.run_turn(SessionWakeup.parse(one.message.body))
    assert replies(conversation) == ["I am working on it.", "The report has 12 pages."]
    opening = canonical_json(conversation.model.requests[-1].messages[-1])
    assert "compile_report" in opening
    assert "pages" in opening
    assert conversation.query("SELECT DISTINCT recipient FROM outbox") == [("+919800000001",)]


def test_what_a_tool_said_later_is_no_message_of_the_users_transcript(conversation: ConversationHarness) -> None:
    test_the_result_of_a_heavy_call_is_answered_by_a_turn_of_its_own_once(conversation)
    assert conversation.query("SELECT count(*) FROM messages WHERE kind = 'tool_result'") == [(1,)]
    with conversation.database.transaction(conversation.admin) as tx:
        said = turn_views.read_transcript(conversation.admin, tx, conversation.list_wakes()[0].session_id, 20)
    assert [one.kind for one in said] == ["text", "text", "text"]


def test_an_attempt_that_the_database_ended_is_given_back(conversation: ConversationHarness, office: Office) -> None:
    for _ in range(5):
        conversation.model.script = [DatabaseUnavailable()]
        with pytest.raises(DatabaseUnavailable):
            conversation.run_turn()
    assert conversation.query("SELECT attempt_count, state FROM turns") == [(0, "open")]
    conversation.model.script = [text_answer("Here I am.")]
    conversation.run_turn()
    assert replies(conversation) == ["Here I am."]
    assert conversation.query("SELECT attempt_count, state FROM turns") == [(1, "answered")]


def test_a_turn_that_runs_out_of_time_goes_on_in_the_next_invocation(
    conversation: ConversationHarness, office: Office
) -> None:
    left = [60.0]

    def slow(context: ToolContext, arguments: JsonObject) -> JsonObject:
        left[0] = 8.0
        return office(context, arguments)

    conversation.builtins["raise_rfi"] = slow
    conversation.model.script = [
        [*tool_call("raise_rfi", "a"), *tool_call("raise_rfi", "b")],
        text_answer("Asked twice."),
    ]
    for done in (1, 2):
        with pytest.raises(RetryError):
            run_session(conversation.make_dependencies(), conversation.list_wakes()[-1], lambda: left[0])
        assert (len(office.done), replies(conversation)) == (done, [])
        left[0] = 60.0
    run_session(conversation.make_dependencies(), conversation.list_wakes()[-1], lambda: left[0])
    assert (len(office.done), replies(conversation)) == (2, ["Asked twice."])
    assert conversation.query("SELECT attempt_count, degraded FROM turns") == [(1, False)]


def test_a_worker_that_was_overtaken_before_an_effect_does_not_begin_it(
    conversation: ConversationHarness, office: Office, open_database: Callable[[], Database]
) -> None:
    stalled: list[bool] = []

    def left() -> float:
        if states(conversation) == ["reserved"] and not stalled:
            stalled.append(True)
            conversation.clock.now += timedelta(minutes=2)
            conversation.run_turn(database=open_database())
        return 60.0

    conversation.model.script = [tool_call("raise_rfi"), text_answer("Asked.")]
    run_session(conversation.make_dependencies(), conversation.list_wakes()[-1], left)
    assert (len(stalled), len(office.done), states(conversation)) == (1, 1, ["done"])
    assert replies(conversation) == ["Asked."]


def tell(conversation: ConversationHarness, ended: EndedCall) -> PendingWakeup:
    with conversation.database.transaction(conversation.tenant_id) as tx:
        to_wake = store_tool_result(tx, conversation.tenant_id, ended, conversation.clock())
    assert to_wake is not None
    return to_wake


def _ended(conversation: ConversationHarness) -> list[EndedCall]:
    rows = conversation.query(
        "SELECT c.id, c.turn_id, t.session_id, c.name FROM tool_calls c JOIN turns t ON t.id = c.turn_id"
    )
    return [EndedCall(*row, {}, "done", {"pages": 12}, 1) for row in rows]  # type: ignore[arg-type,call-arg]
