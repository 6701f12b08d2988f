"""Cutting a document into searchable pieces: along its headings, then its paragraphs, then its sentences. Pure.

A piece never crosses a heading, a page or an e-mail of a thread, so that each can be cited exactly. Table
rows keep their header row and list items the line that introduces them: both are repeated when a table or
a list has to be cut.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from parlour.text import sentences
from parlour.text.email_text import Mail, day
from parlour.text.markdown import FENCE, RULE, read

LONGEST = 900
"""Characters in a piece's body: about 210 tokens of English, so that body and lead fit the 256 tokens that small
embedding models read."""

_LONGEST_INTRODUCTION = 200
"""A longer line above a list or table is text of its own: it is not repeated."""

_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|\([a-z0-9]{1,4}\))\s+")
_DELIMITER = re.compile(r"^\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$")


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a document and where it stands.

    `body` has at most LONGEST characters. `heading` is the path of headings above it, outermost first;
    `page` is None when the document marks no pages; `mail` says who wrote it and when, as far as known.
    """

    body: str
    heading: tuple[str, ...]
    page: int | None
    mail: Mail


@dataclass(frozen=True, slots=True)
class _Block:
    """Text that belongs together: parts that may be separated, and the introduction that each of them keeps."""

    introduction: str
    parts: tuple[str, ...]
    wants_introduction: bool = False

    @property
    def text(self) -> str:
        return self.introduction + "".join(self.parts)


def cut(content: str, date: str = "", author: str = "") -> list[Piece]:
    """The pieces of a Markdown or plain text, in order; the same text always gives the same pieces.

    `date` and `author` are the document's own; e-mail headers found inside override them from there on.
    """
    return [
        Piece(body, section.heading, section.page, section.mail)
        for section in read(content, Mail(author, day(date)))
        for body in _pack(_blocks(section.lines))
    ]


def _pack(blocks: Sequence[_Block]) -> list[str]:
    """Fill bodies evenly with whole blocks; cut only a block that is too long by itself. What is left over at the
    end (a signature, often) joins the body before it when it can."""
    most = _even(sum(len(block.text) + 2 for block in blocks))
    bodies: list[str] = []
    for unit in chain.from_iterable(map(_units, blocks)):
        _add(bodies, unit, most)
    if len(bodies) > 1:
        _add(bodies, bodies.pop(), LONGEST)
    return bodies


def _add(bodies: list[str], unit: str, most: int) -> None:
    """Put the unit into the last body if that then has at most `most` characters, else into one of its own."""
    if bodies and len(bodies[-1]) + 2 + len(unit) <= most:
        bodies[-1] += f"\n\n{unit}"
    elif unit:
        bodies.append(unit)


def _even(total: int) -> int:
    """How long pieces of so much text may be, so that the last is no stub: an eighth above their equal share."""
    pieces = -(-total // LONGEST) or 1
    return min(LONGEST, total * 9 // (pieces * 8) + 1)


def _units(block: _Block) -> Iterator[str]:
    """The block as it is when it fits, otherwise cut between its parts."""
    if len(block.text.strip()) <= LONGEST:
        yield block.text.strip()
        return
    start = unit = block.introduction
    most = max(_even(len(block.text)), len(start) + LONGEST // 4)
    for part in chain.from_iterable(_shorten(part, most - len(start)) for part in block.parts):
        if unit != start and len((unit + part).rstrip()) > most:
            yield unit.strip()
            unit = start
        unit += part
    yield unit.strip()


def _shorten(part: str, most: int) -> list[str]:
    """A part that is too long by itself, cut between words, and inside a word only when it is too long too."""
    if len(part.rstrip()) <= most:
        return [part]
    words = re.findall(r"\S++\s*|\s+", part)
    return [word[at : at + most] for word in words for at in range(0, len(word), most)]


def _blocks(lines: Sequence[str]) -> list[_Block]:
    """The paragraphs, lists, tables and code of a section; a line ending in a colon joins what it introduces."""
    blocks: list[_Block] = []
    for group in _groups(lines):
        for block in _parse(group):
            if block.wants_introduction and blocks and _introduces(blocks[-1]):
                introduction = f"{blocks.pop().text.strip()}\n{block.introduction}"
                blocks.append(replace(block, introduction=introduction))
            else:
                blocks.append(block)
    return blocks


def _introduces(block: _Block) -> bool:
    text = block.text.strip()
    return not block.wants_introduction and text.endswith(":") and len(text) <= _LONGEST_INTRODUCTION


def _groups(lines: Sequence[str]) -> Iterator[list[str]]:
    """Lines between blank lines and rules; code stays whole."""
    group: list[str] = []
    fenced = False
    for line in lines:
        fence = bool(FENCE.match(line))
        ends = not fenced and (fence or not line.strip() or bool(RULE.match(line)))
        if ends and group:
            yield group
            group = []
        if not ends or fence:
            group.append(line)
        fenced ^= fence
    if group:
        yield group


def _parse(group: Sequence[str]) -> list[_Block]:
    lines = [f"{line}\n" for line in group]
    if FENCE.match(group[0]):
        return [_Block("", tuple(lines))]
    for index, line in enumerate(group):
        if index and "|" in line and _DELIMITER.match(line.strip()) and "|" in group[index - 1]:
            return [*_paragraph(lines[: index - 1]), _table(lines[index - 1 : index + 1], lines[index + 1 :])]
        if _ITEM.match(line):
            return [*_paragraph(lines[:index]), _Block("", tuple(_items(lines[index:])), wants_introduction=True)]
    return _paragraph(lines)


def _paragraph(lines: Sequence[str]) -> list[_Block]:
    return [_Block("", tuple(sentences.cut("".join(lines))))] if lines else []


def _table(header: Sequence[str], rows: Sequence[str]) -> _Block:
    """A header too long to be repeated is the table's first part instead."""
    if len("".join(header)) > LONGEST // 2:
        return _Block("", (*header, *rows), wants_introduction=True)
    return _Block("".join(header), tuple(rows), wants_introduction=True)


def _items(lines: Sequence[str]) -> Iterator[str]:
    """List items, each with the lines that continue it."""
    item = ""
    for line in lines:
        if _ITEM.match(line) and item:
            yield item
            item = ""
        item += line
    yield item
