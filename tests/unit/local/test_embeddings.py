"""The laptop's embedding model, in the process and behind its OpenAI-compatible door."""

import base64
import struct

import psutil
import pytest
from fastapi.testclient import TestClient

from local import stack
from local.embeddings import MiniLmEmbedder, build_app


@pytest.fixture(scope="module")
def embedder() -> MiniLmEmbedder:
    return MiniLmEmbedder()


@pytest.fixture(scope="module")
def client(embedder: MiniLmEmbedder) -> TestClient:
    return TestClient(build_app(embedder))


def likeness(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_vectors_have_length_one_and_the_promised_dimensions(embedder: MiniLmEmbedder) -> None:
    (vector,) = embedder.embed(["The slab was poured on Tuesday."])
    assert len(vector) == embedder.dimensions
    assert likeness(vector, vector) == pytest.approx(1, abs=1e-5)


def test_nothing_is_reported_home(embedder: MiniLmEmbedder) -> None:
    embedder.embed(["anything"])
    opened = [file.path for file in psutil.Process().open_files()]
    assert not [path for path in opened if "onnxruntime.db" in path]


def test_the_stack_deploys_with_the_model_that_is_served(embedder: MiniLmEmbedder) -> None:
    assert (embedder.model, embedder.dimensions) == (stack.EMBEDDING_MODEL, stack.EMBEDDING_DIMENSIONS)


def test_a_question_is_nearer_to_its_answer_than_to_something_else(embedder: MiniLmEmbedder) -> None:
    question, answer, other = embedder.embed(
        ["When was the concrete poured?", "The slab was poured on Tuesday.", "The invoice was paid by cheque."]
    )
    assert likeness(question, answer) > likeness(question, other) + 0.2


def test_a_batch_gives_the_vectors_of_its_texts_alone_and_in_order(embedder: MiniLmEmbedder) -> None:
    texts = [f"{'word ' * (index % 7)}number {index}" for index in range(40)]
    together = embedder.embed(texts)
    for text, vector in zip(texts[::9], together[::9], strict=True):
        assert likeness(vector, embedder.embed([text])[0]) > 0.995


def test_no_text_gives_no_vector(embedder: MiniLmEmbedder) -> None:
    assert embedder.embed([]) == []


def test_a_text_longer_than_the_model_reads_is_cut(embedder: MiniLmEmbedder) -> None:
    assert embedder.count_tokens(["word " * 10_000]) == 256


def test_the_server_gives_the_same_vectors_as_numbers_and_as_base64(
    client: TestClient, embedder: MiniLmEmbedder
) -> None:
    request = {"model": embedder.model, "input": ["one", "two"]}
    numbers = client.post("/v1/embeddings", json=request).json()
    packed = client.post("/v1/embeddings", json={**request, "encoding_format": "base64"}).json()
    unpacked = struct.unpack("<384f", base64.b64decode(packed["data"][1]["embedding"]))
    assert unpacked == pytest.approx(numbers["data"][1]["embedding"], abs=1e-7)
    assert [entry["index"] for entry in numbers["data"]] == [0, 1]
    assert numbers["usage"]["prompt_tokens"] == 6


@pytest.mark.parametrize(
    ("request_body", "status"),
    [
        ({"model": "text-embedding-3-small", "input": "x"}, 404),
        ({"model": "all-MiniLM-L6-v2", "input": []}, 400),
        ({"model": "all-MiniLM-L6-v2", "input": ["x", ""]}, 400),
        ({"model": "all-MiniLM-L6-v2"}, 422),
    ],
)
def test_requests_that_cannot_be_served_are_refused(
    client: TestClient, request_body: dict[str, object], status: int
) -> None:
    assert client.post("/v1/embeddings", json=request_body).status_code == status
