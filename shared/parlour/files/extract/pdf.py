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

from parlour.files.extract.parts import Part, escape_markdown, markdown_heading
from parlour.files.problems import unreadable_file

MAX_PAGES = 5_000

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
class TextLine:
    """One line as it is set: its size in points, whether it is bold."""

    text: str
    size: float
    is_bold: bool


def extract(path: Path) -> list[Part]:
    """Every page. UnreadableFile when it is encrypted, broken or has no text."""
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise unreadable_file("encrypted" if "password" in str(error).lower() else "broken") from error
    with closing(document):
        if len(document) > MAX_PAGES:
            raise unreadable_file("too_long")
        pages = [_lines(document, number) for number in range(len(document))]
    return [Part(text, "page", number) for number, text in enumerate(pages_to_markdown(pages), start=1)]


def pages_to_markdown(pages: list[list[TextLine]]) -> Iterator[str]:
    """Each page's Markdown, its headings told by the size that most of the whole document is set in."""
    sizes = Counter[float]()
    for line in (line for page in pages for line in page):
        sizes[line.size] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    larger = sorted({line.size for page in pages for line in page if _is_larger(line, body)}, reverse=True)
    for page in pages:
        yield "\n".join(_line_to_markdown(line, body, larger) for line in page)


def _line_to_markdown(line: TextLine, body: float, larger: list[float]) -> str:
    numbered = _NUMBERED.match(line.text)
    if not _may_be_heading(line.text):
        return escape_markdown(line.text)
    if _is_larger(line, body):
        return f"\n{markdown_heading(1 + min(larger.index(line.size), _MOST_LEVELS - 1), line.text)}"
    if line.is_bold and numbered:
        return f"\n{markdown_heading(_MOST_LEVELS + 1 + numbered[1].count('.'), line.text)}"
    return escape_markdown(line.text)


def _may_be_heading(text: str) -> bool:
    return len(text) <= _LONGEST_HEADING and not text.endswith(_ENDS_A_SENTENCE) and bool(_WORDS.search(text))


def _is_larger(line: TextLine, body: float) -> bool:
    return line.size >= body * _LARGER and _may_be_heading(line.text)


def _lines(document: Any, number: int) -> list[TextLine]:
    """Return the lines of a page; none if it cannot be read, so that one bad page does not lose the others."""
    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return []
    with closing(page), closing(page.get_textpage()) as text:
        return list(_text_lines(text))


def _text_lines(textpage: Any) -> Iterator[TextLine]:
    """Lines with the look of their first letter; PDFium counts a line's end as two characters."""
    whole = textpage.get_text_range(errors="ignore")
    at = 0
    for raw in _SOFT_HYPHEN.sub(lambda found: "\x02" * len(found[0]), whole).split("\n"):
        words = " ".join(raw.replace("\x02", "").split())
        if words:
            first = at + len(raw) - len(raw.lstrip())
            # In points as it is set: some programs write every font at one point and scale it.
            matrix = pdfium.FS_MATRIX()
            scale = 1.0
            if pdfium.FPDFText_GetMatrix(textpage, first, matrix):
                scale = math.hypot(matrix.c, matrix.d) or 1.0
            size = round(float(pdfium.FPDFText_GetFontSize(textpage, first)) * scale, 1)
            yield TextLine(words, size, bool(pdfium.FPDFText_GetFontWeight(textpage, first) >= _BOLD))
        at += len(raw) + 1
