"""Citations: a reply cites `[n]`; each is checked against the numbers the session has given out."""

import re
from collections.abc import Container
from dataclasses import dataclass

_CITED = re.compile(r"[ \t]?\[(\d{1,5}(?:\s*,\s*\d{1,5})*)\](?!\()")
"""`[2]` or `[2, 5]`, with the space before it; not a Markdown link's text."""


@dataclass(frozen=True, slots=True)
class Cited:
    """A reply whose every citation is known: its text, the numbers in order of first use, how many were removed."""

    text: str
    numbers: tuple[int, ...]
    removed: int


def check(text: str, known: Container[int]) -> Cited:
    """Keep citations of known numbers, written one per bracket; remove the others and count them."""
    kept: dict[int, None] = {}
    removed = 0

    def settle(match: re.Match[str]) -> str:
        nonlocal removed
        numbers = [int(number) for number in match[1].split(",")]
        good = [number for number in numbers if number in known]
        removed += len(numbers) - len(good)
        kept.update(dict.fromkeys(good))
        space = match[0][0] if match[0][0].isspace() and good else ""
        return space + "".join(f"[{number}]" for number in good)

    return Cited(_CITED.sub(settle, text), tuple(kept), removed)
