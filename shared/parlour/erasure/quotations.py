"""Which words of a text would tell of it wherever they stand, so that what quotes it is found. Pure.

A reply that repeats an account number says as much as the message that gave it. Words that everybody uses tell of
nothing: only whole lines, what has figures in it, addresses, names in the middle of a sentence, and long words do.
"""

import json
import re
from collections.abc import Iterable, Sequence

MIN_LINE_CHARS = 12
"""Characters from which on a whole line is taken for its writer's own."""

MAX_LINE_CHARS = 160
"""Of a longer line its beginning is looked for; what quotes it seldom begins elsewhere."""

MAX_SEARCH_TERMS = 60
"""Words and lines that one text is looked for by."""

_MIN_NAME_CHARS, _MIN_FIGURE_CHARS, _MIN_LONG_WORD_CHARS = 4, 4, 11
_WORD = re.compile(r"[^\s\"'`<>()\[\]{},;!?\u0964\u3002\uff0c\uff01\uff1f]+")
_SENTENCE_END = re.compile(r"[.!?:\u0964\u3002]$")
_TRIMMED_CHARS = ".:*_~-"
_LIKE_SPECIAL = re.compile(r"([\\%_])")


def quote_search_terms(text: str) -> list[str]:
    """Return the terms that identify the text, the most distinctive first: its lines, then its words; each once."""
    lines, words = _lines_and_terms(text)
    least = MAX_SEARCH_TERMS // 2
    kept = words[: max(least, MAX_SEARCH_TERMS - len(lines))]
    return [*lines[: MAX_SEARCH_TERMS - len(kept)], *kept]


def has_more_terms(text: str) -> bool:
    """Whether there is more of it than it is looked for by."""
    lines, words = _lines_and_terms(text)
    return len(lines) + len(words) > MAX_SEARCH_TERMS


def _lines_and_terms(text: str) -> tuple[list[str], list[str]]:
    lines = [line.strip()[:MAX_LINE_CHARS] for line in text.splitlines()]
    whole = list(dict.fromkeys(line for line in lines if len(line) >= MIN_LINE_CHARS))
    return whole, [word for word in distinctive_terms(text) if word not in set(whole)]


def distinctive_terms(text: str) -> list[str]:
    """Its words that few others would use: with figures, addresses, names inside a sentence, very long ones."""
    found: list[str] = []
    is_first = True
    for word in _WORD.findall(text):
        bare = word.strip(_TRIMMED_CHARS)
        if _is_distinctive(bare, is_first=is_first):
            found.append(bare)
        is_first = bool(_SENTENCE_END.search(word))
    return list(dict.fromkeys(found))


def _is_distinctive(word: str, *, is_first: bool) -> bool:
    if any(letter.isdigit() for letter in word):
        return len(word) >= _MIN_FIGURE_CHARS
    if "@" in word or "://" in word or len(word) >= _MIN_LONG_WORD_CHARS:
        return True
    return not is_first and len(word) >= _MIN_NAME_CHARS and word[0].isupper() and not word.isupper()


def ilike_patterns(terms: Iterable[str]) -> list[str]:
    """Return the terms as ILIKE patterns, as they occur in plain text, in JSON, and in JSON that is text in JSON, as a
    call's result is in a prompt.
    """
    forms = (form for one in terms for form in (one, _escape(one), _escape(_escape(one))))
    return [f"%{_LIKE_SPECIAL.sub(r'\\\1', form)}%" for form in dict.fromkeys(forms)]


def _escape(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def terms_not_in(terms: Sequence[str], other_texts: Iterable[str]) -> list[str]:
    """Those that no other text says."""
    others = [text.casefold() for text in other_texts]
    return [one for one in terms if not any(one.casefold() in text for text in others)]
