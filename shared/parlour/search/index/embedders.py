"""Text to vectors: one port, and the two services behind it.

Vectors of different models, or of one model at different dimensions, do not compare. Each stored vector
therefore names its *space*, and a search looks only into the space its question was embedded in.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import batched
from typing import Any, Protocol

import httpx2
from botocore.exceptions import BotoCoreError, ClientError

from parlour.infra.errors import ProviderRejected, ProviderUnavailable

_BATCH = 64
"""Texts in one request: at about 250 tokens a text this is far below any provider's limit."""

_SECONDS = 10.0
"""For one text, and one second more for each further one. A search falls back to keywords, so it should not wait
long; a model on a busy laptop takes a third of a second for a full text."""

_THREADS = 8
_MAX_CHARS = 8_000
"""Characters sent of one text. Our pieces are far shorter; a record with a very long property is embedded by its
beginning and found by keyword in all of it."""

_BUSY = frozenset(
    {
        "ThrottlingException",
        "ModelTimeoutException",
        "ModelNotReadyException",
        "ServiceUnavailableException",
        "InternalServerException",
    }
)


_MAX_VALUE = 65_504.0
"""What a number of half precision can be, as the indexes keep them (infra/vector_indexes.py)."""


class Embedder(Protocol):
    """A model that turns each text into `dimensions` numbers.

    `embed` returns one vector per text, in order; it raises ProviderUnavailable when the service did not
    answer and ProviderRejected when somebody has to correct the configuration.
    """

    @property
    def model(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], /) -> list[list[float]]: ...


@dataclass(frozen=True, slots=True)
class Vector:
    """A point, and the space it lies in."""

    space: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of some texts, all in one space."""

    space: str
    by_text: Mapping[str, Sequence[float]]


def space_name(embedder: Embedder) -> str:
    """Return the name of an embedder's space: model and dimensions."""
    return f"{embedder.model}@{embedder.dimensions}"


def embed_texts(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Embed each different text once. Call it while no transaction is open: it waits for a service."""
    different = list(dict.fromkeys(texts))
    vectors = embedder.embed(different) if different else []
    return Vectors(space_name(embedder), dict(zip(different, vectors, strict=True)))


def embed_query(embedder: Embedder, text: str) -> Vector:
    """Return the vector of one question."""
    return Vector(space_name(embedder), embedder.embed([text])[0])


class OpenAiCompatibleEmbedder:
    """`POST {base_url}/embeddings` as OpenAI, vLLM, Ollama and Parlour's own local server answer it.

    `dimensions` is what the model gives and is checked, not asked for: many servers refuse to be asked. `key` is read
    for every request; None where the endpoint wants none.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        dimensions: int,
        key: Callable[[], str | None] = lambda: None,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self.model = model
        self.dimensions = dimensions
        self._url = f"{base_url.rstrip('/')}/embeddings"
        self._key = key
        self._client = httpx2.Client(transport=transport)

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        """One vector per text, in order."""
        return [vector for batch in batched(texts, _BATCH, strict=False) for vector in self._ask(batch)]

    def _ask(self, batch: Sequence[str]) -> list[list[float]]:
        body = {"model": self.model, "input": [text[:_MAX_CHARS] for text in batch], "encoding_format": "float"}
        try:
            key = self._key()
            response = self._client.post(
                self._url,
                json=body,
                headers={"Authorization": f"Bearer {key}"} if key else {},
                timeout=httpx2.Timeout(_SECONDS + len(batch) - 1, connect=2.0),
            )
        except httpx2.TransportError as error:
            raise ProviderUnavailable("the embedding service did not answer; it will be tried again") from error
        status = response.status_code
        if status == 429 or status >= 500:
            raise ProviderUnavailable(f"the embedding service answered {status}; it will be tried again")
        if status >= 300:
            raise ProviderRejected(f"the embedding service answered {status}; check its URL, key and model name")
        try:
            data = sorted(response.json()["data"], key=lambda item: item["index"])
            vectors = [item["embedding"] for item in data]
        except (ValueError, KeyError, TypeError) as error:
            raise ProviderRejected("the embedding service's answer is not OpenAI's; check its URL") from error
        return _checked(vectors, len(batch), self.dimensions)


class BedrockRuntime(Protocol):
    """The one call made of boto3's bedrock-runtime client (which may be used from several threads)."""

    def invoke_model(self, *, modelId: str, body: str) -> Any: ...  # noqa: N803 - the client's own name


class BedrockEmbedder:
    """Amazon Titan Text Embeddings V2 on Bedrock: one text per call, so several calls at a time."""

    def __init__(self, client: BedrockRuntime, model: str, dimensions: int) -> None:
        self.model = model
        self.dimensions = dimensions
        self._client = client

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        """One vector per text, in order."""
        if len(texts) == 1:
            return [self._ask(texts[0])]
        with ThreadPoolExecutor(_THREADS) as pool:
            return list(pool.map(self._ask, texts))

    def _ask(self, text: str) -> list[float]:
        body = {"inputText": text[:_MAX_CHARS], "dimensions": self.dimensions, "normalize": True}
        try:
            answer = self._client.invoke_model(modelId=self.model, body=json.dumps(body))
            vector = json.loads(answer["body"].read())["embedding"]
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in _BUSY:
                raise ProviderUnavailable(f"Bedrock answered {code}; it will be tried again") from error
            raise ProviderRejected(f"Bedrock answered {code}; check the model's name, region and access") from error
        except (BotoCoreError, ValueError, KeyError) as error:
            raise ProviderUnavailable("Bedrock gave no vector; it will be tried again") from error
        return _checked([vector], 1, self.dimensions)[0]


def _checked(vectors: list[list[float]], count: int, dimensions: int) -> list[list[float]]:
    if len(vectors) != count:
        raise ProviderRejected(f"the embedding service gave {len(vectors)} vectors for {count} texts")
    if wrong := {len(vector) for vector in vectors} - {dimensions}:
        raise ProviderRejected(f"the model gives {wrong.pop()} dimensions; set EMBEDDING_DIMENSIONS to that")
    if not all((isinstance(value, int | float) and abs(value) <= _MAX_VALUE) for vector in vectors for value in vector):
        raise ProviderRejected("the embedding service gave what is no number; its model cannot embed this text")
    return vectors
