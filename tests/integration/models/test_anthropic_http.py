"""The Anthropic adapter against bytes that no well-behaved server sends, and the bytes it sends itself."""

import threading
import time

import pytest

from parlour.infra.errors import ProviderRejected, ProviderUnavailable
from parlour.infra.json_values import JsonObject
from parlour.models.anthropic import AnthropicModel
from parlour.models.model import Completion, ModelRequest, TextDelta, TokenUsage
from tests.integration.models.scripted_http_server import ScriptedHttpServer, ScriptedReply, next_content, sse_event

KEY = "sk-ant-api03-canary-7c1e"
MARK: JsonObject = {"type": "ephemeral"}
REQUEST = ModelRequest(
    model="claude-sonnet-5-5",
    max_tokens=300,
    tools=({"name": "look", "description": "Look.", "input_schema": {"type": "object"}, "cache_control": MARK},),
    system=(
        {"type": "text", "text": "You are Meera. ₹", "cache_control": MARK},
        {"type": "text", "text": "Briefing.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    ),
    messages=(
        {"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": MARK}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]},
        {"role": "user", "content": "plain"},
    ),
)
START = sse_event(
    "message_start", message={"id": "msg_1", "role": "assistant", "content": [], "usage": {"input_tokens": 5}}
)
BLOCK = sse_event("content_block_start", index=0, content_block={"type": "text", "text": ""})
HELLO = sse_event("content_block_delta", index=0, delta={"type": "text_delta", "text": "hello"})
PING = sse_event("ping")
STOP = (
    sse_event("content_block_stop", index=0)
    + sse_event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 2})
    + sse_event("message_stop")
)


def model(scripted_server: ScriptedHttpServer, first_token: float = 8.0) -> AnthropicModel:
    return AnthropicModel(KEY, scripted_server.url, first_token_seconds=first_token)


def test_the_request_arrives_as_it_was_made_with_its_cache_marks(scripted_server: ScriptedHttpServer) -> None:
    scripted_server.scripted_replies = [ScriptedReply([START, BLOCK, HELLO, STOP])]

    list(model(scripted_server).stream(REQUEST, seconds_left=20))

    (sent,) = scripted_server.requests
    assert sent.path == "/v1/messages"
    assert sent.json() == {**REQUEST.to_json(), "stream": True}
    assert sent.body.count(b"cache_control") == 4
    assert KEY.encode() not in sent.body
    assert [name for name, value in sent.headers.items() if KEY in value] == ["authorization"]
    assert sent.headers["x-stainless-retry-count"] == "0"


def test_the_same_request_is_the_same_bytes(scripted_server: ScriptedHttpServer) -> None:
    """A prompt cache matches bytes: neither order nor escapes may change from call to call."""
    scripted_server.scripted_replies = [ScriptedReply([START, BLOCK, HELLO, STOP])] * 2
    adapter = model(scripted_server)

    list(adapter.stream(REQUEST, seconds_left=20))
    list(adapter.stream(REQUEST, seconds_left=20))

    assert scripted_server.requests[0].body == scripted_server.requests[1].body


def test_no_tools_and_no_system_are_left_out(scripted_server: ScriptedHttpServer) -> None:
    scripted_server.scripted_replies = [ScriptedReply([START, BLOCK, HELLO, STOP])]
    bare = ModelRequest("claude-sonnet-5-5", 10, (), (), ({"role": "user", "content": "hello"},))

    list(model(scripted_server).stream(bare, seconds_left=20))

    assert set(scripted_server.requests[0].json()) == {"model", "max_tokens", "messages", "stream"}


def test_more_marks_than_the_api_takes_are_our_mistake(scripted_server: ScriptedHttpServer) -> None:
    marked: JsonObject = {"type": "text", "text": "x", "cache_control": MARK}

    with pytest.raises(ValueError, match="4 cache marks"):
        model(scripted_server).stream(ModelRequest("m", 10, (), (marked,) * 5, ()), seconds_left=20)
    assert scripted_server.requests == []


def test_cached_tokens_are_counted(scripted_server: ScriptedHttpServer) -> None:
    counts = {
        "input_tokens": 7,
        "cache_read_input_tokens": 1_800,
        "cache_creation_input_tokens": 250,
        "output_tokens": 1,
    }
    start = sse_event("message_start", message={"id": "msg_1", "role": "assistant", "content": [], "usage": counts})
    scripted_server.scripted_replies = [ScriptedReply([start, BLOCK, HELLO, STOP])]

    *_, last = model(scripted_server).stream(REQUEST, seconds_left=20)

    assert last == Completion(({"type": "text", "text": "hello"},), "end_turn", TokenUsage(7, 2, 1_800, 250))


@pytest.mark.parametrize("kind", ["overloaded_error", "api_error", "rate_limit_error"])
def test_an_error_within_a_stream_that_passes_is_unavailable(scripted_server: ScriptedHttpServer, kind: str) -> None:
    scripted_server.scripted_replies = [
        ScriptedReply([START, BLOCK, HELLO, sse_event("error", error={"type": kind, "message": "hello secret"})])
    ]
    parts = model(scripted_server).stream(REQUEST, seconds_left=20)

    assert next_content(parts) == TextDelta("hello")
    with pytest.raises(ProviderUnavailable, match=f"200 {kind}$"):
        next_content(parts)


def test_an_error_within_a_stream_that_stays_is_rejected(scripted_server: ScriptedHttpServer) -> None:
    scripted_server.scripted_replies = [
        ScriptedReply([START, sse_event("error", error={"type": "invalid_request_error", "message": "hello"})])
    ]

    with pytest.raises(ProviderRejected, match=r"invalid_request_error$"):
        list(model(scripted_server).stream(REQUEST, seconds_left=20))


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        [START, BLOCK, HELLO],
        [START, BLOCK, HELLO, b'event: content_block_delta\ndata: {"type": "content_bl\n\n'],
        [START, BLOCK, b"event: content_block_delta\ndata: \xff\xfe\n\n"],
        [b"<html>gateway</html>"],
    ],
)
def test_a_stream_without_its_end_or_sense_is_unavailable(
    scripted_server: ScriptedHttpServer, pieces: list[bytes]
) -> None:
    scripted_server.scripted_replies = [ScriptedReply(pieces)]

    with pytest.raises(ProviderUnavailable):
        list(model(scripted_server).stream(REQUEST, seconds_left=20))


def test_pings_do_not_stand_in_for_a_first_token(scripted_server: ScriptedHttpServer) -> None:
    pings: list[bytes | float] = [PING, 0.05] * 100
    scripted_server.scripted_replies = [ScriptedReply([START, *pings, BLOCK, HELLO, STOP])]

    began = time.monotonic()
    with pytest.raises(ProviderUnavailable, match=r"within 0\.4 s"):
        list(model(scripted_server, first_token=0.4).stream(REQUEST, seconds_left=20))
    assert time.monotonic() - began < 2


def test_silence_after_the_first_token_ends_with_the_time_there_is(scripted_server: ScriptedHttpServer) -> None:
    scripted_server.scripted_replies = [ScriptedReply([START, BLOCK, HELLO, 20.0, STOP])]
    parts = model(scripted_server).stream(REQUEST, seconds_left=3.5)

    assert next_content(parts) == TextDelta("hello")
    began = time.monotonic()
    with pytest.raises(ProviderUnavailable, match="did not answer within"):
        next_content(parts)
    assert time.monotonic() - began < 2


def test_a_pause_after_the_first_token_may_be_longer_than_the_first_token_may_take(
    scripted_server: ScriptedHttpServer,
) -> None:
    scripted_server.scripted_replies = [ScriptedReply([START, BLOCK, HELLO, 1.3, STOP])]

    *_, last = model(scripted_server, first_token=1.0).stream(REQUEST, seconds_left=20)

    assert isinstance(last, Completion)


def test_nothing_is_sent_when_no_time_is_left(scripted_server: ScriptedHttpServer) -> None:
    with pytest.raises(ProviderUnavailable, match="no time"):
        list(model(scripted_server).stream(REQUEST, seconds_left=2.0))
    assert scripted_server.requests == []


def test_whoever_stops_listening_hangs_up(scripted_server: ScriptedHttpServer) -> None:
    """A stream nobody reads is still paid for."""
    endless: list[bytes | float] = [HELLO, 0.02] * 500
    scripted_server.scripted_replies = [ScriptedReply([START, BLOCK, *endless])]
    parts = model(scripted_server).stream(REQUEST, seconds_left=20)
    next_content(parts)

    del parts

    assert scripted_server.client_disconnected.wait(5)


def test_many_turns_may_stream_through_one_adapter_at_once(scripted_server: ScriptedHttpServer) -> None:
    scripted_server.scripted_replies = [ScriptedReply([START, BLOCK, HELLO, 0.1, STOP])] * 8
    adapter = model(scripted_server)
    done: list[Completion] = []

    def one() -> None:
        *_, last = adapter.stream(REQUEST, seconds_left=20)
        assert isinstance(last, Completion)
        done.append(last)

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(done) == 8
