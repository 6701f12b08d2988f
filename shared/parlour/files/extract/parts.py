"""What was read out of a file: its text as Markdown in parts, then cut into pieces that know where they stand. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

type PartKind = Literal["page", "slide", "sheet", ""]


@dataclass(frozen=True, slots=True)
class Part:
    """A page, a slide, a sheet, or the whole of a file that has none of these.

    text  Markdown.
    kind  what `number` counts, from 1; "" when the file is one part.
    name  the sheet's or the slide's own name, "" when it has none.
    """

    text: str
    kind: PartKind = ""
    number: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class FileChunk:
    """A piece of a file's text, short enough to be one searchable row, and where it stands."""

    body: str
    heading: tuple[str, ...]
    page: int | None
    slide: int | None
    sheet: str
    sender: str
    date: str


@dataclass(frozen=True, slots=True)
class ExtractedFile:
    """What the child process hands over. `pages`: or slides, or sheets; `tokens`: of all of the text."""

    chunks: tuple[FileChunk, ...]
    page_count: int
    token_count: int


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a Markdown table, the first of them as its header; "" for none."""
    width = max((len(row) for row in rows), default=0)
    lines = []
    for row in rows:
        cells = [*row, *[""] * (width - len(row))]
        shown = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
        lines.append(f"| {' | '.join(shown)} |")
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]]) if lines and width else ""


def markdown_heading(level: int, text: str) -> str:
    """Return a Markdown heading; "" for no text."""
    words = " ".join(text.split())
    return f"{'#' * min(max(level, 1), 6)} {words}" if words else ""


def escape_markdown(text: str) -> str:
    """One line of text, so that nothing in it is taken for a heading, a page mark or a fence of Markdown."""
    words = " ".join(text.replace("\0", "").split())
    return f"\\{words}" if words.startswith(("#", "```", "~~~", "<!--")) else words
