"""Files to ingest, of any length and of each kind that is taken: the example pack's own sentences, shuffled.

A page is 40 lines of about a dozen words, some 700 tokens, with a clause's heading on every other one.
"""

import csv
import io
import random
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from pathlib import Path
from textwrap import wrap

import docx
import pptx
import xlsxwriter

from parlour.text.sentences import split_sentences
from tests import sample_files

LINES = 40
_WIDTH = 84

type Page = list[str]
"""A page's lines; the first is a heading."""


def pages(count: int) -> list[Page]:
    """So many pages, the same ones every time."""
    chance = random.Random(count)
    texts = [path.read_text("utf-8") for path in sorted(Path("packs/construction/documents").rglob("*.md"))]
    sentences = [" ".join(one.split()) for text in texts for one in split_sentences(text) if len(one.split()) > 4]
    return [[f"{number}. Clause {number} of the works", *_lines(chance, sentences)] for number in range(1, count + 1)]


def _lines(chance: random.Random, sentences: list[str]) -> list[str]:
    lines: list[str] = []
    while len(lines) < LINES:
        lines += wrap(" ".join(chance.sample(sentences, 12)), _WIDTH)
    return [line.encode("latin-1", "ignore").decode("latin-1").lstrip("#|-> ") or "and" for line in lines[:LINES]]


def pdf(count: int) -> bytes:
    """Headings are set larger than the rest."""
    return sample_files.make_pdf([[(page[0], 14), *((line, 11) for line in page[1:])] for page in pages(count)])


def _docx(count: int) -> bytes:
    document = docx.Document()
    for heading, *lines in pages(count):
        document.add_heading(heading, 1)
        for at in range(0, len(lines), 8):
            document.add_paragraph(" ".join(lines[at : at + 8]))
    return _saved(document)


def _pptx(count: int) -> bytes:
    deck = pptx.Presentation()
    for heading, *lines in pages(count):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = heading
        slide.placeholders[1].text_frame.text = "\n".join(lines)
    return _saved(deck)


def _saved(document: "docx.document.Document | pptx.presentation.Presentation") -> bytes:
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _xlsx(count: int) -> bytes:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        sheet = book.add_worksheet("Register")
        for number, row in enumerate(_rows(count)):
            sheet.write_row(number, 0, row)
    return out.getvalue()


def _csv(count: int) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out).writerows(_rows(count))
    return out.getvalue().encode()


def _rows(count: int) -> list[list[str]]:
    found = [[heading, str(at), line] for heading, *lines in pages(count) for at, line in enumerate(lines, start=1)]
    return [["Clause", "Line", "Text"], *found]


def _html(count: int) -> bytes:
    parts = [f"<h2>{page[0]}</h2><p>{' '.join(page[1:])}</p>" for page in pages(count)]
    return f"<html><head><title>Works</title></head><body>{''.join(parts)}</body></html>".encode()


def _markdown(count: int) -> bytes:
    return "\n\n".join("\n".join([f"## {page[0]}", "", *page[1:]]) for page in pages(count)).encode()


def _text(count: int) -> bytes:
    return "\n\n".join("\n".join(page) for page in pages(count)).encode()


def _email(count: int) -> bytes:
    letter = EmailMessage()
    letter["From"], letter["To"], letter["Subject"] = "Ines Roth <ines@example.org>", "site@example.org", "The works"
    letter["Date"] = "Mon, 02 Mar 2026 09:30:00 +0000"
    letter.set_content(_text(count).decode())
    return bytes(letter)


KINDS: Mapping[str, Callable[[int], bytes]] = {
    "pdf": pdf,
    "docx": _docx,
    "xlsx": _xlsx,
    "pptx": _pptx,
    "html": _html,
    "md": _markdown,
    "txt": _text,
    "eml": _email,
    "csv": _csv,
}
"""How to make a file of so many pages, by its name's ending."""
