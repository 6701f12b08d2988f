"""Citations: a reply cites `[n]`; each is checked against the numbers the session has given out."""

import re
from collections.abc import Container
from dataclasses import dataclass

_CODE_SPAN = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.DOTALL)
"""Code, fenced or inline: what stands in brackets there is code."""

_CITATION = re.compile(
    r"([ \t]?)(?<![\w\]])\[(\d{1,3}(?:\s*[,;\u2013-]\s*\d{1,3})*)\](?!\()|(?<=\])\[(\d{1,3})\](?!\()"
)
"""`[2]`, `[2, 5]`, `[1-3]`, also one right after another, with the space before it. Not an index (`rows[0]`), not a
link's text, not a year: a session never gives out a thousand numbers."""

_RANGE = re.compile(r"(\d+)\s*[\u2013-]\s*(\d+)")


@dataclass(frozen=True, slots=True)
class CheckedReply:
    """A reply whose every citation is known: its text, the numbers in order of first use, how many were removed."""

    text: str
    numbers: tuple[int, ...]
    removed_count: int


def check_citations(text: str, known_numbers: Container[int]) -> CheckedReply:
    """Keep citations of known numbers, written one per bracket; remove the others and count them."""
    kept: dict[int, None] = {}
    removed = 0

    def settle(match: re.Match[str]) -> str:
        nonlocal removed
        numbers = _parse_numbers(match[2] or match[3])
        good = [number for number in numbers if number in known_numbers]
        removed += len(numbers) - len(good)
        kept.update(dict.fromkeys(good))
        space = (match[1] or "") if good else ""
        return space + "".join(f"[{number}]" for number in good)

    pieces = _CODE_SPAN.split(text)
    checked = [piece if place % 2 else _CITATION.sub(settle, piece) for place, piece in enumerate(pieces)]
    return CheckedReply("".join(checked), tuple(kept), removed)


def _parse_numbers(inside: str) -> list[int]:
    """Return the numbers that a bracket means: `1-3` is three of them."""
    spread = _RANGE.sub(lambda match: ",".join(map(str, _expand_range(int(match[1]), int(match[2])))), inside)
    return [int(number) for number in re.findall(r"\d+", spread)]


def _expand_range(first: int, last: int) -> list[int]:
    return list(range(first, last + 1)) if first <= last else [first, last]
