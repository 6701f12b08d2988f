"""What a model thinks, through both adapters at a real server: sent back signed, shown to members only."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import boto3
import pytest

from parlour.bootstrap import clients
from parlour.conversations import event_feed, turn_views
from parlour.conversations.turn_runner import run_session
from parlour.infra.json_values import JsonObject
from parlour.models.anthropic import AnthropicModel
from parlour.models.bedrock import BedrockModel
from parlour.models.model import Model, ModelRequest, ReasoningDelta, StreamPart
from parlour.principal import Principal
from parlour.testing.doubles import ScriptedModel
from tests.conversation_harness import ConversationHarness, TickingClock, text_answer
from tests.integration.models.scripted_http_server import (
    ScriptedHttpServer,
    ScriptedReply,
    bedrock_chunk,
    sse_event,
)

_THOUGHTS = ("The crack is a record.", "It says 0.4 mm; my instructions forbid advice.")
_REPLY = "It is 0.4 mm wide."
_SEARCH: JsonObject = {"type": "tool_use", "id": "call_1", "name": "search_knowledge", "input": {}}


@pytest.fixture
def server() -> Iterator[ScriptedHttpServer]:
    wire = ScriptedHttpServer()
    yield wire
    wire.close()


@pytest.fixture(params=["anthropic", "bedrock"])
def thinking_desk(
    request: pytest.FixtureRequest,
    conversation: ConversationHarness,
    server: ScriptedHttpServer,
    monkeypatch: pytest.MonkeyPatch,
) -> ConversationHarness:
    """The site desk, whose model thinks, calls a tool, thinks again and answers, at either provider."""
    encode, content_type = (
        (sse_event, "text/event-stream")
        if request.param == "anthropic"
        else (bedrock_chunk, "application/vnd.amazon.eventstream")
    )
    conversation.model = _adapter(request.param, server.url, monkeypatch)  # type: ignore[assignment]
    answers = [_answer(encode, _THOUGHTS[0], _SEARCH), _answer(encode, _THOUGHTS[1], {"type": "text", "text": ""})]
    server.scripted_replies = [ScriptedReply([one], content_type=content_type) for one in answers * 2]
    routing = {"default": {"provider": request.param, "model": "claude-test", "thinking": "adaptive"}}
    conversation.query(f"UPDATE agents SET model_routing = '{json.dumps(routing)}' RETURNING id")
    return conversation


def _adapter(provider: str, url: str, monkeypatch: pytest.MonkeyPatch) -> Model:
    if provider == "anthropic":
        return AnthropicModel("sk-ant-test", url)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    for name, value in (("DEFAULT_REGION", "eu-central-1"), ("ACCESS_KEY_ID", "AKIATEST"), ("SECRET_ACCESS_KEY", "x")):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url)
    return BedrockModel(clients.make_bedrock_streaming_client())


def _answer(encode: Callable[..., bytes], thought: str, block: JsonObject) -> bytes:
    is_call = block["type"] == "tool_use"
    delta = (
        {"type": "input_json_delta", "partial_json": '{"query": "crack at C4"}'}
        if is_call
        else {"type": "text_delta", "text": _REPLY}
    )
    pieces = [thought[:9], thought[9:]]
    return b"".join(
        [
            encode("message_start", message={"role": "assistant", "content": [], "usage": {"input_tokens": 5}}),
            encode("content_block_start", index=0, content_block={"type": "thinking", "thinking": "", "signature": ""}),
            *(
                encode("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": piece})
                for piece in pieces
            ),
            encode(
                "content_block_delta", index=0, delta={"type": "signature_delta", "signature": f"sig {thought[:3]}"}
            ),
            encode("content_block_stop", index=0),
            encode("content_block_start", index=1, content_block=block),
            encode("content_block_delta", index=1, delta=delta),
            encode("content_block_stop", index=1),
            encode(
                "message_delta",
                delta={"stop_reason": "tool_use" if is_call else "end_turn"},
                usage={"output_tokens": 2},
            ),
            encode("message_stop"),
        ]
    )


def run_turn(desk: ConversationHarness) -> None:
    dependencies = desk.make_dependencies()
    model: Any = desk.model
    run_session(replace(dependencies, models={model.provider: model}), desk.list_wakes()[-1], lambda: 60.0)


def feed(desk: ConversationHarness, reader: Principal, session_id: UUID) -> list[tuple[str, JsonObject]]:
    with desk.database.transaction(desk.tenant_id) as tx:
        return [(one.kind, one.payload) for one in event_feed.list_events(reader, tx, session_id, 0)]


def reasoning(events: Sequence[tuple[str, JsonObject]]) -> list[JsonObject]:
    return [payload for kind, payload in events if kind == "reasoning_delta"]


def test_a_tool_loop_sends_the_signed_reasoning_back_and_the_next_turn_has_none_of_it(
    thinking_desk: ConversationHarness, server: ScriptedHttpServer
) -> None:
    visitor = thinking_desk.create_visitor()
    session_id = thinking_desk.find_session(visitor)
    thinking_desk.send_web(visitor, session_id, "How wide is the crack at C4?")
    run_turn(thinking_desk)
    asked, again = (one.json() for one in server.requests)
    assert asked["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert asked["max_tokens"] > 1_500
    assistant, results = again["messages"][-2:]
    signed = {"type": "thinking", "thinking": _THOUGHTS[0], "signature": "sig The"}
    assert assistant["content"] == [signed, {**_SEARCH, "input": {"query": "crack at C4"}}]
    assert results["content"][0]["tool_use_id"] == "call_1"
    thinking_desk.send_web(visitor, session_id, "And at C5?")
    run_turn(thinking_desk)
    assert [thought in server.requests[2].body.decode() for thought in _THOUGHTS] == [False, False]


def test_members_follow_the_reasoning_and_visitors_do_not(thinking_desk: ConversationHarness) -> None:
    visitor = thinking_desk.create_visitor()
    session_id = thinking_desk.find_session(visitor)
    thinking_desk.send_web(visitor, session_id, "How wide is the crack at C4?")
    run_turn(thinking_desk)
    seen = feed(thinking_desk, thinking_desk.admin, session_id)
    assert reasoning(seen) == [{"text": _THOUGHTS[0], "block": 1}, {"text": _THOUGHTS[1], "block": 2}]
    ended = [payload for kind, payload in seen if kind == "reasoning_end"]
    assert [payload["block"] for payload in ended] == [1, 2]
    kinds = [kind for kind, _ in seen]
    assert kinds.index("reasoning_end") < kinds.index("tool_call")
    assert kinds.index("text_delta") > len(kinds) - kinds[::-1].index("reasoning_end") - 1
    unseen = feed(thinking_desk, visitor, session_id)
    assert unseen == [(kind, payload) for kind, payload in seen if not kind.startswith("reasoning")]
    member = replace(visitor, roles=frozenset({"viewer"}))
    assert feed(thinking_desk, member, session_id) == seen
    with thinking_desk.database.transaction(thinking_desk.tenant_id) as tx:
        transcript = turn_views.read_transcript(thinking_desk.admin, tx, session_id, 10)
    assert [one.text for one in transcript] == ["How wide is the crack at C4?", _REPLY]


class SlowThinker(ScriptedModel):
    """Thinks for two seconds before it answers."""

    def __init__(self, clock: TickingClock) -> None:
        super().__init__()
        self._clock = clock

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        for piece in ("It ", "is ", "a ", "record."):
            yield ReasoningDelta(piece)
            self._clock.now += timedelta(seconds=0.5)
        yield from super().stream(request, seconds_left=seconds_left)


def test_reasoning_is_committed_once_a_second(conversation: ConversationHarness) -> None:
    conversation.model = SlowThinker(conversation.clock)
    conversation.model.script = [text_answer(_REPLY)]
    session_id = conversation.find_session(visitor := conversation.create_visitor())
    conversation.send_web(visitor, session_id, "How wide is the crack at C4?")
    conversation.run_turn()
    pieces = [payload["text"] for payload in reasoning(feed(conversation, conversation.admin, session_id))]
    assert pieces == ["It is a ", "record."]


def test_nothing_of_it_goes_to_a_phone(thinking_desk: ConversationHarness) -> None:
    thinking_desk.send_whatsapp("How wide is the crack at C4?")
    run_turn(thinking_desk)
    assert thinking_desk.query("SELECT count(*) FROM events WHERE kind LIKE 'reasoning%'") == [(0,)]
    bodies = thinking_desk.query("SELECT m.body FROM outbox o JOIN messages m ON m.id = o.message_id")
    assert bodies == [(_REPLY,)]
