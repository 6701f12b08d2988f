"""The table: what was done to a conversation, what became of it, and which promises were broken."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One boundary, or one trial.

    what      the port call, or what was done.
    function  in whose worker; empty for a trial.
    number    of the port call within its invocation.
    after     whether the worker died after the call; None for what has no before and after.
    seconds   from the death until all had come to rest.
    """

    scenario: str
    subject: str
    function: str = ""
    number: int = 0
    is_after: bool | None = None
    outcome: str = ""
    broken_guarantees: tuple[str, ...] = ()
    redeliveries: int = 0
    seconds: float = 0.0


def print_table(rows: Sequence[ResultRow], console: Console, *, verbose: bool) -> None:
    """Print the table: one line per port call, before and after beside each other; broken ones stand out."""
    for scenario, group in groupby(rows, key=lambda row: row.scenario):
        chosen = list(group)
        kills = [row for row in chosen if row.is_after is not None]
        for row in chosen:
            if row.is_after is None:
                mark = "[red]x[/]" if row.broken_guarantees else "[green]ok[/]"
                console.print(f"{mark} [bold]{escape(scenario)}[/]: {escape(row.subject)}: {escape(row.outcome)}")
        if kills:
            console.print(_detail_table(kills) if verbose else _summary_table(kills))


def print_conclusion(rows: Sequence[ResultRow], console: Console) -> int:
    """Name every row that breaks a promise; the exit status."""
    broken = [row for row in rows if row.broken_guarantees]
    for row in broken:
        console.print(f"[red]x[/] {escape(_row_title(row))}", soft_wrap=True)
        for problem in row.broken_guarantees:
            console.print(f"     {escape(problem)}", soft_wrap=True)
    kills = [row for row in rows if row.is_after is not None]
    notes = Counter(row.outcome for row in kills if not row.broken_guarantees)
    for outcome, count in notes.most_common():
        console.print(f"   {count:4} x {escape(outcome)}")
    colour = "red" if broken else "green"
    console.print(f"[{colour}]{len(rows)} rows, of them {len(kills)} kills; {len(broken)} break a promise.[/]")
    return 1 if broken else 0


def write_json(rows: Sequence[ResultRow], file: Path) -> None:
    """All rows as JSON."""
    file.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n", "utf-8")


def before_and_after(rows: Sequence[ResultRow]) -> list[tuple[ResultRow | None, ResultRow | None]]:
    """The deaths before and after each port call, beside each other, in the order of the calls."""
    found: dict[tuple[str, int, str], dict[bool, ResultRow]] = {}
    for row in rows:
        found.setdefault((row.function, row.number, row.subject), {})[bool(row.is_after)] = row
    return [(pair.get(False), pair.get(True)) for pair in found.values()]


def _detail_table(rows: Sequence[ResultRow]) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="dim")
    for heading in ("#", "function", "port call", "killed before it", "killed after it"):
        table.add_column(heading)
    table.add_column("redelivered", justify="right")
    table.add_column("seconds", justify="right")
    for before, after in before_and_after(rows):
        row = before or after
        assert row is not None  # a pair has one of them
        both = [one for one in (before, after) if one]
        table.add_row(
            str(row.number),
            row.function,
            escape(row.subject),
            _format_outcome(before),
            _format_outcome(after),
            "|".join(str(one.redeliveries) for one in both),
            "|".join(f"{one.seconds:.0f}" for one in both),
        )
    return table


def _summary_table(rows: Sequence[ResultRow]) -> Table:
    """One line per function and outcome: how often, and how long it took."""
    table = Table(box=None, padding=(0, 1), header_style="dim")
    for heading in ("function", "kills", "outcome", "redelivered", "seconds", "where"):
        table.add_column(heading, justify="right" if heading in {"kills", "redelivered", "seconds"} else "left")
    groups: dict[tuple[str, str], list[ResultRow]] = {}
    for row in rows:
        groups.setdefault((row.function, row.outcome), []).append(row)
    usual = Counter(row.function for row in rows)
    for (function, _), group in groups.items():
        where = "" if len(group) * 2 > usual[function] else _boundary_names(group)
        table.add_row(
            function,
            str(len(group)),
            _format_outcome(group[0]),
            _format_range([row.redeliveries for row in group]),
            _format_range([round(row.seconds) for row in group]),
            escape(where),
        )
    return table


def _boundary_names(rows: Sequence[ResultRow]) -> str:
    named = [f"{'after' if row.is_after else 'before'} {row.number}. {row.subject}" for row in rows]
    return "; ".join(named[:4]) + (f"; and {len(named) - 4} more" if len(named) > 4 else "")


def _format_outcome(row: ResultRow | None) -> str:
    if row is None:
        return ""
    return f"[red]{escape('; '.join(row.broken_guarantees))}[/]" if row.broken_guarantees else escape(row.outcome)


def _format_range(values: Sequence[int]) -> str:
    return str(values[0]) if min(values) == max(values) else f"{min(values)}-{max(values)}"


def _row_title(row: ResultRow) -> str:
    when = "" if row.is_after is None else f", killed {'after' if row.is_after else 'before'} call {row.number}"
    return f"{row.scenario}{f', {row.function}' if row.function else ''}{when}: {row.subject}"
