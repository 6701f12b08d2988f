"""Excel and CSV: a part per sheet, each as a table whose first row is its header."""

import csv
import datetime as dt
import io
from collections.abc import Iterable
from pathlib import Path

import python_calamine
from python_calamine import CalamineWorkbook

from parlour.files.extract.office_zip import check_office_zip
from parlour.files.extract.parts import Part, markdown_table
from parlour.files.extract.plain_text import decode_text
from parlour.files.problems import unreadable_file

MAX_CELLS = 3_000_000
_MOST_SHEETS = 500
_SNIFFED = 8_192
_SEPARATORS = ",;\t|"

type Cell = float | str | bool | dt.time | dt.date | dt.datetime | dt.timedelta


def extract(path: Path) -> list[Part]:
    """Every sheet that has something in it. UnreadableFile when it is broken, encrypted or a bomb."""
    check_office_zip(path, "xl/")
    try:
        workbook = CalamineWorkbook.from_path(str(path))
        return list(_sheets(workbook))
    except python_calamine.PasswordError as error:
        raise unreadable_file("encrypted") from error
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise unreadable_file("broken") from error


def extract_csv(path: Path) -> list[Part]:
    """Return the rows as one part, whichever character separates their fields."""
    text = decode_text(path.read_bytes())
    try:
        dialect: type[csv.Dialect] | csv.Dialect = csv.Sniffer().sniff(text[:_SNIFFED], _SEPARATORS)
    except csv.Error:
        dialect = csv.excel
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), dialect) if any(map(str.strip, row))]
    except csv.Error as error:
        raise unreadable_file("broken") from error
    return [Part(markdown_table(rows))]


def _sheets(workbook: CalamineWorkbook) -> Iterable[Part]:
    cells = 0
    for number, name in enumerate(workbook.sheet_names[:_MOST_SHEETS], start=1):
        sheet = workbook.get_sheet_by_name(name)
        cells += sheet.width * sheet.height
        if cells > MAX_CELLS:
            raise unreadable_file("too_long")
        rows = [[format_cell(cell) for cell in row] for row in sheet.to_python(skip_empty_area=True)]
        yield Part(markdown_table([row for row in rows if any(row)]), "sheet", number, name)


def format_cell(cell: Cell) -> str:
    """Return a cell as a reader would write it."""
    match cell:
        case bool():
            return "yes" if cell else "no"
        case float() if cell.is_integer() and abs(cell) < 1e15:
            return str(int(cell))
        case float():
            return f"{cell:.10g}"
        case dt.datetime() if cell.time() == dt.time():
            return cell.date().isoformat()
        case dt.datetime():
            return cell.isoformat(" ", "minutes")
        case _:
            return str(cell).strip()
