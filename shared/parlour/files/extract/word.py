"""Word: paragraphs, headings, lists with the numbers that Word counts for them, and tables, in their order.

What is inside content controls and tracked insertions is text like any other; what was deleted is not.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docx
from docx.opc.exceptions import PackageNotFoundError
from docx.oxml.ns import qn

from parlour.files.extract.office_zip import check_office_zip
from parlour.files.extract.parts import Part, escape_markdown, markdown_heading, markdown_table
from parlour.files.extract.word_numbering import WordNumbering
from parlour.files.problems import unreadable_file

_PARAGRAPH, _TABLE, _ROW, _CELL = qn("w:p"), qn("w:tbl"), qn("w:tr"), qn("w:tc")
_TEXT, _TAB, _BREAKS = qn("w:t"), qn("w:tab"), {qn("w:br"), qn("w:cr")}
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_STYLE = f"{qn('w:pPr')}/{qn('w:pStyle')}"
_VALUE = qn("w:val")
_TITLE_LEVEL = 1


def extract(path: Path) -> list[Part]:
    """Return the body as one part. UnreadableFile when it is broken or a zip bomb."""
    check_office_zip(path, "word/")
    try:
        document = docx.Document(str(path))
    except (PackageNotFoundError, KeyError, ValueError) as error:
        raise unreadable_file("broken") from error
    return [Part("\n".join(_BodyReader(document).blocks(document.element.body)))]


class _BodyReader:
    def __init__(self, document: Any) -> None:
        self._names = {style.style_id: (style.name or "").lower() for style in document.styles}
        self._numbering = WordNumbering(document)

    def blocks(self, parent: Any) -> Iterator[str]:
        """Paragraphs and tables under `parent`, through whatever they are wrapped in."""
        for element in parent:
            if element.tag == _PARAGRAPH:
                yield self._paragraph(element)
            elif element.tag == _TABLE:
                rows = [[_words(cell) for cell in row.iterchildren(_CELL)] for row in element.iter(_ROW)]
                yield f"\n{markdown_table(rows)}\n"
            elif element.tag != _FALLBACK and isinstance(element.tag, str):
                yield from self.blocks(element)

    def _paragraph(self, element: Any) -> str:
        words = escape_markdown(_words(element))
        if not words:
            return ""
        style_id = element.find(_STYLE)
        style = self._names.get(style_id.get(_VALUE), "") if style_id is not None else ""
        label = self._numbering.label(element, style_id.get(_VALUE) if style_id is not None else "")
        if level := _level(style):
            return f"\n{markdown_heading(level, f'{label} {words}')}\n"
        if label:
            return f"{label} {words}"
        return f"- {words}" if style.startswith("list") else f"{words}\n"


def _level(style: str) -> int:
    """Of a heading's style: 1 for a title, one more for each of Word's levels; 0 for no heading."""
    if style == "title":
        return _TITLE_LEVEL
    name, _, number = style.partition(" ")
    return _TITLE_LEVEL + int(number) if name == "heading" and number.isdecimal() else 0


def _words(element: Any) -> str:
    """Return the text of a paragraph or cell. Word writes some drawings twice: the second is the fallback."""
    said = []
    for node in element.iter():
        if node.tag == _TEXT and not any(parent.tag == _FALLBACK for parent in node.iterancestors()):
            said.append(node.text or "")
        elif node.tag == _TAB or node.tag in _BREAKS or node.tag == _PARAGRAPH:
            said.append(" ")
    return " ".join("".join(said).split())
