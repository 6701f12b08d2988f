"""Which words of a text would tell of it wherever they stand, so that what quotes it is found. Pure.

A reply that repeats an account number says as much as the message that gave it. Words that everybody uses tell of
nothing: only whole lines, what has figures in it, addresses, names in the middle of a sentence, and long words do.
"""

import json
import re
from collections.abc import Iterable, Sequence

LEAST_LINE = 12
"""Characters from which on a whole line is taken for its writer's own."""

LONGEST = 160
"""Of a longer line its beginning is looked for; what quotes it seldom begins elsewhere."""

MOST = 60
"""Words and lines that one text is looked for by."""

_LEAST_NAME, _LEAST_FIGURE, _LEAST_LONG = 4, 4, 11
_WORD = re.compile(r"[^\s\"'`<>()\[\]{},;!?\u0964\u3002\uff0c\uff01\uff1f]+")
_END = re.compile(r"[.!?:\u0964\u3002]$")
_TRIMMED = ".:*_~-"
_SPECIAL = re.compile(r"([\\%_])")


def needles(text: str) -> list[str]:
    """What the text is told by, the most telling first: its lines, then its telling words; each once."""
    lines, words = _all(text)
    least = MOST // 2
    kept = words[: max(least, MOST - len(lines))]
    return [*lines[: MOST - len(kept)], *kept]


def is_cut(text: str) -> bool:
    """Whether there is more of it than it is looked for by."""
    lines, words = _all(text)
    return len(lines) + len(words) > MOST


def _all(text: str) -> tuple[list[str], list[str]]:
    lines = [line.strip()[:LONGEST] for line in text.splitlines()]
    whole = list(dict.fromkeys(line for line in lines if len(line) >= LEAST_LINE))
    return whole, [word for word in telling(text) if word not in set(whole)]


def telling(text: str) -> list[str]:
    """Its words that few others would use: with figures, addresses, names inside a sentence, very long ones."""
    found: list[str] = []
    is_first = True
    for word in _WORD.findall(text):
        bare = word.strip(_TRIMMED)
        if _tells(bare, is_first=is_first):
            found.append(bare)
        is_first = bool(_END.search(word))
    return list(dict.fromkeys(found))


def _tells(word: str, *, is_first: bool) -> bool:
    if any(letter.isdigit() for letter in word):
        return len(word) >= _LEAST_FIGURE
    if "@" in word or "://" in word or len(word) >= _LEAST_LONG:
        return True
    return not is_first and len(word) >= _LEAST_NAME and word[0].isupper() and not word.isupper()


def patterns(found: Iterable[str]) -> list[str]:
    """The same for ILIKE, as they stand in plain text and as they stand in JSON."""
    forms = (form for one in found for form in (one, json.dumps(one, ensure_ascii=False)[1:-1]))
    return [f"%{_SPECIAL.sub(r'\\\1', form)}%" for form in dict.fromkeys(forms)]


def unsaid(found: Sequence[str], elsewhere: Iterable[str]) -> list[str]:
    """Those that no other text says."""
    others = [text.casefold() for text in elsewhere]
    return [one for one in found if not any(one.casefold() in text for text in others)]
