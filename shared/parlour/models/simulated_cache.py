"""A provider's prompt cache as the demo model plays it: which part of a prompt would be read, written or neither."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator

from parlour.infra.json_values import JsonObject, canonical_json
from parlour.models.model import ModelRequest, content_blocks

_SECONDS_KEPT = 300.0
"""How long a provider keeps a prefix after its last use."""

_MAX_PREFIXES = 2_000
_CHARS_PER_TOKEN = 4

_IMAGE_TOKENS = 1_500
"""What an image counts, about; its bytes count for nothing."""


class SimulatedCache:
    """Remembers the prefixes of prompts up to their cache breakpoints, for five minutes. `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._used_at: OrderedDict[bytes, float] = OrderedDict()

    def count(self, request: ModelRequest) -> tuple[int, int, int]:
        """Return the tokens that are neither read nor written, read from the cache, and written to it."""
        now, digest, chars, read, written = self._clock(), hashlib.sha256(), 0, 0, 0
        for block, is_breakpoint in _blocks(request):
            text = canonical_json(block)
            digest.update(text.encode())
            chars += _IMAGE_TOKENS * _CHARS_PER_TOKEN if block.get("type") == "image" else len(text)
            key = digest.digest()
            used_at = self._used_at.get(key)
            if used_at is not None and now - used_at <= _SECONDS_KEPT:
                self._use(key, now)
                read = chars
            if is_breakpoint:
                self._use(key, now)
                written = chars
        total, read, written = (count // _CHARS_PER_TOKEN for count in (chars, read, max(written, read)))
        return total - written, read, written - read

    def _use(self, key: bytes, now: float) -> None:
        self._used_at[key] = now
        self._used_at.move_to_end(key)
        if len(self._used_at) > _MAX_PREFIXES:
            self._used_at.popitem(last=False)


def _blocks(request: ModelRequest) -> Iterator[tuple[JsonObject, bool]]:
    """Yield everything that is sent, in the order of caching, and whether a breakpoint follows."""
    for part in (*request.tools, *request.system):
        yield _without_mark(part), "cache_control" in part
    for message in request.messages:
        role = message.get("role")
        for block in content_blocks(message):
            yield {"role": role, **_without_mark(block)}, "cache_control" in block


def _without_mark(block: JsonObject) -> JsonObject:
    return {name: value for name, value in block.items() if name != "cache_control"}
