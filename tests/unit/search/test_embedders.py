"""The embedding services as they really answer, and as they answer on bad days."""

import io
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import boto3
import httpx2
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from botocore.response import StreamingBody
from botocore.stub import Stubber

from parlour.infra.errors import ProviderRejected, ProviderUnavailable
from parlour.search.index.embedders import (
    BedrockEmbedder,
    OpenAiCompatibleEmbedder,
    Vector,
    embed_query,
    embed_texts,
    space_name,
)

type Answer = Callable[[httpx2.Request], httpx2.Response]


def openai(answer: Answer, key: Callable[[], str | None] = lambda: None) -> OpenAiCompatibleEmbedder:
    return OpenAiCompatibleEmbedder("http://embed.test/v1/", "mini", 2, key, httpx2.MockTransport(answer))


def lengths(request: httpx2.Request) -> httpx2.Response:
    """Answers each text with its length; out of order, as the protocol allows."""
    texts = json.loads(request.content)["input"]
    data = [{"index": index, "embedding": [float(len(text)), 0.0]} for index, text in enumerate(texts)]
    return httpx2.Response(200, json={"data": data[::-1]})


def test_vectors_come_back_in_the_order_of_the_texts() -> None:
    assert openai(lengths).embed(["a", "bbb", "cc"]) == [[1.0, 0.0], [3.0, 0.0], [2.0, 0.0]]


def test_many_texts_go_out_in_batches() -> None:
    sizes: list[int] = []

    def count(request: httpx2.Request) -> httpx2.Response:
        sizes.append(len(json.loads(request.content)["input"]))
        return lengths(request)

    assert len(openai(count).embed(["text"] * 130)) == 130
    assert sizes == [64, 64, 2]


def test_the_request_is_what_such_servers_expect() -> None:
    seen: list[httpx2.Request] = []

    def keep(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return lengths(request)

    openai(keep, key=lambda: "secret").embed(["x" * 20_000])
    (request,) = seen
    assert (request.method, str(request.url)) == ("POST", "http://embed.test/v1/embeddings")
    assert request.headers["authorization"] == "Bearer secret"
    assert json.loads(request.content) == {"model": "mini", "input": ["x" * 8_000], "encoding_format": "float"}


def test_more_texts_are_given_more_time() -> None:
    waits: list[float] = []

    def keep(request: httpx2.Request) -> httpx2.Response:
        waits.append(request.extensions["timeout"]["read"])
        return lengths(request)

    openai(keep).embed(["question"])
    openai(keep).embed(["one", "two", "three"])
    assert waits == [10.0, 12.0]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_service_may_be_tried_again(status: int) -> None:
    with pytest.raises(ProviderUnavailable, match=str(status)):
        openai(lambda _: httpx2.Response(status)).embed(["a"])


@pytest.mark.parametrize("status", [301, 400, 401, 404])
def test_a_refusal_is_for_the_operator(status: int) -> None:
    with pytest.raises(ProviderRejected, match=str(status)):
        openai(lambda _: httpx2.Response(status)).embed(["a"])


def test_silence_may_be_tried_again() -> None:
    def hang(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadTimeout("slow", request=request)

    with pytest.raises(ProviderUnavailable):
        openai(hang).embed(["a"])


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"data": [{"embedding": [1, 2]}]}', b"[]"])
def test_another_protocol_is_recognised(body: bytes) -> None:
    with pytest.raises(ProviderRejected, match="URL"):
        openai(lambda _: httpx2.Response(200, content=body)).embed(["a"])


def test_other_dimensions_say_what_to_set() -> None:
    answer = {"data": [{"index": 0, "embedding": [1.0, 2.0, 3.0]}]}
    with pytest.raises(ProviderRejected, match="EMBEDDING_DIMENSIONS") as refused:
        openai(lambda _: httpx2.Response(200, json=answer)).embed(["a"])
    assert "3 dimensions" in str(refused.value)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "70000", "null", '"1"'])
def test_what_is_no_number_is_the_texts_own_fault(value: str) -> None:
    body = f'{{"data": [{{"index": 0, "embedding": [1.0, {value}]}}]}}'
    with pytest.raises(ProviderRejected, match="no number"):
        openai(lambda _: httpx2.Response(200, content=body)).embed(["a"])


def test_a_missing_vector_is_noticed() -> None:
    with pytest.raises(ProviderRejected, match="0 vectors for 1"):
        openai(lambda _: httpx2.Response(200, json={"data": []})).embed(["a"])


class Bedrock:
    """Answers each text with its length, or with the error it was given."""

    def __init__(self, error: Exception | None = None, body: bytes | None = None) -> None:
        self.error = error
        self.body = body
        self.threads: set[int] = set()

    def invoke_model(self, *, modelId: str, body: str) -> Any:  # noqa: N803
        if self.error:
            raise self.error
        self.threads.add(threading.get_ident())
        text = json.loads(body)["inputText"]
        return {"body": io.BytesIO(self.body or json.dumps({"embedding": [len(text), 1.0]}).encode())}


def test_titan_takes_one_text_per_call_and_keeps_their_order() -> None:
    bedrock = Bedrock()
    texts = ["x" * length for length in range(1, 30)]
    vectors = BedrockEmbedder(bedrock, "amazon.titan-embed-text-v2:0", 2).embed(texts)
    assert [vector[0] for vector in vectors] == list(range(1, 30))
    assert threading.get_ident() not in bedrock.threads


def test_one_text_needs_no_threads() -> None:
    bedrock = Bedrock()
    assert BedrockEmbedder(bedrock, "titan", 2).embed(["abc"]) == [[3, 1.0]]
    assert bedrock.threads == {threading.get_ident()}


def test_no_text_is_no_call() -> None:
    assert BedrockEmbedder(Bedrock(ValueError()), "titan", 2).embed([]) == []


def test_the_request_is_titans() -> None:
    client = boto3.client("bedrock-runtime", "eu-west-1", aws_access_key_id="test", aws_secret_access_key="test")
    body = json.dumps({"inputText": "slab", "dimensions": 256, "normalize": True})
    payload = json.dumps({"embedding": [0.5] * 256, "inputTextTokenCount": 1}).encode()
    answer = {"body": StreamingBody(io.BytesIO(payload), len(payload)), "contentType": "application/json"}
    with Stubber(client) as stubber:
        stubber.add_response("invoke_model", answer, {"modelId": "amazon.titan-embed-text-v2:0", "body": body})
        assert BedrockEmbedder(client, "amazon.titan-embed-text-v2:0", 256).embed(["slab"]) == [[0.5] * 256]


def client_error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "a text that may quote the input"}}, "InvokeModel")


@pytest.mark.parametrize(
    "error",
    [client_error("ThrottlingException"), client_error("ModelTimeoutException"), ReadTimeoutError(endpoint_url="x")],
)
def test_a_busy_bedrock_may_be_tried_again(error: Exception) -> None:
    with pytest.raises(ProviderUnavailable):
        BedrockEmbedder(Bedrock(error), "titan", 2).embed(["a", "b"])


def test_a_bedrock_without_access_is_for_the_operator() -> None:
    with pytest.raises(ProviderRejected, match="AccessDeniedException") as refused:
        BedrockEmbedder(Bedrock(client_error("AccessDeniedException")), "titan", 2).embed(["a"])
    assert "quote" not in str(refused.value)


@pytest.mark.parametrize("body", [b"{}", b"nonsense"])
def test_a_bedrock_answer_without_a_vector_may_be_tried_again(body: bytes) -> None:
    with pytest.raises(ProviderUnavailable):
        BedrockEmbedder(Bedrock(body=body), "titan", 2).embed(["a"])


def test_bedrock_with_other_dimensions_says_what_to_set() -> None:
    with pytest.raises(ProviderRejected, match="EMBEDDING_DIMENSIONS"):
        BedrockEmbedder(Bedrock(), "titan", 512).embed(["a"])


class Counting:
    """Remembers what it was asked."""

    model = "mini"
    dimensions = 1

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked.append(list(texts))
        return [[float(len(text))] for text in texts]


def test_each_different_text_is_embedded_once() -> None:
    embedder = Counting()
    vectors = embed_texts(embedder, ["b", "aa", "b"])
    assert embedder.asked == [["b", "aa"]]
    assert (vectors.space, vectors.by_text) == ("mini@1", {"b": [1.0], "aa": [2.0]})


def test_nothing_to_embed_asks_nobody() -> None:
    embedder = Counting()
    assert embed_texts(embedder, []).by_text == {}
    assert embedder.asked == []


def test_a_question_lies_in_its_embedders_space() -> None:
    assert embed_query(Counting(), "abc") == Vector("mini@1", [3.0])
    assert space_name(Counting()) == "mini@1"
