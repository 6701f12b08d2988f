"""Citations: a reply cites `[n]`; each is checked against the numbers the session has given out."""

import re
from collections.abc import Container
from dataclasses import dataclass

from parlour.conversations.cited_figures import CitedFigures
from parlour.text.sentences import split_sentences

_CODE_SPAN = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.DOTALL)
"""Code, fenced or inline: what stands in brackets there is code."""

_BRACKET = (
    r"\[(?:(?:documents?|docs?\.?|sources?|dokumente?|documentos?|quellen?|\u0926\u0938\u094d\u0924\u093e\u0935\u0947\u091c\u093c?)\s*|n\s?[:=]?\s?)?"
    r"\d{1,3}(?:\s*[,;\u2013-]\s*\d{1,3})*\](?!\()"
)
_CITATION = re.compile(rf"([ \t]?)(?<![\w\]])((?:{_BRACKET})+)|(?<=\])((?:{_BRACKET})+)", re.IGNORECASE)
"""`[2]`, `[2, 5]`, `[1-3]`, `[document 2]`, also one right after another, with the space before it. Not an index
(`rows[0]`), not a link's text, not a year: a session never gives out a thousand numbers."""

_RANGE = re.compile(r"(\d+)\s*[\u2013-]\s*(\d+)")


@dataclass(frozen=True, slots=True)
class CheckedReply:
    """A reply whose every citation is known: its text, the numbers in order of first use, how many were removed."""

    text: str
    numbers: tuple[int, ...]
    removed_count: int


def cited_numbers(text: str) -> set[int]:
    """Return every number that the text cites, known or not."""
    return {number for match in _CITATION.finditer(text) for number in _parse_numbers(match[2] or match[3])}


def check_citations(text: str, known_numbers: Container[int], figures: CitedFigures | None = None) -> CheckedReply:
    """Keep citations of known numbers, written one per bracket; remove the others and count them.

    With `figures`, a citation whose document lacks the figure before it is corrected or removed. No other word changes.
    """
    cited: dict[int, None] = {}
    removed = 0
    checked: list[str] = []
    for position, piece in enumerate(_CODE_SPAN.split(text)):
        if position % 2:
            checked.append(piece)
            continue
        begin = 0
        for match in _CITATION.finditer(piece):
            numbers = _parse_numbers(match[2] or match[3])
            valid = [number for number in numbers if number in known_numbers]
            if figures is not None and valid:
                valid = [*figures.correct(_statement_before(piece[: match.start()]), valid)]
            removed += max(0, len(numbers) - len(valid))
            cited.update(dict.fromkeys(valid))
            space = (match[1] or "") if valid else ""
            checked += [piece[begin : match.start()], space, *(f"[{number}]" for number in valid)]
            begin = match.end()
        checked.append(piece[begin:])
    return CheckedReply("".join(checked), tuple(cited), removed)


def _statement_before(text: str) -> str:
    """Return what a citation at the end of this text is for: the end of its sentence, from an earlier citation on."""
    line = text.rpartition("\n")[2]
    sentences = [sentence for sentence in split_sentences(line) if re.search(r"\w", sentence)]
    sentence = sentences[-1] if sentences else ""
    ends = [match.end() for match in _CITATION.finditer(sentence)]
    return sentence[ends[-1] :] if ends else sentence


def _parse_numbers(inside: str) -> list[int]:
    """Return the numbers that a bracket means: `1-3` is three of them."""
    spread = _RANGE.sub(lambda match: ",".join(map(str, _expand_range(int(match[1]), int(match[2])))), inside)
    return [int(number) for number in re.findall(r"\d+", spread)]


def _expand_range(first: int, last: int) -> list[int]:
    return list(range(first, last + 1)) if first <= last else [first, last]
