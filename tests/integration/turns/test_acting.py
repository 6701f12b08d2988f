"""Effects of a turn: done at most once, whatever breaks where; what nobody knows is told and left to a person."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from parlour.infra.errors import DatabaseUnavailable, OutcomeUnknown, QueueUnavailable, RetryError, ToolRefused
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject, canonical
from parlour.infra.postgres import Database
from parlour.tools.calls import WORKING
from parlour.tools.records import EndedCall
from parlour.tools.run import ToolContext
from parlour.turns import polite, read
from parlour.turns.receive import Wake
from parlour.turns.resume import ToWake, tool_ended
from parlour.turns.run import run
from tests.desk import Desk, calls, says


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
def office(desk: Desk) -> Office:
    made = Office()
    desk.add_tool("raise_rfi", made)
    desk.write("Please ask them about the crack.")
    return made


def states(desk: Desk) -> list[object]:
    return [state for (state,) in desk.rows("SELECT state FROM tool_calls ORDER BY step, call_id")]


def replies(desk: Desk) -> list[object]:
    return [body for (body,) in desk.rows("SELECT body FROM messages WHERE direction = 'outbound' ORDER BY position")]


def test_an_effect_is_reserved_with_its_step_and_done_once(desk: Desk, office: Office) -> None:
    seen: list[list[object]] = []

    def watched(context: ToolContext, arguments: JsonObject) -> JsonObject:
        seen.append(states(desk))
        return office(context, arguments)

    desk.builtins["raise_rfi"] = watched
    desk.model.script = [calls("raise_rfi"), says("Asked.")]
    desk.run()
    assert seen == [["running"]]
    assert states(desk) == ["done"]
    assert len(office.done) == 1
    assert desk.rows("SELECT writes, result FROM tool_calls") == [(True, {"number": 1})]


def test_two_effects_of_one_step_are_both_known_before_the_first_begins(desk: Desk, office: Office) -> None:
    office.after = [Killed()]
    desk.model.script = [[*calls("raise_rfi", "a"), *calls("raise_rfi", "b")]]
    with pytest.raises(Killed):
        desk.run()
    assert states(desk) == ["running", "reserved"]


def test_an_effect_that_a_dead_worker_had_begun_is_unknown_and_not_done_again(desk: Desk, office: Office) -> None:
    office.after = [Killed()]
    desk.model.script = [[*calls("raise_rfi", "a"), *calls("raise_rfi", "b")]]
    with pytest.raises(Killed):
        desk.run()
    desk.clock.now += timedelta(minutes=2)
    desk.model.script = [says("The second is asked; the first I do not know.")]
    desk.run()
    assert states(desk) == ["unknown", "done"]
    assert len(office.done) == 2
    assert len(set(office.done)) == 2
    told = canonical(list(desk.model.requests[-1].messages))
    assert OutcomeUnknown.code in told


def test_an_effect_that_broke_off_is_unknown_and_the_conversation_goes_on(desk: Desk, office: Office) -> None:
    office.after = [TimeoutError()]
    desk.model.script = [calls("raise_rfi"), says("I do not know whether it was asked.")]
    desk.run()
    assert states(desk) == ["unknown"]
    assert replies(desk) == ["I do not know whether it was asked."]


def test_an_effect_that_was_refused_is_told_and_may_be_asked_for_again(desk: Desk, office: Office) -> None:
    office.before = [ToolRefused("no such subject"), None]
    desk.model.script = [calls("raise_rfi"), calls("raise_rfi", "call_2"), says("Asked.")]
    desk.run()
    assert states(desk) == ["failed", "done"]
    assert len(office.done) == 1


def test_a_repeatable_effect_is_done_again_under_the_same_key(desk: Desk) -> None:
    office = Office(after=[Killed()])
    desk.add_tool("raise_rfi", office, idempotent=True)
    desk.write("Please ask.")
    desk.model.script = [calls("raise_rfi")]
    with pytest.raises(Killed):
        desk.run()
    desk.clock.now += timedelta(minutes=2)
    desk.model.script = [says("Asked.")]
    desk.run()
    assert states(desk) == ["done"]
    assert len(set(office.done)) == 1


def test_a_turn_that_is_given_up_leaves_no_effect_in_the_dark(desk: Desk, office: Office) -> None:
    office.after = [Killed()]
    desk.model.script = [[*calls("raise_rfi", "a"), *calls("raise_rfi", "b")]]
    with pytest.raises(Killed):
        desk.run()
    desk.clock.now += timedelta(minutes=2)
    desk.rows("UPDATE turns SET attempts = 3 RETURNING 1")  # two more workers died before they got there
    desk.run()
    assert replies(desk) == [polite.FAILED]
    assert states(desk) == ["unknown", "failed"]
    assert len(office.done) == 1


def test_a_turn_that_ends_without_the_model_leaves_no_effect_in_the_dark_either(desk: Desk, office: Office) -> None:
    office.after = [Killed()]
    desk.model.script = [[*calls("raise_rfi", "a"), *calls("raise_rfi", "b")]]
    with pytest.raises(Killed):
        desk.run()
    desk.clock.now += timedelta(minutes=2)
    desk.rows("UPDATE bindings SET is_active = false RETURNING 1")
    desk.run()
    assert replies(desk) == [polite.PAUSED]
    assert states(desk) == ["unknown", "failed"]
    assert len(office.done) == 1


def test_an_effect_of_a_step_too_many_does_not_stay_reserved(desk: Desk, office: Office) -> None:
    desk.rows("UPDATE agents SET max_tool_iterations = 1 RETURNING 1")
    desk.model.script = [calls("raise_rfi", "a"), calls("raise_rfi", "b")]
    desk.run()
    assert replies(desk) == [polite.TROUBLE]
    assert states(desk) == ["done", "failed"]
    assert len(office.done) == 1


def test_a_heavy_call_is_handed_over_and_the_turn_goes_on(desk: Desk) -> None:
    office = Office()
    desk.add_tool("compile_report", office, writes=False, heavy=True)
    desk.write("Compile the weekly report.")
    desk.model.script = [calls("compile_report"), says("I am working on it.")]
    desk.run()
    assert office.done == []
    assert states(desk) == ["reserved"]
    (message,) = desk.tools.sent.values()
    ((call_id,),) = desk.rows("SELECT id FROM tool_calls")
    assert message.body == {"tenant_id": str(desk.tenant_id), "tool_call_id": str(call_id)}
    assert replies(desk) == ["I am working on it."]
    assert ("tool_call", call_id) in desk.rows("SELECT kind, id FROM work_due")
    assert str(WORKING["message"]) in canonical(list(desk.model.requests[-1].messages))


def test_a_heavy_call_whose_message_was_not_sent_is_sent_by_the_resumed_turn(desk: Desk) -> None:
    desk.add_tool("compile_report", Office(), writes=False, heavy=True)
    desk.write("Compile the weekly report.")
    desk.tools.broken = QueueUnavailable()
    desk.model.script = [calls("compile_report")]
    with pytest.raises(QueueUnavailable):
        desk.run()
    assert states(desk) == ["reserved"]
    desk.tools.broken = None
    desk.model.script = [says("I am working on it.")]
    desk.run()
    assert (len(desk.tools.sent), states(desk)) == (1, ["reserved"]), "the end of its turn is not the end of it"
    assert replies(desk) == ["I am working on it."]


def test_a_heavy_call_with_wrong_arguments_is_told_at_once(desk: Desk) -> None:
    desk.add_tool("compile_report", Office(), writes=False, heavy=True)
    desk.rows("""UPDATE tools SET schema = '{"type": "object", "required": ["week"]}' WHERE heavy RETURNING 1""")
    desk.write("Compile the weekly report.")
    desk.model.script = [calls("compile_report"), says("Which week?")]
    desk.run()
    assert desk.rows("SELECT state, code FROM tool_calls") == [("failed", "invalid_arguments")]
    assert desk.tools.sent == {}


def test_the_result_of_a_heavy_call_is_answered_by_a_turn_of_its_own_once(desk: Desk) -> None:
    desk.add_tool("compile_report", Office(), writes=False, heavy=True)
    desk.write("Compile the weekly report.")
    desk.model.script = [calls("compile_report"), says("I am working on it.")]
    desk.run()
    (ended,) = _ended(desk)
    told = [tell(desk, ended), tell(desk, ended)]
    assert [one.channel for one in told] == ["whatsapp", "whatsapp"]
    assert len(desk.rows("SELECT id FROM work_due WHERE kind = 'session'")) == 1, "should both wake-ups get lost"
    desk.model.script = [says("The report has 12 pages.")]
    for one in told:
        desk.run(Wake.from_json(one.message.body))
    assert replies(desk) == ["I am working on it.", "The report has 12 pages."]
    opening = canonical(desk.model.requests[-1].messages[-1])
    assert "compile_report" in opening
    assert "pages" in opening
    assert desk.rows("SELECT DISTINCT recipient FROM outbox") == [("+919800000001",)]


def test_what_a_tool_said_later_is_no_message_of_the_users_transcript(desk: Desk) -> None:
    test_the_result_of_a_heavy_call_is_answered_by_a_turn_of_its_own_once(desk)
    assert desk.rows("SELECT count(*) FROM messages WHERE kind = 'tool_result'") == [(1,)]
    with desk.database.transaction(desk.admin) as tx:
        said = read.transcript(desk.admin, tx, desk.wakes()[0].session_id, 20)
    assert [one.kind for one in said] == ["text", "text", "text"]


def test_an_attempt_that_the_database_ended_is_given_back(desk: Desk, office: Office) -> None:
    for _ in range(5):
        desk.model.script = [DatabaseUnavailable()]
        with pytest.raises(DatabaseUnavailable):
            desk.run()
    assert desk.rows("SELECT attempts, state FROM turns") == [(0, "open")]
    desk.model.script = [says("Here I am.")]
    desk.run()
    assert replies(desk) == ["Here I am."]
    assert desk.rows("SELECT attempts, state FROM turns") == [(1, "answered")]


def test_a_turn_that_runs_out_of_time_goes_on_in_the_next_invocation(desk: Desk, office: Office) -> None:
    left = [60.0]

    def slow(context: ToolContext, arguments: JsonObject) -> JsonObject:
        left[0] = 8.0
        return office(context, arguments)

    desk.builtins["raise_rfi"] = slow
    desk.model.script = [[*calls("raise_rfi", "a"), *calls("raise_rfi", "b")], says("Asked twice.")]
    for done in (1, 2):
        with pytest.raises(RetryError):
            run(desk.services(), desk.wakes()[-1], lambda: left[0])
        assert (len(office.done), replies(desk)) == (done, [])
        left[0] = 60.0
    run(desk.services(), desk.wakes()[-1], lambda: left[0])
    assert (len(office.done), replies(desk)) == (2, ["Asked twice."])
    assert desk.rows("SELECT attempts, degraded FROM turns") == [(1, False)]


def test_a_worker_that_was_overtaken_before_an_effect_does_not_begin_it(
    desk: Desk, office: Office, open_database: Callable[[], Database]
) -> None:
    stalled: list[bool] = []

    def left() -> float:
        if states(desk) == ["reserved"] and not stalled:
            stalled.append(True)
            desk.clock.now += timedelta(minutes=2)
            desk.run(database=open_database())
        return 60.0

    desk.model.script = [calls("raise_rfi"), says("Asked.")]
    run(desk.services(), desk.wakes()[-1], left)
    assert (len(stalled), len(office.done), states(desk)) == (1, 1, ["done"])
    assert replies(desk) == ["Asked."]


def tell(desk: Desk, ended: EndedCall) -> ToWake:
    with desk.database.transaction(desk.tenant_id) as tx:
        to_wake = tool_ended(tx, desk.tenant_id, ended, uuid7, desk.clock())
    assert to_wake is not None
    return to_wake


def _ended(desk: Desk) -> list[EndedCall]:
    rows = desk.rows("SELECT c.id, c.turn_id, t.session_id, c.name FROM tool_calls c JOIN turns t ON t.id = c.turn_id")
    return [EndedCall(*row, {}, "done", {"pages": 12}, 1) for row in rows]  # type: ignore[arg-type,call-arg]
