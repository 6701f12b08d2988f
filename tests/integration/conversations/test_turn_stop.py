"""A turn that is stopped ends with what it has: while the model writes, at a tool, at an effect, at a heavy call."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import UUID

import pytest

from parlour.conversations import inbox_messages, stop_requests, turn_stop, turn_views
from parlour.conversations.rows import StopCause
from parlour.conversations.stop_requests import StopResult
from parlour.infra.errors import NotFound, RetryError, ToolCancelled
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.models.model import ModelRequest, ReasoningDelta, StreamPart, TextDelta, Waiting
from parlour.principal import Principal
from parlour.prompts.ledger.past_turns import STOPPED_MARK, UNSENT_MARK
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from parlour.tools.run import ToolContext
from parlour.tools.tool_definition import Tool
from tests.conversation_harness import ConversationHarness, text_answer, tool_call

_LIMIT_SECONDS = 20.0
"""How long a test waits for what happens in a moment."""


@dataclass
class WebDesk:
    """A visitor's conversation whose turn the test stops."""

    conversation: ConversationHarness
    visitor: Principal
    session_id: UUID

    def stop(self, cause: StopCause = "user") -> StopResult:
        """Stop the newest turn, from a connection of its own: the turn's may be in use."""
        own = self.conversation.database.clone()
        try:
            with own.transaction(self.conversation.tenant_id) as tx:
                ((turn_id,),) = tx._connection.execute(
                    b"SELECT id FROM turns WHERE session_id = %s ORDER BY number DESC LIMIT 1", (self.session_id,)
                ).fetchall()
                assert isinstance(turn_id, UUID)
                tenant_id, now = self.conversation.tenant_id, self.conversation.clock()
                return stop_requests.stop_turn(tx, tenant_id, self.session_id, turn_id, cause, now)
        finally:
            own.close()

    def ask(self, text: str = "Please begin.") -> None:
        self.conversation.send_web(self.visitor, self.session_id, text)
        self.conversation.run_turn()

    def turns(self) -> list[tuple[object, ...]]:
        return self.conversation.query("SELECT state, stop_cause FROM turns ORDER BY number")

    def replies(self) -> list[str]:
        found = self.conversation.query("SELECT body FROM messages WHERE direction = 'outbound' ORDER BY position")
        return [str(body) for (body,) in found]

    def events(self, kind: str) -> list[tuple[object, ...]]:
        return self.conversation.query(f"SELECT payload FROM events WHERE kind = '{kind}' ORDER BY number")

    def calls(self) -> list[tuple[object, ...]]:
        return self.conversation.query("SELECT name, state, code FROM tool_calls ORDER BY step, call_id")


@pytest.fixture
def desk(conversation: ConversationHarness) -> WebDesk:
    visitor = conversation.create_visitor()
    return WebDesk(conversation, visitor, conversation.find_session(visitor))


@dataclass
class EndlessModel:
    """Says a few words and then nothing any more; is stopped after them."""

    words: str
    after_words: Callable[[], object]
    provider: str = "anthropic"
    is_closed: bool = False
    part: Callable[[str], StreamPart] = TextDelta

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        try:
            if self.words:
                yield self.part(self.words)
            self.after_words()
            for _ in wait_for_stop():
                yield Waiting()
        finally:
            self.is_closed = True


def wait_for_stop() -> Iterator[None]:
    ends_at = time.monotonic() + _LIMIT_SECONDS
    while time.monotonic() < ends_at:
        time.sleep(0.01)
        yield
    raise AssertionError("nobody saw the stop")


def test_a_stop_while_the_model_writes_keeps_the_partial_reply(desk: WebDesk) -> None:
    model = EndlessModel("Half a rep", desk.stop)
    desk.conversation.model = model  # type: ignore[assignment]
    desk.ask()
    assert (desk.turns(), desk.replies(), model.is_closed) == ([("stopped", "user")], ["Half a rep"], True)
    (done,) = desk.events("done")
    assert isinstance(done[0], dict)
    assert done[0]["state"] == "stopped"
    with desk.conversation.database.transaction(desk.conversation.admin) as tx:
        said = turn_views.read_transcript(desk.conversation.admin, tx, desk.session_id, 20)
    assert [(one.direction, one.is_stopped) for one in said] == [("inbound", False), ("outbound", True)]


def test_a_stopped_call_is_recorded_and_its_reservation_settled(desk: WebDesk) -> None:
    desk.conversation.model = EndlessModel("Half a rep", desk.stop)  # type: ignore[assignment]
    desk.ask()
    ((outcome, read, written, cost),) = desk.conversation.query(
        "SELECT outcome, input_tokens, output_tokens, cost_usd FROM llm_calls"
    )
    assert (outcome, bool(read), bool(written), bool(cost)) == ("stopped", True, True, True)
    ((open_reservations,),) = desk.conversation.query("SELECT count(*) FROM spend_reservations")
    assert open_reservations == 0
    assert desk.conversation.query("SELECT stop_reason, completed_at IS NOT NULL FROM steps") == [("stopped", True)]


def test_a_call_stopped_while_it_thinks_is_charged_for_all_that_it_may_think(desk: WebDesk) -> None:
    routing = '{"default": {"provider": "anthropic", "model": "claude-sonnet-5-5", "thinking": 3000}}'
    desk.conversation.query(f"UPDATE agents SET model_routing = '{routing}' RETURNING id")
    model = EndlessModel("Hm.", desk.stop, part=ReasoningDelta)
    desk.conversation.model = model  # type: ignore[assignment]
    desk.ask()
    assert desk.conversation.query("SELECT outcome, output_tokens FROM llm_calls") == [("stopped", 3000)]


def test_the_next_prompt_shows_a_stopped_reply_as_one_and_both_are_rebuilt(desk: WebDesk) -> None:
    scripted = desk.conversation.model
    desk.conversation.model = EndlessModel("Half a rep", desk.stop)  # type: ignore[assignment]
    desk.ask()
    desk.conversation.model = scripted
    scripted.script = [text_answer("Once more, whole.")]
    desk.ask("Go on.")
    assert f"Half a rep\\n{STOPPED_MARK}" in canonical_json(list(scripted.requests[-1].messages))
    for turn_id, step in desk.conversation.query("SELECT turn_id, step FROM ledgers"):
        with desk.conversation.database.transaction(desk.conversation.admin) as tx:
            rebuilt = rebuild_turn_prompt(desk.conversation.admin, tx, UUID(str(turn_id)), int(str(step)))
        assert rebuilt["is_identical"] is True


def test_a_stop_before_the_first_word_keeps_an_empty_reply(desk: WebDesk) -> None:
    desk.conversation.model = EndlessModel("", desk.stop)  # type: ignore[assignment]
    desk.ask()
    assert (desk.turns(), desk.replies(), len(desk.events("done"))) == ([("stopped", "user")], [""], 1)


def test_on_messaging_a_stopped_reply_is_kept_and_not_sent(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Please begin.")
    session_id = conversation.list_wakes()[-1].session_id
    desk = WebDesk(conversation, conversation.admin, session_id)
    scripted = conversation.model
    conversation.model = EndlessModel("Half a rep", desk.stop)  # type: ignore[assignment]
    conversation.run_turn()
    assert desk.replies() == ["Half a rep", "Stopped."]
    assert conversation.query("SELECT m.body FROM outbox o JOIN messages m ON m.id = o.message_id") == [("Stopped.",)]
    conversation.model = scripted
    scripted.script = [text_answer("Once more.")]
    conversation.send_whatsapp("Go on.", "m2")
    conversation.run_turn()
    assert f"Half a rep\\n{UNSENT_MARK}" in canonical_json(list(scripted.requests[-1].messages))


class StoppedRead:
    """A read of another system: somebody stops the turn while it runs, and it ends when its connection is cut."""

    def __init__(self, stop: Callable[[], object]) -> None:
        self._stop = stop
        self.was_cut = threading.Event()

    def call(self, context: ToolContext, _tool: Tool, _arguments: JsonObject, /) -> JsonObject:
        context.connection.attach(self.was_cut.set)
        self._stop()
        self.was_cut.wait(_LIMIT_SECONDS)
        raise ToolCancelled

    def lookup(self, _context: ToolContext, _tool: Tool, /) -> JsonObject | None:
        return None


def add_read(conversation: ConversationHarness, name: str, endpoint: StoppedRead) -> None:
    conversation.add_tool(name, lambda _context, _arguments: {}, writes=False)
    conversation.query(f"UPDATE tools SET endpoint = 'function:desk.{name}' WHERE name = '{name}' RETURNING id")
    conversation.extra_endpoints["function"] = endpoint


def test_a_stop_at_a_tool_cuts_the_read_and_begins_nothing_more(desk: WebDesk) -> None:
    read = StoppedRead(desk.stop)
    add_read(desk.conversation, "read_levels", read)
    done: list[ToolContext] = []

    def raise_rfi(context: ToolContext, _arguments: JsonObject) -> JsonObject:
        done.append(context)
        return {}

    desk.conversation.add_tool("raise_rfi", raise_rfi)
    desk.conversation.model.script = [
        [{"type": "text", "text": "Let me look."}, *tool_call("read_levels", "a"), *tool_call("raise_rfi", "b")]
    ]
    desk.ask()
    assert read.was_cut.is_set()
    assert (desk.turns(), desk.replies(), done) == ([("stopped", "user")], ["Let me look."], [])
    assert desk.calls() == [("read_levels", "failed", "cancelled"), ("raise_rfi", "failed", "cancelled")]


def test_an_effect_that_was_begun_ends_as_it_must_and_the_next_prompt_knows(desk: WebDesk) -> None:
    told: list[StopResult] = []

    def raise_rfi(_context: ToolContext, _arguments: JsonObject) -> JsonObject:
        told.append(desk.stop())
        return {"number": 7}

    desk.conversation.add_tool("raise_rfi", raise_rfi)
    desk.conversation.model.script = [[*tool_call("raise_rfi", "a"), *tool_call("raise_rfi", "b")]]
    desk.ask()
    assert [(one.state, one.running_write) for one in told] == [("open", "raise_rfi")]
    assert desk.calls() == [("raise_rfi", "done", None), ("raise_rfi", "failed", "cancelled")]
    assert desk.turns() == [("stopped", "user")]
    desk.conversation.model.script = [text_answer("The first was raised.")]
    desk.ask("What happened?")
    messages = canonical_json(list(desk.conversation.model.requests[-1].messages))
    assert "done: {" in messages
    assert "failed: cancelled" in messages


def begin_heavy(desk: WebDesk, *, writes: bool) -> UUID:
    desk.conversation.add_tool("compile_report", lambda _context, _arguments: {}, writes=writes, heavy=True)
    desk.conversation.model.script = [tool_call("compile_report"), text_answer("I am working on it.")]
    desk.ask()
    ((call_id,),) = desk.conversation.query("SELECT id FROM tool_calls")
    assert isinstance(call_id, UUID)
    return call_id


def test_a_stop_cancels_a_heavy_call_and_its_result_starts_no_turn(desk: WebDesk) -> None:
    begin_heavy(desk, writes=False)
    result = desk.stop()
    assert (result.state, result.cancelled, result.running_write) == ("answered", 1, "")
    assert desk.calls() == [("compile_report", "failed", "cancelled")]
    wakes = len(desk.conversation.turns.sent)
    desk.conversation.run_turn()
    assert (len(desk.turns()), len(desk.conversation.turns.sent)) == (1, wakes)
    desk.conversation.model.script = [text_answer("It was cancelled.")]
    desk.ask("What became of it?")
    assert "What became of a tool call" in str(desk.conversation.model.requests[-1].messages)


def test_a_heavy_write_that_was_begun_is_not_cut_off(desk: WebDesk) -> None:
    call_id = begin_heavy(desk, writes=True)
    running = f"UPDATE tool_calls SET state = 'running', run_token = 1 WHERE id = '{call_id}' RETURNING 1"
    desk.conversation.query(running)
    result = desk.stop()
    assert (result.state, result.cancelled, result.running_write) == ("answered", 0, "compile_report")
    assert desk.conversation.query("SELECT state, cancelled_at FROM tool_calls") == [("running", None)]


def test_stopping_a_finished_turn_changes_nothing_and_says_so(desk: WebDesk) -> None:
    desk.conversation.model.script = [text_answer("All done.")]
    desk.ask()
    for _ in range(2):
        result = desk.stop()
        assert (result.state, result.cancelled, result.running_write) == ("answered", 0, "")
    assert (desk.turns(), desk.replies()) == ([("answered", None)], ["All done."])


def test_the_first_of_two_stops_counts(desk: WebDesk) -> None:
    def stop_twice() -> None:
        desk.stop("message")
        desk.stop("user")

    desk.conversation.model = EndlessModel("Half", stop_twice)  # type: ignore[assignment]
    desk.ask()
    assert desk.turns() == [("stopped", "message")]
    assert desk.stop().state == "stopped"


def test_a_turn_of_another_conversation_is_not_found(desk: WebDesk) -> None:
    desk.conversation.model.script = [text_answer("All done.")]
    desk.ask()
    other = desk.conversation.find_session(desk.conversation.create_visitor())
    ((turn_id,),) = desk.conversation.query("SELECT id FROM turns")
    with desk.conversation.database.transaction(desk.conversation.tenant_id) as tx, pytest.raises(NotFound):
        stop_requests.stop_turn(
            tx, desk.conversation.tenant_id, other, UUID(str(turn_id)), "user", desk.conversation.clock()
        )
    assert desk.turns() == [("answered", None)]


def test_a_turn_whose_worker_died_is_stopped_by_the_next_one(desk: WebDesk) -> None:
    desk.conversation.model.script = [RetryError("the worker is gone")]
    with pytest.raises(RetryError):
        desk.ask()
    desk.stop()
    desk.conversation.model.script = []
    desk.conversation.run_turn()
    assert (desk.turns(), desk.replies()) == ([("stopped", "user")], [""])


def test_a_message_during_a_stopped_turn_is_answered_by_the_next(desk: WebDesk) -> None:
    scripted = desk.conversation.model

    def write_and_stop() -> None:
        database, desk.conversation.database = desk.conversation.database, desk.conversation.database.clone()
        desk.conversation.send_web(desk.visitor, desk.session_id, "Something else.")
        desk.conversation.database.close()
        desk.conversation.database = database
        desk.stop()

    desk.conversation.model = EndlessModel("Half", write_and_stop)  # type: ignore[assignment]
    desk.ask()
    desk.conversation.model = scripted
    scripted.script = [text_answer("About something else.")]
    desk.conversation.run_turn()
    assert (desk.turns(), desk.replies()) == (
        [("stopped", "user"), ("answered", None)],
        ["Half", "About something else."],
    )


@pytest.mark.parametrize("is_stopped_first", [True, False])
def test_a_message_that_no_model_read_before_the_stop_is_answered_next(desk: WebDesk, is_stopped_first: bool) -> None:
    conversation = desk.conversation
    conversation.query("""UPDATE bindings SET queue = '{"mode": "steer"}' RETURNING id""")

    def write() -> None:
        database, conversation.database = conversation.database, conversation.database.clone()
        conversation.send_web(desk.visitor, desk.session_id, "Something else.")
        conversation.database.close()
        conversation.database = database

    def raise_rfi(_context: ToolContext, _arguments: JsonObject) -> JsonObject:
        write()
        if is_stopped_first:
            desk.stop()
        return {"number": 7}

    conversation.add_tool("raise_rfi", raise_rfi)
    conversation.model.script = [tool_call("raise_rfi"), RetryError("the worker is gone")]
    conversation.send_web(desk.visitor, desk.session_id, "Please begin.")
    if is_stopped_first:
        conversation.run_turn()
        assert conversation.query("SELECT count(*) FROM work_due WHERE kind = 'session'") == [(1,)]
    else:
        with pytest.raises(RetryError):
            conversation.run_turn()
        assert desk.events("messages_joined")
        desk.stop()
    conversation.model.script = [text_answer("About something else.")]
    conversation.run_turn()
    assert desk.turns() == [("stopped", "user"), ("answered", None)]
    assert conversation.query(
        "SELECT t.state, m.body, m.joined_step FROM messages m JOIN turns t ON t.id = m.turn_id"
        " WHERE m.direction = 'inbound' ORDER BY m.position"
    ) == [("stopped", "Please begin.", None), ("answered", "Something else.", None)]
    assert desk.replies() == ["", "About something else."]
    for turn_id, step in conversation.query("SELECT turn_id, step FROM ledgers"):
        with conversation.database.transaction(conversation.admin) as tx:
            rebuilt = rebuild_turn_prompt(conversation.admin, tx, UUID(str(turn_id)), int(str(step)))
        assert rebuilt["is_identical"] is True


def test_the_instruction_of_a_stopped_turn_is_for_the_next_one(desk: WebDesk) -> None:
    conversation, now = desk.conversation, desk.conversation.clock()
    conversation.model.script = [text_answer("All done.")]
    desk.ask()
    admin = conversation.admin
    conversation.database.run(
        admin, lambda tx: inbox_messages.open_thread(admin, tx, desk.session_id, "member", "They called.", now)
    )
    conversation.database.run(
        admin, lambda tx: inbox_messages.hand_back(admin, tx, desk.session_id, "Offer them Tuesday.", now)
    )
    scripted = conversation.model
    conversation.model = EndlessModel("Half a rep", desk.stop)  # type: ignore[assignment]
    desk.ask("When?")
    conversation.model = scripted
    scripted.script = [text_answer("Tuesday, then.")]
    desk.ask("When, please?")
    assert "Offer them Tuesday." in str(scripted.requests[-1].messages)
    assert conversation.query("SELECT instruction FROM inbox_threads") == [(None,)]


def test_a_stop_that_came_too_late_leaves_no_heavy_result_unanswered(
    desk: WebDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_stop, "_LOOK_SECONDS", 60.0)  # the model answers before anybody looks
    conversation = desk.conversation

    def stop_at_the_last_step() -> None:
        if desk.calls():
            desk.stop()

    conversation.model.before_completion = stop_at_the_last_step
    begin_heavy(desk, writes=False)
    assert (desk.turns(), desk.calls()) == ([("answered", None)], [("compile_report", "failed", "cancelled")])
    results = "SELECT state, turn_id IS NULL FROM messages WHERE kind = 'tool_result'"
    assert conversation.query(results) == [("unanswered", True)]
    assert conversation.query("SELECT count(*) FROM work_due WHERE kind = 'session'") == [(1,)]
    assert [body["kind"] for body, seconds in conversation.wakeups.sent if seconds == 0] == ["session"]
    conversation.model.script = [text_answer("The report was cancelled.")]
    conversation.run_turn()
    assert desk.replies() == ["I am working on it.", "The report was cancelled."]


def test_what_was_said_beside_earlier_calls_stays_when_a_turn_is_stopped(desk: WebDesk) -> None:
    model = desk.conversation.model
    words = ("I look into the survey.", "Now the crane.")
    model.script = [
        [*text_answer(text), *tool_call("search_knowledge", f"call_{number}", query=text)]
        for number, text in enumerate(words)
    ]

    def stop_the_second_step() -> None:
        if len(model.requests) == 2:
            desk.stop()

    model.before_completion = stop_the_second_step
    desk.ask()
    assert desk.turns() == [("stopped", "user")]
    assert desk.replies() == ["\n\n".join(words)]
