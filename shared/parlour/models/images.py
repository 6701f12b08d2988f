"""Pictures in a prompt: named by where their bytes are until a model is asked, and only then by their bytes.

A prompt and its record name a picture by key and SHA-256 (`{"type": "object", "key", "sha256", "media_type"}`). Just
before a provider is asked that becomes `{"type": "base64", "media_type", "data"}`, the form of Anthropic's API, which
Bedrock's InvokeModelWithResponseStream takes as it is. What is not there any more, or is not what was sent, is said in
words: the same prompt gets the same bytes as long as the picture is kept. So is what cannot be had in a moment: nobody
goes without an answer for a picture's sake.
"""

import base64
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from parlour.infra import log
from parlour.infra.errors import AccessRefused, ObjectsUnavailable
from parlour.infra.json_values import Json, JsonObject
from parlour.models.model import ModelRequest, content_blocks

MAX_PROMPT_IMAGE_BYTES = 12 * 1024 * 1024
"""Of all pictures of one prompt, before base64. Bedrock takes 20 MB in all, Anthropic 32. Prompts are made to hold no
more (`context/history.py`), so that no picture goes without being told of."""

_MAX_CACHE_BYTES = 32 * 1024 * 1024
"""Bytes that are remembered, so that the steps of a turn fetch a picture once."""

_PLACEHOLDER = "[A picture stood here that cannot be opened any more.]"


class _StoreUnavailable(Exception):
    """The shelf cannot be asked now."""


class ImageStore(Protocol):
    """Where pictures are kept."""

    def get(self, key: str, most_bytes: int, /) -> bytes | None: ...


class EmptyImageStore:
    """A shelf without pictures."""

    def get(self, _key: str, _most_bytes: int, /) -> bytes | None:
        """Nothing is there."""


class ImageResolver:
    """Fetches what prompts name. `shelf` is asked for when the first picture is."""

    def __init__(self, open_store: Callable[[], ImageStore] = EmptyImageStore) -> None:
        self._open_store = open_store
        self._cache: OrderedDict[str, bytes] = OrderedDict()

    def resolve_images(self, request: ModelRequest) -> ModelRequest:
        """Return the request with the bytes of its images, the newest first while they fit; words replace all others.

        A store that does not answer is not asked again for this request.
        """
        named = [
            source for message in request.messages for source in map(_stored_source, content_blocks(message)) if source
        ]
        if not named:
            return request
        found, left = dict[str, bytes](), MAX_PROMPT_IMAGE_BYTES
        with suppress(_StoreUnavailable):
            for digest, key in {str(source["sha256"]): str(source["key"]) for source in reversed(named)}.items():
                data = self._fetch(key, digest, left)
                if data is None:
                    continue
                if len(data) > left:
                    break
                found[digest], left = data, left - len(data)
        return _map_images(request, lambda source: _image_block(source, found.get(str(source["sha256"]))))

    def _fetch(self, key: str, digest: str, max_bytes: int) -> bytes | None:
        """Return an image's bytes, or more of them than `max_bytes`; None when it is gone or was replaced."""
        data = self._cache.get(digest) or self._read(key, max_bytes)
        if data is None or len(data) > max_bytes:
            return data
        if hashlib.sha256(data).hexdigest() != digest:
            return None
        self._cache[digest] = data
        self._cache.move_to_end(digest)
        while sum(map(len, self._cache.values())) > _MAX_CACHE_BYTES:
            self._cache.popitem(last=False)
        return data

    def _read(self, key: str, max_bytes: int) -> bytes | None:
        """Read an image; None from a store that refuses access or does not answer, which an alarm reports."""
        try:
            return self._open_store().get(key, max_bytes)
        except (AccessRefused, ObjectsUnavailable) as problem:
            log.warning("images_unavailable", code=problem.code)
            log.count("ImageUnavailable")
            raise _StoreUnavailable from problem


def replace_with_placeholders(request: ModelRequest) -> ModelRequest:
    """Return the request with words in place of its images, for a provider that refuses it, perhaps for an image."""
    return _map_images(request, lambda _: _placeholder_block())


def has_images(request: ModelRequest) -> bool:
    """Whether the request shows a picture."""
    return any(block.get("type") == "image" for message in request.messages for block in content_blocks(message))


def _stored_source(block: JsonObject) -> JsonObject | None:
    source = block.get("source")
    is_named = block.get("type") == "image" and isinstance(source, dict) and source.get("type") == "object"
    return source if is_named and isinstance(source, dict) else None


def _map_images(request: ModelRequest, render: Callable[[JsonObject], JsonObject]) -> ModelRequest:
    return replace(request, messages=tuple(_map_message(one, render) for one in request.messages))


def _map_message(message: JsonObject, render: Callable[[JsonObject], JsonObject]) -> JsonObject:
    if not any(block.get("type") == "image" for block in content_blocks(message)):
        return message
    content: list[Json] = [_map_block(block, render) for block in content_blocks(message)]
    return {**message, "content": content}


def _map_block(block: JsonObject, render: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """Return a block with its image rendered; a cache breakpoint stays."""
    source = block.get("source")
    if block.get("type") != "image" or not isinstance(source, dict):
        return block
    mark: JsonObject = {"cache_control": block["cache_control"]} if "cache_control" in block else {}
    return {**render(source), **mark}


def _image_block(source: JsonObject, data: bytes | None) -> JsonObject:
    if source.get("type") != "object":
        return {"type": "image", "source": source}
    if data is None:
        return _placeholder_block()
    bytes_of: JsonObject = {
        "type": "base64",
        "media_type": source["media_type"],
        "data": base64.b64encode(data).decode("ascii"),
    }
    return {"type": "image", "source": bytes_of}


def _placeholder_block() -> JsonObject:
    return {"type": "text", "text": _PLACEHOLDER}
