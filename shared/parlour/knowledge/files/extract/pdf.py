"""PDF: a part per page; what is set larger or bolder than the rest, and numbered like a clause, is a heading."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from parlour.knowledge.files.extract.parts import Part, heading, plain
from parlour.knowledge.files.problems import unreadable

MOST_PAGES = 5_000

_LARGER = 1.12
"""Times the body's size that a heading has at least."""

_BOLD = 600
_LONGEST_HEADING = 120
_MOST_LEVELS = 3
_SOFT_HYPHEN = re.compile("[\x02\ufffe\u00ad]\\s*\r?\n?")
_NUMBERED = re.compile(
    r"^(?:(?:clause|article|section|annex|schedule|part|chapter)\s+)?(\d{1,3}(?:\.\d{1,3}){0,3})\.?\s+\S", re.IGNORECASE
)
_ENDS_A_SENTENCE = (".", ",", ";", "!", "?")
_WORDS = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class Line:
    """One line as it is set: its size in points, whether it is bold."""

    text: str
    size: float
    bold: bool


def extract(path: Path) -> list[Part]:
    """Every page. UnreadableFile when it is encrypted, broken or has no text."""
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise unreadable("encrypted" if "password" in str(error).lower() else "broken") from error
    with closing(document):
        if len(document) > MOST_PAGES:
            raise unreadable("too_long")
        pages = [_lines(document, number) for number in range(len(document))]
    return [Part(text, "page", number) for number, text in enumerate(marked(pages), start=1)]


def marked(pages: list[list[Line]]) -> Iterator[str]:
    """Each page's Markdown, its headings told by the size that most of the whole document is set in."""
    sizes = Counter[float]()
    for line in (line for page in pages for line in page):
        sizes[line.size] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    larger = sorted({line.size for page in pages for line in page if _is_larger(line, body)}, reverse=True)
    for page in pages:
        yield "\n".join(_marked(line, body, larger) for line in page)


def _marked(line: Line, body: float, larger: list[float]) -> str:
    numbered = _NUMBERED.match(line.text)
    if not _may_be_heading(line.text):
        return plain(line.text)
    if _is_larger(line, body):
        return f"\n{heading(1 + min(larger.index(line.size), _MOST_LEVELS - 1), line.text)}"
    if line.bold and numbered:
        return f"\n{heading(_MOST_LEVELS + 1 + numbered[1].count('.'), line.text)}"
    return plain(line.text)


def _may_be_heading(text: str) -> bool:
    return len(text) <= _LONGEST_HEADING and not text.endswith(_ENDS_A_SENTENCE) and bool(_WORDS.search(text))


def _is_larger(line: Line, body: float) -> bool:
    return line.size >= body * _LARGER and _may_be_heading(line.text)


def _lines(document: Any, number: int) -> list[Line]:
    """The lines of a page; a page that cannot be read has none, so that one bad page does not lose the others."""
    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return []
    with closing(page), closing(page.get_textpage()) as text:
        return list(_set_lines(text))


def _set_lines(textpage: Any) -> Iterator[Line]:
    """Lines with the look of their first letter; PDFium counts a line's end as two characters."""
    whole = textpage.get_text_range(errors="ignore")
    at = 0
    for raw in _SOFT_HYPHEN.sub(lambda found: "\x02" * len(found[0]), whole).split("\n"):
        words = " ".join(raw.replace("\x02", "").split())
        if words:
            first = at + len(raw) - len(raw.lstrip())
            yield Line(words, _size(textpage, first), _is_bold(textpage, first))
        at += len(raw) + 1


def _size(textpage: Any, index: int) -> float:
    """In points as it is set: some programs write every font at one point and scale it."""
    matrix = pdfium.FS_MATRIX()
    scale = 1.0
    if pdfium.FPDFText_GetMatrix(textpage, index, matrix):
        scale = math.hypot(matrix.c, matrix.d) or 1.0
    return round(float(pdfium.FPDFText_GetFontSize(textpage, index)) * scale, 1)


def _is_bold(textpage: Any, index: int) -> bool:
    return bool(pdfium.FPDFText_GetFontWeight(textpage, index) >= _BOLD)
