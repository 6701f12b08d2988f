"""What every benchmark shares: its one option, percentiles, a table on the screen and the same as JSON."""

import argparse
import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

type Cell = float | int | str

_SMALL = 0.1
"""Below it two digits behind the point say too little."""


def json_file(description: str) -> Path | None:
    """Parse the command line; where to write the figures, None for the screen alone."""
    chosen: Path | None = parser(description).parse_args().json
    return chosen


def parser(description: str) -> argparse.ArgumentParser:
    """A command line with the one option that every benchmark has."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    return made


def percentile(values: Sequence[float], percent: int) -> float:
    """The value below which `percent` of the values lie; of one value, that value."""
    return values[0] if len(values) == 1 else statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def show(title: str, rows: Sequence[Mapping[str, Cell]]) -> None:
    """Print rows of equal keys as a table; the keys are the headings."""
    table = Table(title=title, title_justify="left")
    for heading in rows[0]:
        table.add_column(heading, justify="left" if isinstance(rows[0][heading], str) else "right")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    Console().print(table)


def to_markdown(rows: Sequence[Mapping[str, Cell]]) -> str:
    """Return rows of equal keys as a table of a page; all columns but the first are numbers."""
    headings = list(rows[0])
    lines = [headings, ["---", *["---:"] * (len(headings) - 1)]]
    lines += [[f"{cell:,}" if not isinstance(cell, str) else cell for cell in row.values()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(file: Path | None, figures: object) -> None:
    """Write the figures as JSON, if a file was asked for."""
    if file is not None:
        file.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


def _cell(value: Cell) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.2g}" if 0 < abs(value) < _SMALL else f"{value:,.2f}"
