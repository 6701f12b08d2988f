"""Files as people upload them, made on the spot: no sample of anybody's is kept here."""

import io
import zipfile
from collections.abc import Sequence

import docx
import pptx
import xlsxwriter
from pptx.util import Inches

type TextRun = tuple[str, float]
"""A line of a PDF and its size in points."""


def make_pdf(pages: Sequence[Sequence[TextRun]], *, encrypted: bool = False) -> bytes:
    """A PDF with these lines on its pages, in Helvetica; or one that asks for a password."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for page in pages:
        lines = " ".join(f"/F1 {size} Tf ({_escaped(text)}) Tj 0 -16 Td" for text, size in page)
        drawn = f"BT 72 760 Td {lines} ET"
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
        content = len(objects)
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842]"
            f" /Resources << /Font << /F1 3 0 R >> >> /Contents {content} 0 R >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    trailer = f"/Size {len(objects) + 1} /Root 1 0 R"
    if encrypted:
        secret = "41" * 32
        trailer += f" /Encrypt << /Filter /Standard /V 1 /R 2 /O <{secret}> /U <{secret}> /P -44 >>"
        trailer += f" /ID [<{secret}> <{secret}>]"
    return _assembled(objects, trailer)


def _assembled(objects: Sequence[str], trailer: str) -> bytes:
    out = io.BytesIO(b"%PDF-1.4\n")
    out.seek(0, io.SEEK_END)
    offsets = []
    for number, text in enumerate(objects, start=1):
        offsets.append(out.tell())
        out.write(f"{number} 0 obj\n{text}\nendobj\n".encode("latin-1"))
    start = out.tell()
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode())
    out.write("".join(f"{offset:010} 00000 n \n" for offset in offsets).encode())
    out.write(f"trailer << {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode())
    return out.getvalue()


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


CONTRACT_PAGES = [
    [("Works contract", 20), ("Between the owner and the builder, for the north bank.", 11)],
    [("12. Delay", 14), ("Delay damages are 0.5 % of the price per week.", 11)],
    [
        ("14. Limitation of liability", 14),
        ("The builder is liable up to 2,000,000 euros in all.", 11),
        ("This limit does not hold for gross negligence.", 11),
    ],
]
"""A contract whose clause on liability is on page 3."""


def make_contract_pdf() -> bytes:
    """CONTRACT as a PDF."""
    return make_pdf(CONTRACT_PAGES)


def make_word_file() -> bytes:
    """A Word file with headings, a list, a table."""
    document = docx.Document()
    document.add_heading("Method statement", 1)
    document.add_paragraph("Concrete is poured in lifts of one metre.")
    document.add_heading("Curing", 2)
    document.add_paragraph("Keep it wet for seven days.", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for row, words in enumerate((("Item", "Days"), ("Slab", "7"))):
        for column, text in enumerate(words):
            table.cell(row, column).text = text
    return _saved(document)


def make_slides() -> bytes:
    """Two slides, the second with a table and notes."""
    deck = pptx.Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[1])
    first.shapes.title.text = "Key risks"
    first.placeholders[1].text_frame.text = "Ground water is high"
    second = deck.slides.add_slide(deck.slide_layouts[5])
    second.shapes.title.text = "Costs"
    table = second.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(2)).table
    for row, words in enumerate((("Part", "Euros"), ("Piles", "120000"))):
        for column, text in enumerate(words):
            table.cell(row, column).text = text
    second.notes_slide.notes_text_frame.text = "Say that piles are fixed price"
    return _saved(deck)


def make_workbook() -> bytes:
    """Two sheets: a budget with two lines, and an empty one."""
    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        sheet = book.add_worksheet("Budget")
        for row, cells in enumerate((("Item", "Euros", "Paid"), ("Piles", 120000, True), ("Crane", 4500.5, False))):
            sheet.write_row(row, 0, cells)
        book.add_worksheet("Later")
    return out.getvalue()


def make_zip(parts: dict[str, bytes]) -> bytes:
    """An archive of these parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in parts.items():
            made.writestr(name, data)
    return out.getvalue()


def _saved(document: "docx.document.Document | pptx.presentation.Presentation") -> bytes:
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()
