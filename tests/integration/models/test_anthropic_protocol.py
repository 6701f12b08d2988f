"""The Anthropic adapter against an independent implementation of the protocol."""

import time
from contextlib import closing

import pytest

from parlour.infra.errors import ProviderRejected, ProviderUnavailable
from parlour.infra.json_values import JsonObject
from parlour.models.anthropic import AnthropicModel
from parlour.models.fallback import RetryTiming, ask_with_fallback
from parlour.models.model import (
    Completion,
    ModelAttempt,
    ModelRequest,
    ReasoningDelta,
    StreamPart,
    StreamReset,
    TextDelta,
    TokenUsage,
)
from parlour.models.model_routing import ModelChoice
from tests.integration.models.aimock import ProtocolServer
from tests.integration.models.scripted_http_server import without_pauses

KEY = "sk-ant-api03-canary-7c1e"
MODEL = "claude-sonnet-5-5"
ANSWER = "The retention is 5% of every bill, up to 2,50,000 INR. 👷 [3]"
SEARCH: JsonObject = {
    "name": "search_knowledge",
    "description": "Search the documents.",
    "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}},
}


def asking(*messages: JsonObject) -> ModelRequest:
    said = messages or ({"role": "user", "content": [{"type": "text", "text": "What is the retention?"}]},)
    return ModelRequest(MODEL, 300, (SEARCH,), ({"type": "text", "text": "Be brief."},), said)


def stream(
    server: ProtocolServer, request: ModelRequest | None = None, *, first_token: float = 8.0
) -> list[StreamPart]:
    with closing(AnthropicModel(KEY, server.url, first_token_seconds=first_token)) as model:
        return list(without_pauses(model.stream(request or asking(), seconds_left=20)))


def test_text_streams_in_pieces_and_ends_whole(protocol_server: ProtocolServer) -> None:
    usage = {"input_tokens": 31, "output_tokens": 17}
    protocol_server.add_answer({"userMessage": "retention"}, {"content": ANSWER, "usage": usage}, chunkSize=7)

    *deltas, last = stream(protocol_server)

    assert len(deltas) > 5
    assert last == Completion(({"type": "text", "text": ANSWER},), "end_turn", TokenUsage(31, 17))


def test_a_tool_is_asked_for_and_its_result_answered(protocol_server: ProtocolServer) -> None:
    wanted = {"name": "search_knowledge", "arguments": '{"query": "retention \\u20b9 2,50,000", "limit": 4}'}
    protocol_server.add_answer({"hasToolResult": False}, {"toolCalls": [wanted]}, chunkSize=5)
    protocol_server.add_answer({"toolResultContains": "five per cent"}, {"content": ANSWER})
    question: JsonObject = {"role": "user", "content": "What is the retention?"}

    (asked,) = stream(protocol_server, asking(question))

    assert isinstance(asked, Completion)
    assert asked.stop_reason == "tool_use"
    (call,) = asked.blocks
    assert call["type"] == "tool_use"
    assert call["name"] == "search_knowledge"
    assert call["input"] == {"query": "retention ₹ 2,50,000", "limit": 4}
    found: JsonObject = {"type": "tool_result", "tool_use_id": call["id"], "content": "five per cent [3]"}
    *_, answered = stream(
        protocol_server,
        asking(question, {"role": "assistant", "content": [*asked.blocks]}, {"role": "user", "content": [found]}),
    )
    assert isinstance(answered, Completion)
    assert answered.blocks == ({"type": "text", "text": ANSWER},)


def test_text_may_come_before_several_tools(protocol_server: ProtocolServer) -> None:
    blocks = [
        {"type": "text", "text": "Let me look."},
        {"type": "toolCall", "name": "search_knowledge", "arguments": {"query": "one"}},
        {"type": "toolCall", "name": "search_knowledge", "arguments": {"query": "two"}},
    ]
    protocol_server.add_answer({"userMessage": "retention"}, {"blocks": blocks})

    *_, last = stream(protocol_server)

    assert isinstance(last, Completion)
    assert [block["type"] for block in last.blocks] == ["text", "tool_use", "tool_use"]
    assert [block.get("input") for block in last.blocks] == [None, {"query": "one"}, {"query": "two"}]
    assert last.blocks[1]["id"] != last.blocks[2]["id"]


def test_thinking_comes_back_whole_and_apart_from_the_text(protocol_server: ProtocolServer) -> None:
    protocol_server.add_answer({"userMessage": "retention"}, {"content": "5%", "reasoning": "Look at clause 9."})

    *deltas, last = stream(protocol_server)

    assert isinstance(last, Completion)
    assert "".join(one.text for one in deltas if isinstance(one, ReasoningDelta)) == "Look at clause 9."
    assert [one for one in deltas if not isinstance(one, ReasoningDelta)] == [TextDelta("5%")]
    thinking, text = last.blocks
    assert thinking["thinking"] == "Look at clause 9."
    assert thinking["signature"]
    assert text == {"type": "text", "text": "5%"}


def test_a_cut_answer_says_that_it_was_cut(protocol_server: ProtocolServer) -> None:
    protocol_server.add_answer({"userMessage": "retention"}, {"content": "The reten", "finishReason": "length"})

    *_, last = stream(protocol_server)

    assert isinstance(last, Completion)
    assert last.stop_reason == "max_tokens"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (408, "timeout_error"),
        (409, "conflict_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (503, "api_error"),
        (529, "overloaded_error"),
    ],
)
def test_what_passes_by_itself_is_unavailable(protocol_server: ProtocolServer, status: int, kind: str) -> None:
    protocol_server.add_answer(
        {"userMessage": "retention"}, {"error": {"type": kind, "message": f"no: {ANSWER}"}, "status": status}
    )

    with pytest.raises(ProviderUnavailable, match=rf"anthropic answered {status} {kind}$"):
        stream(protocol_server)
    assert len(protocol_server.list_requests()) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (422, "invalid_request_error"),
    ],
)
def test_what_cannot_work_is_rejected_by_status_and_kind_alone(
    protocol_server: ProtocolServer, status: int, kind: str
) -> None:
    protocol_server.add_answer(
        {"userMessage": "retention"}, {"error": {"type": kind, "message": f"bad: {ANSWER} {KEY}"}, "status": status}
    )

    with pytest.raises(ProviderRejected) as caught:
        stream(protocol_server)
    assert str(caught.value) == f"anthropic answered {status} {kind}"
    assert caught.value.__cause__ is None


def test_a_cut_stream_is_unavailable(protocol_server: ProtocolServer) -> None:
    protocol_server.add_answer(
        {"userMessage": "retention"}, {"content": ANSWER}, chunkSize=5, latency=5, truncateAfterChunks=5
    )

    with pytest.raises(ProviderUnavailable):
        stream(protocol_server)


def test_a_slow_first_token_is_not_waited_for(protocol_server: ProtocolServer) -> None:
    protocol_server.add_answer({"userMessage": "retention"}, {"content": ANSWER}, streamingProfile={"ttft": 5_000})

    began = time.monotonic()
    with pytest.raises(ProviderUnavailable, match=r"within 0\.3 s"):
        stream(protocol_server, first_token=0.3)
    assert time.monotonic() - began < 2


def test_nobody_listening_is_unavailable() -> None:
    model = AnthropicModel(KEY, "http://127.0.0.1:9")

    with pytest.raises(ProviderUnavailable, match="APIConnectionError"):
        list(model.stream(asking(), seconds_left=20))


def test_the_key_goes_into_its_header_and_nowhere_else(protocol_server: ProtocolServer) -> None:
    protocol_server.add_answer({"userMessage": "retention"}, {"content": ANSWER})

    stream(protocol_server)

    (request,) = protocol_server.list_requests()
    assert request["path"].startswith("/v1/messages")
    assert KEY not in str(request["body"])
    assert request["body"]["model"] == MODEL


def test_an_overload_is_retried_and_a_broken_answer_taken_back(protocol_server: ProtocolServer) -> None:
    overloaded = {"error": {"type": "overloaded_error", "message": "busy"}, "status": 529}
    first, second = ({"userMessage": "retention", "model": MODEL, "sequenceIndex": index} for index in (0, 1))
    protocol_server.add_answer(first, overloaded)
    protocol_server.add_answer(second, {"content": ANSWER}, chunkSize=5, latency=5, truncateAfterChunks=5)
    protocol_server.add_answer({"userMessage": "retention", "model": "claude-haiku-5-5"}, {"content": ANSWER})
    choices = [ModelChoice("anthropic", MODEL), ModelChoice("anthropic", "claude-haiku-5-5")]

    with closing(AnthropicModel(KEY, protocol_server.url)) as model:
        parts = list(
            ask_with_fallback(
                choices,
                {"anthropic": model},
                asking(),
                timing=RetryTiming(seconds_left=30, sleep=lambda _: None, jitter=lambda low, _: low),
                before_attempt=lambda _: None,
            )
        )

    attempts = [part for part in parts if isinstance(part, ModelAttempt)]
    assert [(attempt.model, attempt.outcome) for attempt in attempts] == [
        (MODEL, "unavailable"),
        (MODEL, "unavailable"),
        ("claude-haiku-5-5", "ok"),
    ]
    shown = parts[parts.index(StreamReset()) :]
    assert "".join(part.text for part in shown if isinstance(part, TextDelta)) == ANSWER
