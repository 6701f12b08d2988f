"""Citations: a reply cites `[n]`; each is checked against the numbers the session has given out."""

import re
from collections.abc import Container
from dataclasses import dataclass

from parlour.conversations.cited_figures import CitedFigures
from parlour.text.citation_markers import Marker, find_markers, replace_markers
from parlour.text.sentences import split_sentences


@dataclass(frozen=True, slots=True)
class CheckedReply:
    """A reply whose every citation is known: its text, the numbers in order of first use, how many were removed."""

    text: str
    numbers: tuple[int, ...]
    removed_count: int


def cited_numbers(text: str) -> set[int]:
    """Return every number that the text cites, known or not."""
    return {number for marker in find_markers(text) for number in marker.numbers}


def check_citations(text: str, known_numbers: Container[int], figures: CitedFigures | None = None) -> CheckedReply:
    """Keep citations of known numbers, written one per bracket; remove the others and count them.

    With `figures`, a citation whose document lacks the figure before it is corrected or removed. No other word changes.
    """
    cited: dict[int, None] = {}
    removed = 0

    def check(marker: Marker) -> list[int]:
        nonlocal removed
        valid = [number for number in marker.numbers if number in known_numbers]
        if figures is not None and valid:
            valid = [*figures.correct(_statement_before(marker.before), valid)]
        removed += max(0, len(marker.numbers) - len(valid))
        cited.update(dict.fromkeys(valid))
        return valid

    checked = replace_markers(text, check)
    return CheckedReply(checked, tuple(cited), removed)


def _statement_before(text: str) -> str:
    """Return what a citation at the end of this text is for: the end of its sentence, from an earlier citation on."""
    line = text.rpartition("\n")[2]
    sentences = [sentence for sentence in split_sentences(line) if re.search(r"\w", sentence)]
    sentence = sentences[-1] if sentences else ""
    ends = [marker.end for marker in find_markers(sentence)]
    return sentence[ends[-1] :] if ends else sentence
