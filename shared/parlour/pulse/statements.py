"""What a model wrote, read strictly: statements that name their sources, and say no figure that those do not. Pure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from parlour.infra.jsonable import Json, JsonObject
from parlour.pulse.material.documents import Document
from parlour.pulse.pulse import Statement
from parlour.text.numbers import Figures, figures

MOST = 12
"""Statements of one Pulse; further ones are left out."""

_LONGEST, _MOST_READ = 600, 4_000
_FENCED = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)
_NUMBERED = re.compile(r"\s*\[\d{1,3}(?:\s*[,;\u2013-]\s*\d{1,3})*\](?!\()")
_TAG = re.compile(r"<[A-Za-z/!][^<>]*>")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKS = re.compile(r"^(?:[#>*+-]|\d{1,2}[.)])+\s+")


class Unusable(ValueError):
    """The answer is no such JSON, or nothing of it was left. `code` says which."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Checked:
    """The statements that hold, and how many did not: for a source that was not in the prompt (or none at all), for a
    figure that is in none of its sources, or for being no statement."""

    statements: tuple[Statement, ...]
    unknown_source: int = 0
    number: int = 0
    malformed: int = 0

    @property
    def dropped(self) -> JsonObject:
        """How many were dropped, by reason; reasons without any are left out."""
        told = {"unknown_source": self.unknown_source, "number": self.number, "malformed": self.malformed}
        return {reason: count for reason, count in told.items() if count}


def check(answer: str, documents: Mapping[int, Document]) -> Checked:
    """The answer's statements that hold against the documents of its prompt. Unusable when none does: `bad_json`, or
    `nothing_left`."""
    kept: list[Statement] = []
    counts = {"unknown_source": 0, "number": 0, "malformed": 0}
    told: dict[int, Figures] = {}
    for one in _listed(answer):
        found = _read(one)
        if found is None:
            counts["malformed"] += 1
        elif not found.sources or any(number not in documents for number in found.sources):
            counts["unknown_source"] += 1
        elif _is_made_up(found, documents, told):
            counts["number"] += 1
        elif found not in kept:
            kept.append(found)
    if not kept:
        raise Unusable("nothing_left")
    return Checked(tuple(kept[:MOST]), **counts)


def _listed(answer: str) -> list[Json]:
    """The list of statements; a fence around the JSON is let pass, words around it are not."""
    text = answer.strip()
    fenced = _FENCED.match(text)
    try:
        found = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        raise Unusable("bad_json") from None
    statements = found.get("statements") if isinstance(found, dict) else None
    if not isinstance(statements, list):
        raise Unusable("bad_json")
    return statements


def _read(one: Json) -> Statement | None:
    text, sources = (one.get("text"), one.get("sources")) if isinstance(one, dict) else (None, None)
    if not isinstance(text, str) or not isinstance(sources, list):
        return None
    if any(isinstance(number, bool) or not isinstance(number, int) for number in sources):
        return None
    said = clean(text)
    return Statement(said, tuple(dict.fromkeys(_whole(sources)))) if said else None


def _whole(sources: list[Json]) -> list[int]:
    return [one for one in sources if isinstance(one, int)]


def clean(text: str) -> str:
    """A statement on one line, without numbers of sources, links, tags or a mark that begins a list or heading: people
    are shown what comes of it, and a link in it would be somebody else's."""
    line = " ".join(text.replace("\0", "").encode("utf-8", "ignore").decode().split())[:_MOST_READ]
    before = ""
    while line != before:  # what was inside a link or a tag may be one, too
        before, line = line, _NUMBERED.sub("", _TAG.sub("", _LINK.sub(r"\1", line)))
    return _MARKS.sub("", line).strip()[:_LONGEST]


def _is_made_up(one: Statement, documents: Mapping[int, Document], told: dict[int, Figures]) -> bool:
    """Whether it says a figure that none of its sources has. `told`: what was read of them before."""
    for number in one.sources:
        if number not in told:
            document = documents[number]
            told[number] = figures(f"{document.title} {document.locator}\n{document.text}")
    dates = frozenset(date for number in one.sources for date in told[number].dates)
    numbers = tuple(found for number in one.sources for found in told[number].numbers)
    return figures(one.text).unsupported(Figures(dates, numbers))
