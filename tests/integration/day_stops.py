"""Turns of a working day that are stopped: by their user, by a word, after the end."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from parlour.conversations import stop_requests
from parlour.models.model import ModelRequest, StreamPart, TextDelta, Waiting
from tests.conversation_harness import ConversationHarness, search_call, text_answer
from tests.long_tool_harness import LongToolHarness


@dataclass
class StoppedModel:
    """Says a word, has its conversation say stop, and is silent until that is seen."""

    conversation: ConversationHarness
    provider: str = "anthropic"

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        yield TextDelta("Well")
        self.conversation.send_whatsapp("Stop!", "stop-2")
        while True:
            time.sleep(0.02)
            yield Waiting()


def stop_turns(conversation: ConversationHarness) -> None:
    """A stop word ends the turn that runs; a stop through the API ends the heavy call of one that is over."""
    scripted, conversation.model = conversation.model, StoppedModel(conversation)  # type: ignore[assignment]
    conversation.send_whatsapp("Tell me everything.", "stop-1")
    conversation.run_turn()
    conversation.model = scripted
    assert conversation.query("SELECT stop_cause FROM turns WHERE state = 'stopped'") == [("word",)]
    call_id = LongToolHarness(conversation, conversation.database.clone).begin_call("stop-3")
    ((session_id, turn_id),) = conversation.query(
        f"SELECT t.session_id, t.id FROM turns t JOIN tool_calls c ON c.turn_id = t.id WHERE c.id = '{call_id}'"
    )
    with conversation.database.transaction(conversation.admin) as tx:
        now = conversation.clock()
        result = stop_requests.stop_turn(
            tx, conversation.tenant_id, UUID(str(session_id)), UUID(str(turn_id)), "user", now
        )
    assert (result.state, result.cancelled) == ("answered", 1)
    _join_turn(conversation)


def _join_turn(conversation: ConversationHarness) -> None:
    """A message joins the turn that runs."""
    conversation.query("""UPDATE bindings SET queue = '{"mode": "steer"}' RETURNING id""")
    later = ["And the crane?"]

    def write() -> None:
        if later:
            conversation.send_whatsapp(later.pop(), "join-2")

    conversation.model.before_completion = write
    conversation.model.script = [search_call("crack"), text_answer("Both.")]
    conversation.send_whatsapp("What of the crack?", "join-1")
    conversation.run_turn()
    conversation.model.before_completion = lambda: None
    conversation.query("UPDATE bindings SET queue = '{}' RETURNING id")
