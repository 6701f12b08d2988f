"""What is really looked for when somebody asks. Pure."""

import re
from collections.abc import Sequence

from parlour.text.words import content_words, word_list, word_parts

_MAX_EXPANSION_CHARS = 500
"""Characters of the turn before: small embedding models read about a thousand, and the question itself comes first."""

_POINTERS = word_list("it its that this they them their those these he she him his her same one ones former latter")
_CONTINUES = re.compile(r"(?:and|but|or|then|also|what about|how about)\b", re.IGNORECASE)


def select_expansion(query: str, previous: Sequence[str]) -> Sequence[str]:
    """Return what the user wrote last, when their question refers to it, continues it, or names next to nothing.

    `previous`: what they wrote, oldest first, perhaps with the question itself.
    """
    words = {part.casefold() for part in word_parts(query)}
    is_vague = not _POINTERS.isdisjoint(words) or _CONTINUES.match(query) or len(content_words(query)) < 2
    return _texts_before(query, previous) if is_vague else []


def select_model_expansion(query: str, previous: Sequence[str]) -> Sequence[str]:
    """Return what the user wrote last, when a model's query has no content word of its own.

    A model knows the conversation: where its query says "it", the same query says what that is.
    """
    return _texts_before(query, previous) if _POINTERS.issuperset(content_words(query)) else []


def _texts_before(query: str, previous: Sequence[str]) -> Sequence[str]:
    before = "\n".join(text.strip() for text in previous if text.strip() and text.strip() != query)
    return [before] if before else []


def expand_query(query: str, previous: Sequence[str] = ()) -> str:
    """Return the question with the turn before it, because "and the second one?" names nothing.

    It is searched beside the question alone, and shown. `previous`: what the same person wrote before, oldest first.
    """
    before = previous[-1].strip()[-_MAX_EXPANSION_CHARS:] if previous else ""
    return f"{query.strip()}\n{before}" if before else query.strip()
