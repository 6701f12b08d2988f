"""What stands for a message that history no longer tells: one line, with the figures, dates and names that it gave.

Deterministic and free. A model's summary reads better; this one holds until there is such a summary, and keeps the
figures that a later turn is likely to ask for.
"""

import re

from parlour.text.sentences import stripped_sentences

MAX_WORDS, MAX_CHARS = 28, 300
"""What a long message is recapped with; the second for scripts that write no spaces."""

WHOLE_WORDS = 40
"""A message of fewer words stays whole: cut, it may lose the one word that it was about."""

_OPENING_WORDS = 12
"""Words that its beginning may take where later sentences give figures."""

_WORDS_BEFORE, _WORDS_AFTER = 4, 2
"""Words that are kept around a figure."""

_ELLIPSIS = "..."
_FIGURE = re.compile(
    r"\d|[\u20a0-\u20bf$\u00a3\u00a5%@]|https?:|\b[A-Z]{2,}\b|^(?:Dr|Mrs?|Ms|Prof|Shri|Smt|Sra?|Herr|Frau|\u0921\u0949|\u0936\u094d\u0930\u0940)\.?$"
)
"""Amounts, dates, identifiers, addresses, acronyms, and the titles that names follow."""

_CLOCK_TIME = re.compile(r"\W*\d{1,2}:\d{2}\W*")
"""A time of day alone, which tells a later turn little."""

_BELONGS_TO_NEXT = re.compile(r"\.$|^(?:Rs|INR|USD|EUR|GBP|AED|[\u20a0-\u20bf$\u00a3\u00a5])$")
"""A word within a sentence that says nothing without the next one."""


def recap_message(text: str) -> str:
    """Shorten the message: its beginning, then the figures of the rest, in their order."""
    words = text.split()
    if len(words) < WHOLE_WORDS:
        return _truncate(" ".join(words))
    first, *rest = [part.split() for part in stripped_sentences(text)]
    figures = [_words_around_figures(sentence) for sentence in rest if _has_figures(sentence)]
    most = _OPENING_WORDS if figures or _has_figures(first[_OPENING_WORDS:]) else MAX_WORDS
    while most < len(first) and most > 1 and _BELONGS_TO_NEXT.search(first[most - 1]):
        most -= 1
    parts = [first[:most]]
    if len(first) > most and _has_figures(first[most:]):
        figures.insert(0, _words_around_figures(first[most:]))
    return _truncate(_join_parts(parts + figures, is_whole=not rest and len(first) <= most))


def _join_parts(parts: list[list[str]], *, is_whole: bool) -> str:
    """Join the parts up to the word limit; an ellipsis marks missing words."""
    kept: list[str] = []
    for part in parts:
        room = MAX_WORDS - sum(word != _ELLIPSIS for word in kept)
        if room > 0 and part:
            kept += [_ELLIPSIS, *part[:room]] if kept else part[:room]
    return " ".join(kept if is_whole else [*kept, _ELLIPSIS])


def _words_around_figures(sentence: list[str]) -> list[str]:
    """Return a sentence from a few words before its first figure to a few after its last."""
    positions = [position for position, word in enumerate(sentence) if _is_figure(word)]
    return sentence[max(0, positions[0] - _WORDS_BEFORE) : positions[-1] + _WORDS_AFTER + 1]


def _has_figures(sentence: list[str]) -> bool:
    return any(_is_figure(word) for word in sentence)


def _is_figure(word: str) -> bool:
    return bool(_FIGURE.search(word)) and not _CLOCK_TIME.fullmatch(word)


def _truncate(said: str) -> str:
    return said if len(said) <= MAX_CHARS else said[: MAX_CHARS - 4].rstrip() + f" {_ELLIPSIS}"
