"""What a model wrote, read strictly: statements that name their sources, and say no figure that those do not. Pure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from parlour.infra.json_values import Json, JsonObject
from parlour.pulse.material.numbered_sources import NumberedSource
from parlour.pulse.pulse import Statement
from parlour.text.numbers import Figures, find_figures

MAX_STATEMENTS = 12
"""Statements of one Pulse; further ones are left out."""

_MAX_STATEMENT_CHARS, _MAX_PARSED_CHARS = 600, 4_000
_CODE_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)
_SOURCE_NUMBERS = re.compile(r"\s*\[\d{1,3}(?:\s*[,;\u2013-]\s*\d{1,3})*\](?!\()")
_TAG = re.compile(r"<[A-Za-z/!][^<>]*>")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_LIST_MARKER = re.compile(r"^(?:[#>*+-]|\d{1,2}[.)])+\s+")


class InvalidModelAnswer(ValueError):
    """The answer is no such JSON, or nothing of it was left. `code` says which."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class CheckedStatements:
    """The statements that hold, and how many did not: for a source that was not in the prompt (or none at all), for a
    figure that is in none of its sources, or for being no statement."""

    statements: tuple[Statement, ...]
    unknown_source: int = 0
    unsupported_number: int = 0
    malformed: int = 0

    @property
    def rejected(self) -> JsonObject:
        """How many were dropped, by reason; reasons without any are left out."""
        told = {
            "unknown_source": self.unknown_source,
            "unsupported_number": self.unsupported_number,
            "malformed": self.malformed,
        }
        return {reason: count for reason, count in told.items() if count}


def check_statements(answer: str, documents: Mapping[int, NumberedSource]) -> CheckedStatements:
    """Return the answer's statements that the documents of its prompt support.

    Unusable when none is supported: `bad_json`, or `nothing_supported`.
    """
    kept: list[Statement] = []
    counts = {"unknown_source": 0, "unsupported_number": 0, "malformed": 0}
    told: dict[int, Figures] = {}
    for one in _parse_statements(answer):
        found = _parse_statement(one)
        if found is None:
            counts["malformed"] += 1
        elif not found.sources or any(number not in documents for number in found.sources):
            counts["unknown_source"] += 1
        elif _has_unsupported_number(found, documents, told):
            counts["unsupported_number"] += 1
        elif found not in kept:
            kept.append(found)
    if not kept:
        raise InvalidModelAnswer("nothing_supported")
    return CheckedStatements(tuple(kept[:MAX_STATEMENTS]), **counts)


def _parse_statements(answer: str) -> list[Json]:
    """Return the list of statements; a fence around the JSON is accepted, words around it are not."""
    text = answer.strip()
    fenced = _CODE_FENCE.match(text)
    try:
        found = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        raise InvalidModelAnswer("bad_json") from None
    statements = found.get("statements") if isinstance(found, dict) else None
    if not isinstance(statements, list):
        raise InvalidModelAnswer("bad_json")
    return statements


def _parse_statement(entry: Json) -> Statement | None:
    text, sources = (entry.get("text"), entry.get("sources")) if isinstance(entry, dict) else (None, None)
    if not isinstance(text, str) or not isinstance(sources, list):
        return None
    if any(isinstance(number, bool) or not isinstance(number, int) for number in sources):
        return None
    said = clean_statement(text)
    return Statement(said, tuple(dict.fromkeys([one for one in sources if isinstance(one, int)]))) if said else None


def clean_statement(text: str) -> str:
    """Return a statement on one line, without source numbers, links, tags, list marks or heading marks.

    People read it, and a link in it would be somebody else's.
    """
    line = " ".join(text.replace("\0", "").encode("utf-8", "ignore").decode().split())[:_MAX_PARSED_CHARS]
    before = ""
    while line != before:  # what was inside a link or a tag may be one, too
        before, line = line, _SOURCE_NUMBERS.sub("", _TAG.sub("", _LINK.sub(r"\1", line)))
    return _LIST_MARKER.sub("", line).strip()[:_MAX_STATEMENT_CHARS]


def _has_unsupported_number(
    statement: Statement, documents: Mapping[int, NumberedSource], figures_by_source: dict[int, Figures]
) -> bool:
    """Whether it says a figure that none of its sources has. `told`: what was read of them before."""
    for number in statement.sources:
        if number not in figures_by_source:
            document = documents[number]
            figures_by_source[number] = find_figures(f"{document.title} {document.locator}\n{document.text}")
    dates = frozenset(date for number in statement.sources for date in figures_by_source[number].dates)
    numbers = tuple(found for number in statement.sources for found in figures_by_source[number].numbers)
    return find_figures(statement.text).has_unsupported(Figures(dates, numbers))
