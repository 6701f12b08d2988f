"""Functions and agent loops of a pack: killed anywhere, one reply and one effect."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from parlour.approvals.approvals import Answer
from parlour.infra.postgres import Database
from parlour.models import agent_loops
from parlour.principal import Principal
from parlour.tools.dispatch import dispatch_call
from tests.approval_harness import ApprovalHarness
from tests.conversation_harness import text_answer, tool_call
from tests.integration.conversations.function_desk import FunctionDesk, open_function_desk

START = "2026-03-03T10:00:00"
BOOK = {"name": "Priya", "start": START}

#: A loop without any library: it books once, then says the number. `die` kills the process before a stretch's end.
LOOP = """
import json, os, pathlib, parlour

@parlour.agent
def reception(request):
    with open("{calls}", "a") as file:
        file.write("x")
    if os.path.exists("{die}"):
        os.remove("{die}")
        os._exit(1)
    last = request.messages[-1]["content"]
    result = next((one for one in last if one["type"] == "tool_result"), None)
    if result is None:
        arguments = {{"name": "Priya", "start": "2026-03-03T10:00:00"}}
        return parlour.AgentReply(calls=[parlour.RequestedCall("book_appointment", arguments)], input_tokens=10)
    return parlour.AgentReply("Booked: " + json.loads(result["content"])["number"], input_tokens=12, output_tokens=3)
"""


class Killed(BaseException):
    """Stands for the end of Parlour's own process."""


@pytest.fixture
def desk(database: Database, tmp_path: Path) -> Iterator[FunctionDesk]:
    with open_function_desk(database, tmp_path) as opened:
        yield opened


def add_line(desk: FunctionDesk, after: str, line: str) -> None:
    """Put a line of code behind another one in the tool's file."""
    file = desk.functions.code / "appointments.py"
    text = file.read_text()
    assert after in text
    file.write_text(text.replace(after, f"{after}\n{line}", 1))


def test_a_decorated_function_reads_and_writes_for_the_model(desk: FunctionDesk) -> None:
    desk.send("salon", "Tuesday at ten, please. I am Priya.")
    model = desk.harness.model
    model.script = [
        tool_call("book_appointment", **BOOK),
        tool_call("free_times", day="2026-03-03"),
        text_answer("Done."),
    ]
    desk.run_turn()
    assert desk.bookings() == ["A-1"]
    assert desk.replies() == ["Done."]
    results = desk.harness.query("SELECT name, state, result FROM tool_calls ORDER BY step")
    assert [(name, state) for name, state, _ in results] == [("book_appointment", "done"), ("free_times", "done")]
    assert results[0][2] == {"number": "A-1", **BOOK}
    told = desk.functions.events[-1]["call"]
    assert isinstance(told, dict)
    assert set(told) == {"key", "tenant", "principal", "session_id"}


def test_a_refusal_reaches_the_model_and_nothing_is_done(desk: FunctionDesk) -> None:
    desk.send("salon", "Ten, twice.")
    calls = [*tool_call("book_appointment", "a", **BOOK), *tool_call("book_appointment", "b", **BOOK)]
    desk.harness.model.script = [calls, text_answer("The second was taken.")]
    desk.run_turn()
    assert desk.bookings() == ["A-1"]
    assert desk.harness.query("SELECT state, code FROM tool_calls ORDER BY step") == [
        ("done", None),
        ("failed", "refused"),
    ]


def test_a_function_that_raises_shows_file_and_line_to_its_developer_only(desk: FunctionDesk) -> None:
    add_line(desk, '    """List the free times of a day."""', "    {}['no such key']")
    desk.send("salon", "Tuesday at ten, please.")
    desk.harness.model.script = [tool_call("free_times", day="2026-03-03"), text_answer("A person looks.")]
    desk.run_turn()
    ((detail, result),) = desk.harness.query("SELECT detail, result FROM tool_calls")
    assert re.fullmatch(r"functions/appointments\.py, line \d+: KeyError: 'no such key'", str(detail))
    assert "KeyError" not in f"{result}{desk.harness.model.requests}"


def test_a_function_killed_after_its_effect_is_looked_up_and_not_called_again(desk: FunctionDesk) -> None:
    add_line(desk, "    _diary().write_text(json.dumps(diary))", "    os._exit(1)")
    desk.send("salon", "Tuesday at ten, please.")
    desk.harness.model.script = [tool_call("book_appointment", **BOOK), text_answer("Done.")]
    desk.run_turn()
    assert desk.bookings() == ["A-1"]
    assert [event["kind"] for event in desk.functions.events] == ["call", "lookup"]
    assert desk.harness.query("SELECT state FROM tool_calls") == [("done",)]


@pytest.fixture
def asking(desk: FunctionDesk) -> ApprovalHarness:
    """The same desk, whose bookings wait for the user's yes."""
    desk.harness.query("UPDATE tools SET needs_approval = '\"always\"' WHERE name = 'book_appointment' RETURNING id")
    desk.send("salon", "Tuesday at ten, please. I am Priya.")
    desk.harness.model.script = [tool_call("book_appointment", **BOOK)]
    return ApprovalHarness(desk.harness)


@pytest.mark.parametrize("is_changed", [False, True])
def test_an_approved_call_runs_only_the_code_that_was_asked_about(
    desk: FunctionDesk, asking: ApprovalHarness, is_changed: bool
) -> None:
    desk.run_turn()
    approval = asking.latest()
    asking.answer(asking.user_of(approval), approval, Answer("approve"))
    if is_changed:
        add_line(desk, "    diary = _read()", "    start = start.replace(hour=16)")
        desk.functions.close()
    endpoints = desk.make_dependencies().endpoints
    dispatch_call(
        replace(asking.make_dependencies(), endpoints=endpoints),
        desk.harness.tenant_id,
        approval.tool_call_id,
        lambda: 900.0,
    )
    assert desk.bookings() == ([] if is_changed else ["A-1"])
    state = ("failed", "changed") if is_changed else ("done", None)
    assert desk.harness.query("SELECT state, code FROM tool_calls") == [state]
    desk.harness.model.script = [tool_call("book_appointment", "again", **BOOK)]
    desk.run_turn()
    assert asking.latest().state == "asked"


def test_a_function_that_cannot_load_raises_no_question(desk: FunctionDesk, asking: ApprovalHarness) -> None:
    code = desk.functions.code / "appointments.py"
    code.write_text(f"{code.read_text()}\nraise RuntimeError\n")
    desk.harness.model.script.append(text_answer("I cannot book now."))
    desk.run_turn()
    assert desk.replies() == ["I cannot book now."]
    assert desk.harness.query("SELECT id FROM approvals") == []


def test_a_visitor_without_write_rights_does_not_reach_the_function(desk: FunctionDesk) -> None:
    desk.harness.query("""UPDATE bindings SET tool_writes = '{}', writes = '{}' RETURNING id""")
    desk.send("salon", "Tuesday at ten, please.")
    desk.harness.model.script = [tool_call("book_appointment", **BOOK), text_answer("I may not.")]
    desk.run_turn()
    assert desk.functions.events == []
    assert desk.bookings() == []


@pytest.fixture
def loop(desk: FunctionDesk, tmp_path: Path) -> Path:
    """An agent loop in place of the example's; returns the file that makes its next stretch die."""
    die = tmp_path / "die"
    code = LOOP.format(calls=tmp_path / "calls", die=die)
    (desk.functions.code / "reception.py").write_text(code)
    desk.send("salon-own-loop", "Tuesday at ten, please. I am Priya.")
    return die


def test_a_loop_of_ones_own_answers_through_journal_and_effects(desk: FunctionDesk, loop: Path) -> None:
    desk.run_turn()
    assert desk.replies() == ["Booked: A-1"]
    assert desk.bookings() == ["A-1"]
    assert desk.harness.query("SELECT name, state FROM tool_calls") == [("book_appointment", "done")]
    spent = desk.harness.query("SELECT provider, input_tokens, output_tokens, cost_usd FROM llm_calls ORDER BY step")
    assert spent == [("function", 10, 0, None), ("function", 12, 3, None)]


def test_a_loop_that_dies_midway_is_asked_again_and_books_once(desk: FunctionDesk, loop: Path) -> None:
    loop.touch()
    desk.run_turn()
    assert desk.replies() == ["Booked: A-1"]
    assert desk.bookings() == ["A-1"]


def test_a_loop_that_fails_needs_attention_until_it_answers_again(desk: FunctionDesk, loop: Path) -> None:
    code = desk.functions.code / "reception.py"
    working = code.read_text()
    code.write_text(f"{working}\nraise RuntimeError\n")
    desk.run_turn()
    admin, now = desk.harness.admin, desk.harness.clock()

    def failing(reader: Principal) -> list[tuple[str, str, str]]:
        with desk.harness.database.transaction(reader) as tx:
            found = agent_loops.list_failing_loops(reader, tx, now, 10)
        return [(one.binding, one.function, one.outcome) for one in found]

    assert failing(admin) == [("salon-own-loop", "reception.reception", "unavailable")]
    desk.harness.query("UPDATE bindings SET clearance = 2 RETURNING id")
    assert failing(replace(admin, clearance=1)) == []
    code.write_text(working)
    desk.send("salon-own-loop", "And now?")
    desk.run_turn()
    assert failing(admin) == []


@pytest.mark.parametrize("killed_at", [1, 2, 3, 4])
def test_parlour_killed_around_a_loops_calls_gives_one_reply_and_one_effect(
    desk: FunctionDesk, loop: Path, monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    """1: after the first stretch; 2: after the effect; 3: after the second stretch; 4: not at all."""
    answered = 0
    invoke = desk.functions.invoke

    def invoke_and_die(tenant: str, event: dict[str, object], seconds: float) -> object:
        nonlocal answered
        answer = invoke(tenant, event, seconds)  # type: ignore[arg-type]
        answered += 1
        if answered == killed_at:
            raise Killed
        return answer

    monkeypatch.setattr(desk.functions, "invoke", invoke_and_die)
    wake = desk.harness.list_wakes()[-1]
    if killed_at < 4:
        with pytest.raises(Killed):
            desk.run_turn(wake)
        desk.harness.clock.now += timedelta(minutes=3)
    desk.run_turn(wake)
    assert desk.replies() == ["Booked: A-1"]
    assert desk.bookings() == ["A-1"]
    assert desk.harness.query("SELECT state FROM tool_calls") == [("done",)]
