"""Claude on Bedrock: beside the provider's own client for it, and against bytes of every kind.

The independent server that the other adapters talk to does not wrap its events as Bedrock does, so it cannot stand in.
"""

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import boto3
import pytest
from anthropic import AnthropicBedrock

from parlour.bootstrap import clients
from parlour.infra.errors import ProviderRejected, ProviderUnavailable
from parlour.infra.json_values import JsonObject
from parlour.models.bedrock import BedrockModel
from parlour.models.model import Completion, ModelRequest, StreamPart, TextDelta, TokenUsage
from tests.integration.models.scripted_http_server import (
    ScriptedHttpServer,
    ScriptedReply,
    bedrock_chunk,
    bedrock_exception,
    event_stream_frame,
    next_content,
    without_pauses,
)

if TYPE_CHECKING:
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient

MODEL = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
SECRET = "bedrock-canary-4f1b"
MARK: JsonObject = {"type": "ephemeral"}
PICTURE: JsonObject = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
REQUEST = ModelRequest(
    model=MODEL,
    max_tokens=300,
    tools=({"name": "look", "description": "Look.", "input_schema": {"type": "object"}, "cache_control": MARK},),
    system=({"type": "text", "text": "You are Meera. ₹", "cache_control": MARK},),
    messages=({"role": "user", "content": [PICTURE, {"type": "text", "text": "What is the retention?"}]},),
)
USAGE = {"input_tokens": 7, "cache_read_input_tokens": 1_800, "cache_creation_input_tokens": 250, "output_tokens": 1}
START = bedrock_chunk("message_start", message={"id": "msg_1", "role": "assistant", "content": [], "usage": USAGE})
BLOCK = bedrock_chunk("content_block_start", index=0, content_block={"type": "text", "text": ""})
HELLO = bedrock_chunk("content_block_delta", index=0, delta={"type": "text_delta", "text": "hello"})
CALL = (
    bedrock_chunk("content_block_stop", index=0)
    + bedrock_chunk(
        "content_block_start", index=1, content_block={"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    )
    + bedrock_chunk(
        "content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": '{"at": "\u20b9'}
    )
    + bedrock_chunk("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": ' 5"}'})
    + bedrock_chunk("content_block_stop", index=1)
)
STOP = (
    bedrock_chunk("content_block_stop", index=0)
    + bedrock_chunk("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 2})
    + bedrock_chunk("message_stop", **{"amazon-bedrock-invocationMetrics": {"inputTokenCount": 7}})
)


@pytest.fixture(autouse=True)
def region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # it keeps the credentials that it found once
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


def client(url: str, monkeypatch: pytest.MonkeyPatch) -> "BedrockRuntimeClient":
    """What the orchestrator is given, pointed elsewhere as boto3 lets anybody do."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url)
    return clients.make_bedrock_streaming_client()


@pytest.fixture
def claude(scripted_server: ScriptedHttpServer, monkeypatch: pytest.MonkeyPatch) -> BedrockModel:
    return BedrockModel(client(scripted_server.url, monkeypatch), first_token_seconds=1.0)


def streamed(*pieces: bytes | float | None) -> ScriptedReply:
    return ScriptedReply(pieces, content_type="application/vnd.amazon.eventstream", is_chunked=True)


def refused(status: int, code: str) -> ScriptedReply:
    body = b'{"message": "you asked: What is the retention?"}'
    return ScriptedReply([body], status, "application/json", headers={"x-amzn-errortype": f"{code}:http://internal/"})


def ask(model: BedrockModel, request: ModelRequest = REQUEST, seconds: float = 20) -> list[StreamPart]:
    return list(without_pauses(model.stream(request, seconds_left=seconds)))


def test_anthropics_own_client_sends_and_reads_the_same(
    scripted_server: ScriptedHttpServer, claude: BedrockModel
) -> None:
    """An independent reading of the protocol: the SDK's client for Bedrock, at the same server."""
    usual = streamed(START, BLOCK, HELLO, CALL, STOP)
    scripted_server.scripted_replies = [usual, usual]
    said: dict[str, Any] = REQUEST.to_json()
    sdk = AnthropicBedrock(
        aws_region="eu-central-1",
        aws_access_key="AKIATEST",
        aws_secret_key=SECRET,
        base_url=scripted_server.url,
        max_retries=0,
    )
    with sdk as own, own.messages.stream(**said) as events:
        expected = events.get_final_message().to_dict(mode="json")

    *_, got = ask(claude)

    theirs, ours = scripted_server.requests
    assert unquote(ours.path) == unquote(theirs.path)
    version = {"anthropic_version": "bedrock-2023-05-31"}  # Bedrock's own word; the SDK sends the newest of Anthropic's
    assert {**ours.json(), **version} == {**theirs.json(), **version}
    assert isinstance(got, Completion)
    assert [*got.blocks] == expected["content"]
    assert got.stop_reason == expected["stop_reason"]
    assert got.usage.cache_write_tokens == 250
    assert all(SECRET not in str(sent) for sent in scripted_server.requests)


def test_a_slow_first_token_is_not_waited_for(scripted_server: ScriptedHttpServer, claude: BedrockModel) -> None:
    scripted_server.scripted_replies = [streamed(START, bedrock_chunk("ping"), 5.0, BLOCK, HELLO, STOP)]

    began = time.monotonic()
    with pytest.raises(ProviderUnavailable, match=r"within 1\.0 s"):
        ask(claude)
    assert time.monotonic() - began < 2


def test_text_streams_as_it_comes(scripted_server: ScriptedHttpServer, claude: BedrockModel) -> None:
    scripted_server.scripted_replies = [streamed(START, BLOCK, HELLO, 0.5, HELLO, STOP)]
    parts = claude.stream(REQUEST, seconds_left=20)

    assert next_content(parts) == TextDelta("hello")
    began = time.monotonic()
    assert next_content(parts) == TextDelta("hello")
    assert time.monotonic() - began > 0.3


def test_the_request_is_the_messages_apis_with_its_marks_and_a_version(
    scripted_server: ScriptedHttpServer, claude: BedrockModel
) -> None:
    scripted_server.scripted_replies = [streamed(START, BLOCK, HELLO, STOP)] * 2

    ask(claude)
    ask(claude)

    first, second = scripted_server.requests
    said: dict[str, Any] = {name: value for name, value in REQUEST.to_json().items() if name != "model"}
    assert first.json() == {"anthropic_version": "bedrock-2023-05-31", **said}
    assert first.body == second.body
    assert first.body.count(b"cache_control") == 2
    assert first.path == f"/model/{MODEL.replace(':', '%3A')}/invoke-with-response-stream"


def test_cached_tokens_are_counted(scripted_server: ScriptedHttpServer, claude: BedrockModel) -> None:
    scripted_server.scripted_replies = [streamed(START, BLOCK, HELLO, STOP)]

    assert ask(claude) == [
        TextDelta("hello"),
        Completion(({"type": "text", "text": "hello"},), "end_turn", TokenUsage(7, 2, 1_800, 250)),
    ]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (408, "ModelTimeoutException"),
        (424, "ModelErrorException"),
        (429, "ThrottlingException"),
        (429, "ModelNotReadyException"),
        (500, "InternalServerException"),
        (503, "ServiceUnavailableException"),
        (502, "Whatever"),
    ],
)
def test_what_passes_by_itself_is_unavailable_and_asked_once(
    scripted_server: ScriptedHttpServer, claude: BedrockModel, status: int, code: str
) -> None:
    scripted_server.scripted_replies = [refused(status, code)]

    with pytest.raises(ProviderUnavailable, match=rf"^bedrock answered {status} {code}$"):
        ask(claude)
    assert len(scripted_server.requests) == 1


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "ValidationException"),
        (400, "ServiceQuotaExceededException"),
        (403, "AccessDeniedException"),
        (403, "ExpiredTokenException"),
        (404, "ResourceNotFoundException"),
    ],
)
def test_what_cannot_work_is_rejected_by_status_and_kind_alone(
    scripted_server: ScriptedHttpServer, claude: BedrockModel, status: int, code: str
) -> None:
    scripted_server.scripted_replies = [refused(status, code)]

    with pytest.raises(ProviderRejected) as caught:
        ask(claude)
    assert str(caught.value) == f"bedrock answered {status} {code}"
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "kind",
    [
        "internalServerException",
        "modelStreamErrorException",
        "modelTimeoutException",
        "serviceUnavailableException",
        "throttlingException",
    ],
)
def test_an_error_within_a_stream_that_passes_is_unavailable(
    scripted_server: ScriptedHttpServer, claude: BedrockModel, kind: str
) -> None:
    scripted_server.scripted_replies = [
        streamed(START, BLOCK, HELLO, bedrock_exception(kind, "you asked for the retention"))
    ]
    parts = claude.stream(REQUEST, seconds_left=20)

    assert next_content(parts) == TextDelta("hello")
    with pytest.raises(ProviderUnavailable, match=rf"{kind[1:]}$"):
        next_content(parts)


def test_an_error_within_a_stream_that_stays_is_rejected(
    scripted_server: ScriptedHttpServer, claude: BedrockModel
) -> None:
    scripted_server.scripted_replies = [
        streamed(START, bedrock_exception("validationException", "you asked for the retention"))
    ]

    with pytest.raises(ProviderRejected, match=r"ValidationException$"):
        ask(claude)


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        [START, BLOCK, HELLO],
        [START, BLOCK, HELLO, None],
        [START, BLOCK, HELLO[:-9]],
        [START, BLOCK, HELLO[:-4] + b"\0\0\0\0"],
        [START, event_stream_frame({":event-type": "chunk", ":message-type": "event"}, {"bytes": "bm90IEpTT04="})],
        [b"<html>gateway</html>"],
    ],
    ids=["empty", "ends", "cut", "half a message", "checksum", "not JSON", "a page"],
)
def test_a_stream_without_its_end_or_sense_is_unavailable(
    scripted_server: ScriptedHttpServer, claude: BedrockModel, pieces: list[bytes | float | None]
) -> None:
    scripted_server.scripted_replies = [streamed(*pieces)]

    with pytest.raises(ProviderUnavailable):
        ask(claude)


def test_silence_after_the_first_token_ends_with_the_time_there_is(
    scripted_server: ScriptedHttpServer, claude: BedrockModel
) -> None:
    scripted_server.scripted_replies = [streamed(START, BLOCK, HELLO, 20.0, STOP)]
    parts = claude.stream(REQUEST, seconds_left=3.5)

    assert next_content(parts) == TextDelta("hello")
    began = time.monotonic()
    with pytest.raises(ProviderUnavailable, match="did not answer within"):
        next_content(parts)
    assert time.monotonic() - began < 2


def test_whoever_stops_listening_hangs_up(scripted_server: ScriptedHttpServer, claude: BedrockModel) -> None:
    """A stream nobody reads is still paid for."""
    endless: list[bytes | float] = [HELLO, 0.02] * 500
    scripted_server.scripted_replies = [streamed(START, BLOCK, *endless)]
    parts = claude.stream(REQUEST, seconds_left=20)
    next_content(parts)

    del parts

    assert scripted_server.client_disconnected.wait(5)


def test_nothing_is_sent_when_no_time_is_left(scripted_server: ScriptedHttpServer, claude: BedrockModel) -> None:
    with pytest.raises(ProviderUnavailable, match="no time"):
        ask(claude, seconds=2.0)
    assert scripted_server.requests == []


def test_more_marks_than_the_api_takes_are_our_mistake(
    scripted_server: ScriptedHttpServer, claude: BedrockModel
) -> None:
    marked: JsonObject = {"type": "text", "text": "x", "cache_control": MARK}

    with pytest.raises(ValueError, match="4 cache marks"):
        ask(claude, ModelRequest("m", 10, (), (marked,) * 5, ()))
    assert scripted_server.requests == []


def test_nobody_listening_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProviderUnavailable, match="EndpointConnectionError"):
        ask(BedrockModel(client("http://127.0.0.1:9", monkeypatch)))


def test_a_deployment_without_credentials_is_told_so(
    scripted_server: ScriptedHttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")

    with pytest.raises(ProviderRejected, match="NoCredentialsError"):
        ask(BedrockModel(client(scripted_server.url, monkeypatch)))
