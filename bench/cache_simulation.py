"""What prompts cost to read in, by what a provider's cache can serve of them.

Everything is counted in bytes of UTF-8, of the canonical JSON of tools, system and messages in this order; 4 bytes
count as a token where a model's minimum is given in tokens. A byte that is read from the cache costs 0.1, one that is
written to it 1.25, any other 1. What is cached lives for five minutes after its last use.

floor     what somebody would pay who knew the conversation to its end: of every prompt, bytes that a live earlier
          prompt began with cost 0.1, new ones that a live later prompt begins with 1.25, all others 1.
charged   what a provider charges for the marks that were set: it reads the longest live prefix that was marked before
          and ends within 20 blocks back from one of the prompt's marks, and writes up to the prompt's last mark.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from parlour.infra.json_values import JsonObject, canonical_json
from parlour.prompts.assembly.breakpoints import LOOK_BACK_BLOCKS, READ_PRICE_FACTOR, WRITE_PRICE_FACTOR
from parlour.prompts.assembly.briefing_cache import CACHE_LIFETIME
from parlour.prompts.assembly.rendering import Prompt

BYTES_PER_TOKEN = 4
_LIVES = CACHE_LIFETIME.total_seconds()


@dataclass(frozen=True, slots=True)
class Sent:
    """A prompt as it was sent.

    turn   of the conversation; `at` in seconds since its beginning.
    bytes  without its marks; `ends` is where each block ends, `marks` after how many blocks it is marked.
    least  bytes of the shortest prefix that its model caches.
    """

    turn: int
    at: float
    bytes: bytes
    ends: tuple[int, ...]
    marks: tuple[int, ...]
    least: int


@dataclass(frozen=True, slots=True)
class Cost:
    """Bytes of a prompt by what they cost."""

    read: int
    written: int
    plain: int

    @property
    def total(self) -> float:
        """In bytes at full price."""
        return self.read * READ_PRICE_FACTOR + self.written * WRITE_PRICE_FACTOR + self.plain

    @property
    def size(self) -> int:
        """What it costs without any caching."""
        return self.read + self.written + self.plain


def sent(prompt: Prompt, turn: int, at: float, minimum: int) -> Sent:
    """A prompt laid out as bytes; `minimum` in tokens."""
    parts, ends, marks = [b"{"], [], []
    size = 1

    def add(text: str) -> None:
        nonlocal size
        parts.append(text.encode())
        size += len(parts[-1])

    def blocks(given: Sequence[object]) -> None:
        for place, block in enumerate(given):
            assert isinstance(block, dict)
            bare = {key: value for key, value in block.items() if key != "cache_control"}
            add(("," if place else "") + canonical_json(bare))
            ends.append(size)
            if len(bare) < len(block):
                marks.append(len(ends))

    add('"tools":[')
    blocks(prompt.tools)
    add('],"system":[')
    blocks(prompt.system)
    add('],"messages":[')
    for place, message in enumerate(prompt.messages):
        add(("," if place else "") + '{"content":[')
        blocks(_content(message))
        add(f'],"role":"{message["role"]}"}}')
    add("]}")
    return Sent(turn, at, b"".join(parts), tuple(ends), tuple(marks), minimum * BYTES_PER_TOKEN)


def _content(message: JsonObject) -> Sequence[object]:
    content = message["content"]
    assert isinstance(content, list)
    return content


def floor(prompts: Sequence[Sent]) -> list[Cost]:
    """What each prompt of a conversation costs somebody who knows what comes."""
    costs = []
    for number, one in enumerate(prompts):
        read = _longest(one, [other for other in prompts[:number] if one.at - other.at <= _LIVES])
        reused = _longest(one, [other for other in prompts[number + 1 :] if other.at - one.at <= _LIVES])
        written = max(0, reused - read)
        costs.append(Cost(read, written, len(one.bytes) - read - written))
    return costs


def charged(prompts: Sequence[Sent]) -> list[Cost]:
    """What a provider charges for each prompt of a conversation, for the marks that it carries."""
    live: dict[bytes, float] = {}
    costs = []
    for one in prompts:
        near = {place for mark in one.marks for place in range(max(1, mark - LOOK_BACK_BLOCKS + 1), mark + 1)}
        seen = [place for place in near if one.at - live.get(_key(one, place), one.at - _LIVES - 1) <= _LIVES]
        read = max(seen, default=0)
        marks = [mark for mark in one.marks if one.ends[mark - 1] >= one.least]
        for place in {read, *marks} - {0}:
            live[_key(one, place)] = one.at
        end = one.ends[read - 1] if read else 0
        written = max(0, one.ends[marks[-1] - 1] - end) if marks else 0
        costs.append(Cost(end, written, len(one.bytes) - end - written))
    return costs


def _longest(one: Sent, others: Sequence[Sent]) -> int:
    longest = max((_shared(one.bytes, other.bytes) for other in others), default=0)
    return longest if longest >= one.least else 0


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin with alike."""
    same, different = 0, min(len(one), len(other)) + 1
    while different - same > 1:
        middle = (same + different) // 2
        if one[same:middle] == other[same:middle]:
            same = middle
        else:
            different = middle
    return same


def _key(one: Sent, blocks: int) -> bytes:
    return sha256(one.bytes[: one.ends[blocks - 1]]).digest()
