"""Messages that come while a turn runs, in each mode of a binding's queue: nothing lost, nothing twice."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from parlour.infra.json_values import canonical_json
from parlour.models.model import Completion, ModelRequest, StreamPart, TextDelta, TokenUsage, Waiting
from parlour.principal import Principal
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from tests.conversation_harness import ConversationHarness, search_call, text_answer, tool_call

MODES = ("collect", "steer", "interrupt")


@dataclass
class QuickUser:
    """A visitor who goes on writing while their turn runs, from a connection of their own."""

    conversation: ConversationHarness
    visitor: Principal
    session_id: UUID
    texts: list[str] = field(default_factory=list)

    def write(self, *texts: str) -> None:
        turns_own = self.conversation.database
        self.conversation.database = turns_own.clone()
        try:
            for text in texts:
                self.conversation.send_web(self.visitor, self.session_id, text)
        finally:
            self.conversation.database.close()
            self.conversation.database = turns_own

    def run_all(self) -> None:
        """Run turns until nothing waits, as the wake-ups of all messages would."""
        for _ in range(8):
            self.conversation.run_turn()

    def answered(self) -> list[tuple[object, ...]]:
        """Each turn's state with the texts that it answers, in order."""
        return self.conversation.query(
            "SELECT t.state, array_agg(m.body ORDER BY m.position) FROM turns t JOIN messages m ON m.turn_id = t.id"
            " WHERE m.direction = 'inbound' AND m.kind = 'text' GROUP BY t.id, t.state, t.number ORDER BY t.number"
        )

    def replies(self) -> int:
        ((count,),) = self.conversation.query("SELECT count(*) FROM messages WHERE direction = 'outbound'")
        return int(str(count))


@pytest.fixture
def user(conversation: ConversationHarness) -> QuickUser:
    visitor = conversation.create_visitor()
    return QuickUser(conversation, visitor, conversation.find_session(visitor))


def set_mode(conversation: ConversationHarness, mode: str) -> None:
    conversation.query(f"""UPDATE bindings SET queue = '{{"mode": "{mode}"}}' RETURNING id""")


def write_once(user: QuickUser, *texts: str) -> Callable[[], None]:
    waiting = list(texts)

    def write() -> None:
        user.write(*waiting)
        waiting.clear()

    return write


def test_collect_answers_five_quick_messages_in_two_turns(user: QuickUser) -> None:
    conversation = user.conversation
    conversation.model.before_completion = write_once(user, "two", "three", "four", "five")
    conversation.model.script = [text_answer("First."), text_answer("The others.")]
    user.write("one")
    user.run_all()
    assert user.answered() == [("answered", ["one"]), ("answered", ["two", "three", "four", "five"])]
    assert user.replies() == 2


def test_steer_lets_quick_messages_join_before_the_next_step(user: QuickUser) -> None:
    conversation = user.conversation
    set_mode(conversation, "steer")
    conversation.model.before_completion = write_once(user, "two", "three", "four", "five")
    conversation.model.script = [search_call("crack"), text_answer("All five.")]
    user.write("one")
    user.run_all()
    assert user.answered() == [("answered", ["one", "two", "three", "four", "five"])]
    assert user.replies() == 1
    last = conversation.model.requests[-1].messages[-1]
    assert [word in canonical_json(last) for word in ("tool_result", "two", "three", "four", "five")] == [True] * 5
    ((joined,),) = conversation.query("SELECT payload FROM events WHERE kind = 'messages_joined'")
    assert isinstance(joined, dict)
    assert len(joined["message_ids"]) == 4
    for turn_id, step in conversation.query("SELECT turn_id, step FROM ledgers"):
        with conversation.database.transaction(conversation.admin) as tx:
            rebuilt = rebuild_turn_prompt(conversation.admin, tx, UUID(str(turn_id)), int(str(step)))
        assert rebuilt["is_identical"] is True


def test_a_message_during_the_last_step_waits_for_the_next_turn_also_when_steered(user: QuickUser) -> None:
    conversation = user.conversation
    set_mode(conversation, "steer")
    conversation.model.before_completion = write_once(user, "two")
    conversation.model.script = [text_answer("First."), text_answer("Second.")]
    user.write("one")
    user.run_all()
    assert user.answered() == [("answered", ["one"]), ("answered", ["two"])]


def test_a_steered_turn_that_died_reads_the_joined_message_where_it_was(user: QuickUser) -> None:
    conversation = user.conversation
    set_mode(conversation, "steer")
    conversation.model.before_completion = write_once(user, "two")
    conversation.model.script = [search_call("crack"), RuntimeError("the worker died"), text_answer("Both.")]
    user.write("one")
    with pytest.raises(RuntimeError):
        conversation.run_turn()
    conversation.run_turn()
    before, after = conversation.model.requests[-2:]
    assert before.messages == after.messages
    assert "two" in canonical_json(after.messages[-1])
    assert user.answered() == [("answered", ["one", "two"])]


def test_a_text_too_long_to_join_waits_for_the_next_turn_with_what_follows(user: QuickUser) -> None:
    conversation = user.conversation
    set_mode(conversation, "steer")
    long = "long " * 350
    texts = iter([("two",), (long, long, "five")])

    def write_at_each_step() -> None:
        user.write(*next(texts, ()))

    conversation.model.before_completion = write_at_each_step
    conversation.model.script = [search_call("a"), search_call("b", "call_2"), text_answer("A."), text_answer("B.")]
    user.write("one")
    user.run_all()
    long = long.strip()
    assert [
        (state, [str(text).strip() for text in texts]) for state, texts in user.answered() if isinstance(texts, list)
    ] == [
        ("answered", ["one", "two", long]),
        ("answered", [long, "five"]),
    ]


def test_a_text_that_asks_for_a_person_joins_no_turn_and_opens_the_inbox(user: QuickUser) -> None:
    conversation = user.conversation
    set_mode(conversation, "steer")
    conversation.query("""UPDATE bindings SET inbox = '{"words": {"en": ["real person"]}}' RETURNING id""")
    conversation.model.before_completion = write_once(user, "two", "Give me a real person.")
    conversation.model.script = [search_call("crack"), text_answer("First.")]
    user.write("one")
    user.run_all()
    assert user.answered() == [("answered", ["one"]), ("answered", ["two", "Give me a real person."])]
    assert conversation.query("SELECT state FROM inbox_threads") == [("waiting",)]


def test_a_text_of_another_channel_joins_no_turn(user: QuickUser) -> None:
    conversation = user.conversation
    set_mode(conversation, "steer")
    write = write_once(user, "two")

    def write_elsewhere() -> None:
        write()
        conversation.query("UPDATE messages SET channel = 'whatsapp' WHERE body = 'two' RETURNING id")

    conversation.model.before_completion = write_elsewhere
    conversation.model.script = [search_call("crack"), text_answer("First."), text_answer("Second.")]
    user.write("one")
    user.run_all()
    assert user.answered() == [("answered", ["one"]), ("answered", ["two"])]


@dataclass
class InterruptedModel:
    """Begins each answer and is written to in the middle of it; ends the one that nobody interrupts."""

    user: QuickUser
    texts: list[str]
    provider: str = "anthropic"
    requests: list[ModelRequest] = field(default_factory=list)

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        self.requests.append(request)
        yield TextDelta(f"Answer {len(self.requests)}")
        if self.texts:
            self.user.write(self.texts.pop(0))
            for _ in range(2_000):
                time.sleep(0.01)
                yield Waiting()
        text = f"Answer {len(self.requests)}"
        yield Completion(({"type": "text", "text": text},), "end_turn", TokenUsage(10, 10))


def test_interrupt_stops_a_turn_for_each_newer_message(user: QuickUser) -> None:
    conversation = user.conversation
    set_mode(conversation, "interrupt")
    model = InterruptedModel(user, ["two", "three", "four", "five"])
    conversation.model = model  # type: ignore[assignment]
    user.write("one")
    user.run_all()
    words = ("one", "two", "three", "four", "five")
    assert user.answered() == [("stopped" if word != "five" else "answered", [word]) for word in words]
    assert user.replies() == 5
    last = canonical_json(list(model.requests[-1].messages))
    assert [f"Answer {number}" in last for number in (1, 2, 3, 4)] == [True] * 4


@pytest.mark.parametrize("mode", MODES)
def test_while_a_question_is_open_messages_wait_their_turn_in_every_mode(user: QuickUser, mode: str) -> None:
    conversation = user.conversation
    set_mode(conversation, mode)
    conversation.add_tool("order_steel", lambda _context, _arguments: {"number": 1})
    conversation.query("""UPDATE tools SET needs_approval = '"always"' WHERE name = 'order_steel' RETURNING id""")
    conversation.model.script = [tool_call("order_steel")]
    user.write("Order the steel.")
    conversation.run_turn()
    conversation.model.before_completion = write_once(user, "And the bolts?")
    conversation.model.script = [search_call("steel"), text_answer("It is the north gate."), text_answer("Bolts too.")]
    user.write("Which gate is it?")
    user.run_all()
    assert user.answered() == [
        ("answered", ["Order the steel."]),
        ("answered", ["Which gate is it?"]),
        ("answered", ["And the bolts?"]),
    ]
    assert conversation.query("SELECT state FROM approvals") == [("asked",)]
