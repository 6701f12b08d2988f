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
from parlour.text.document_sections import CODE_FENCE, HORIZONTAL_RULE, split_sections
from parlour.text.email_headers import EmailOrigin, to_iso_day

MAX_CHUNK_CHARS = 900
"""Characters in a piece's body: about 210 tokens of English, so that body and lead fit the 256 tokens that small
embedding models read."""

_MAX_INTRODUCTION_CHARS = 200
"""A longer line above a list or table is text of its own: it is not repeated."""

_LIST_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|\([a-z0-9]{1,4}\))\s+")
_TABLE_DELIMITER = re.compile(r"^\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece of a document and where it stands.

    `body` has at most LONGEST characters. `heading` is the path of headings above it, outermost first;
    `page` is None when the document marks no pages; `mail` says who wrote it and when, as far as known.
    """

    body: str
    heading: tuple[str, ...]
    page: int | None
    email: EmailOrigin


@dataclass(frozen=True, slots=True)
class _Block:
    """Text that belongs together: parts that may be separated, and the introduction that each of them keeps."""

    introduction: str
    parts: tuple[str, ...]
    accepts_introduction: bool = False

    @property
    def text(self) -> str:
        return self.introduction + "".join(self.parts)


def chunk_text(content: str, date: str = "", author: str = "") -> list[Chunk]:
    """Return the chunks of a Markdown or plain text, in order; the same text always gives the same chunks.

    `date` and `author` describe the document. E-mail headers in the text override them from there on.
    """
    return [
        Chunk(body, section.heading, section.page, section.email)
        for section in split_sections(content, EmailOrigin(author, to_iso_day(date)))
        for body in _pack_blocks(_parse_blocks(section.lines))
    ]


def _pack_blocks(blocks: Sequence[_Block]) -> list[str]:
    """Fill bodies evenly with whole blocks; cut only a block that is too long by itself. What is left over at the
    end (a signature, often) joins the body before it when it can."""
    most = _even_chunk_size(sum(len(block.text) + 2 for block in blocks))
    bodies: list[str] = []
    for unit in chain.from_iterable(map(_split_block, blocks)):
        _append_unit(bodies, unit, most)
    if len(bodies) > 1:
        _append_unit(bodies, bodies.pop(), MAX_CHUNK_CHARS)
    return bodies


def _append_unit(bodies: list[str], unit: str, max_chars: int) -> None:
    """Put the unit into the last body if that then has at most `most` characters, else into one of its own."""
    if bodies and len(bodies[-1]) + 2 + len(unit) <= max_chars:
        bodies[-1] += f"\n\n{unit}"
    elif unit:
        bodies.append(unit)


def _even_chunk_size(total: int) -> int:
    """How long pieces of so much text may be, so that the last is no stub: an eighth above their equal share."""
    pieces = -(-total // MAX_CHUNK_CHARS) or 1
    return min(MAX_CHUNK_CHARS, total * 9 // (pieces * 8) + 1)


def _split_block(block: _Block) -> Iterator[str]:
    """Yield the block unchanged when it fits, otherwise cut between its parts."""
    if len(block.text.strip()) <= MAX_CHUNK_CHARS:
        yield block.text.strip()
        return
    start = unit = block.introduction
    most = max(_even_chunk_size(len(block.text)), len(start) + MAX_CHUNK_CHARS // 4)
    for part in chain.from_iterable(_split_part(part, most - len(start)) for part in block.parts):
        if unit != start and len((unit + part).rstrip()) > most:
            yield unit.strip()
            unit = start
        unit += part
    yield unit.strip()


def _split_part(part: str, max_chars: int) -> list[str]:
    """Return the pieces of a part, cut between words, and inside a word only when it is too long itself."""
    if len(part.rstrip()) <= max_chars:
        return [part]
    words = re.findall(r"\S++\s*|\s+", part)
    return [word[at : at + max_chars] for word in words for at in range(0, len(word), max_chars)]


def _parse_blocks(lines: Sequence[str]) -> list[_Block]:
    """Return the paragraphs, lists, tables and code of a section; a line that ends in a colon joins the next block."""
    blocks: list[_Block] = []
    for group in _group_lines(lines):
        for block in _parse_group(group):
            if block.accepts_introduction and blocks and _is_introduction(blocks[-1]):
                introduction = f"{blocks.pop().text.strip()}\n{block.introduction}"
                blocks.append(replace(block, introduction=introduction))
            else:
                blocks.append(block)
    return blocks


def _is_introduction(block: _Block) -> bool:
    text = block.text.strip()
    return not block.accepts_introduction and text.endswith(":") and len(text) <= _MAX_INTRODUCTION_CHARS


def _group_lines(lines: Sequence[str]) -> Iterator[list[str]]:
    """Lines between blank lines and rules; code stays whole."""
    group: list[str] = []
    fenced = False
    for line in lines:
        fence = bool(CODE_FENCE.match(line))
        ends = not fenced and (fence or not line.strip() or bool(HORIZONTAL_RULE.match(line)))
        if ends and group:
            yield group
            group = []
        if not ends or fence:
            group.append(line)
        fenced ^= fence
    if group:
        yield group


def _parse_group(group: Sequence[str]) -> list[_Block]:
    lines = [f"{line}\n" for line in group]
    if CODE_FENCE.match(group[0]):
        return [_Block("", tuple(lines))]
    for index, line in enumerate(group):
        if index and "|" in line and _TABLE_DELIMITER.match(line.strip()) and "|" in group[index - 1]:
            return [*_paragraph(lines[: index - 1]), _table(lines[index - 1 : index + 1], lines[index + 1 :])]
        if _LIST_ITEM.match(line):
            return [
                *_paragraph(lines[:index]),
                _Block("", tuple(_list_items(lines[index:])), accepts_introduction=True),
            ]
    return _paragraph(lines)


def _paragraph(lines: Sequence[str]) -> list[_Block]:
    return [_Block("", tuple(sentences.split_sentences("".join(lines))))] if lines else []


def _table(header: Sequence[str], rows: Sequence[str]) -> _Block:
    """Return a table that repeats its header in each chunk; a long header becomes the first part instead."""
    if len("".join(header)) > MAX_CHUNK_CHARS // 2:
        return _Block("", (*header, *rows), accepts_introduction=True)
    return _Block("".join(header), tuple(rows), accepts_introduction=True)


def _list_items(lines: Sequence[str]) -> Iterator[str]:
    """List items, each with the lines that continue it."""
    item = ""
    for line in lines:
        if _LIST_ITEM.match(line) and item:
            yield item
            item = ""
        item += line
    yield item
