"""What was read out of a file: its text as Markdown in parts, then cut into pieces that know where they stand. Pure."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from parlour.infra.jsonable import JsonObject

type Place = Literal["page", "slide", "sheet", ""]


@dataclass(frozen=True, slots=True)
class Part:
    """A page, a slide, a sheet, or the whole of a file that has none of these.

    text    Markdown.
    place   what `number` counts, from 1; "" when the file is one piece.
    name    the sheet's or the slide's own name, "" when it has none.
    """

    text: str
    place: Place = ""
    number: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class FilePiece:
    """A piece of a file's text, short enough to be one searchable row, and where it stands."""

    body: str
    heading: tuple[str, ...]
    page: int | None
    slide: int | None
    sheet: str
    sender: str
    date: str


@dataclass(frozen=True, slots=True)
class ReadFile:
    """What the child process hands over. `pages`: or slides, or sheets; `tokens`: of all of the text."""

    pieces: tuple[FilePiece, ...]
    pages: int
    tokens: int

    def to_json(self) -> JsonObject:
        """As it is handed over."""
        return {"pages": self.pages, "tokens": self.tokens, "pieces": [asdict(piece) for piece in self.pieces]}

    @classmethod
    def from_json(cls, told: JsonObject) -> "ReadFile":
        """Back from the child process. Raises KeyError, TypeError or ValueError for anything else."""
        pieces, pages, tokens = told["pieces"], told["pages"], told["tokens"]
        if not (isinstance(pieces, list) and isinstance(pages, int) and isinstance(tokens, int)):
            raise TypeError("not what the child process hands over")
        return cls(tuple(map(_piece, pieces)), pages, tokens)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a Markdown table, the first of them as its header; "" for none."""
    width = max((len(row) for row in rows), default=0)
    lines = [_row([*row, *[""] * (width - len(row))]) for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]]) if lines and width else ""


def heading(level: int, text: str) -> str:
    """A heading of Markdown; "" for no text."""
    words = " ".join(text.split())
    return f"{'#' * min(max(level, 1), 6)} {words}" if words else ""


def plain(text: str) -> str:
    """One line of text, so that nothing in it is taken for a heading, a page mark or a fence of Markdown."""
    words = " ".join(text.replace("\0", "").split())
    return f"\\{words}" if words.startswith(("#", "```", "~~~", "<!--")) else words


def _row(cells: Sequence[str]) -> str:
    shown = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(shown)} |"


def _piece(entry: object) -> FilePiece:
    if not isinstance(entry, dict):
        raise TypeError("a piece is no object")
    page, slide = entry["page"], entry["slide"]
    return FilePiece(
        body=str(entry["body"]),
        heading=tuple(map(str, entry["heading"])),
        page=page if isinstance(page, int) else None,
        slide=slide if isinstance(slide, int) else None,
        sheet=str(entry["sheet"]),
        sender=str(entry["sender"]),
        date=str(entry["date"]),
    )
