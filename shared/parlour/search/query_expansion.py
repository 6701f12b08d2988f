"""What is really looked for when somebody asks. Pure."""

import re
from collections.abc import Sequence

from parlour.text.words import content_words, word_list, word_parts

_MAX_EXPANSION_CHARS = 500
"""Characters of the turn before: small embedding models read about a thousand, and the question itself comes first."""

_POINTERS = word_list("it its that this they them their those these he she him his her same one ones former latter")
_CONTINUES = re.compile(r"(?:and|but|or|then|also|what about|how about)\b", re.IGNORECASE)


def select_expansion(query: str, previous: Sequence[str]) -> Sequence[str]:
    """What the user wrote last, when the query leans on it: it points there, goes on from there, or names next to
    nothing. `asked`: what they wrote, oldest first, the query itself perhaps among it."""
    words = {part.casefold() for part in word_parts(query)}
    is_vague = not _POINTERS.isdisjoint(words) or _CONTINUES.match(query) or len(content_words(query)) < 2
    said = "\n".join(one.strip() for one in previous if one.strip() and one.strip() != query)
    return [said] if is_vague and said else []


def expand_query(query: str, previous: Sequence[str] = ()) -> str:
    """The question with the turn before it, since "and the second one?" names nothing: the text to search for beside
    the question alone, and to show.

    previous: what the same person wrote before, oldest first.
    """
    before = previous[-1].strip()[-_MAX_EXPANSION_CHARS:] if previous else ""
    return f"{query.strip()}\n{before}" if before else query.strip()
