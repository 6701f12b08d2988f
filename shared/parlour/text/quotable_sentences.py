"""Sentences of a text or of Markdown that can be quoted alone, each with its heading. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from parlour.text.sentences import stripped_sentences
from parlour.text.words import word_parts

_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|\([a-z0-9]{1,4}\))\s+")
_HEADING = re.compile(r"^(?:\s{0,3}#{1,6}\s|Subject:)\s*+(.*)$")
_EMPHASIS = re.compile(r"(\*\*\*|\*\*|\*)(?=\S)([^*\n]+(?:\n[^*\n]+)?)(?<=\S)\1")
_FIELD = re.compile(r"^[^\W\d_][\w /()&.-]{1,40}:\s")
_RULE_ROW = re.compile(r"^\|?[\s:|-]+\|?$")

#: A line at least this long continues in the next one; a shorter one was ended on purpose.
_MIN_WRAPPED_CHARS = 50

#: A search result shows sender, receiver and date beside the text; as sentences these lines say nothing.
_MAIL_HEADER = re.compile(r"^(?:(?:From|To|Cc|Bcc|Sent|Reply-To):.*@|Date: .*\d\d:\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, list item or table row as it was written, and its heading."""

    text: str
    heading: str


def quotable_sentences(text: str) -> list[Sentence]:
    """Return the sentences of a text or of Markdown, in order, without emphasis.

    Headings and subject lines are not among them: their words count for the sentences below.
    """
    return [
        Sentence(sentence, heading)
        for heading, unit in _units(_EMPHASIS.sub(r"\2", text).splitlines())
        for sentence in stripped_sentences(unit)
        if word_parts(sentence)
    ]


def _units(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield paragraphs with their wrapped lines joined, list items, fields and table rows, each with its heading."""
    heading, unit, columns, wrapped = "", "", list[str](), False
    for line in [*lines, ""]:
        stripped = "" if _MAIL_HEADER.match(line) else line.strip()
        if (
            unit
            and wrapped
            and stripped
            and not (_HEADING.match(line) or _ITEM.match(line) or _FIELD.match(line) or line.lstrip().startswith("|"))
        ):
            unit, wrapped = f"{unit} {stripped}", len(stripped) >= _MIN_WRAPPED_CHARS
            continue
        if unit:
            yield heading, unit
            unit = ""
        if title := _HEADING.match(line):
            heading = title[1].rstrip().rstrip("#").rstrip()
        elif stripped.startswith("|"):
            columns, unit = _row(stripped, columns)
        else:
            columns, unit = [], _ITEM.sub("", stripped)
        wrapped = len(stripped) >= _MIN_WRAPPED_CHARS and not stripped.startswith("|")


def _row(line: str, columns: list[str]) -> tuple[list[str], str]:
    """Return a row of a table; its first row names the columns."""
    if _RULE_ROW.match(line):
        return columns, ""
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if not columns:
        return cells, ""
    named = zip(columns, cells, strict=False)
    return columns, "; ".join(f"{column}: {cell}" if column else cell for column, cell in named if cell)
