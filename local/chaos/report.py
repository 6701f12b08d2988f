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
class Row:
    """One boundary, or one trial.

    what      the port call, or what was done.
    function  in whose worker; empty for a trial.
    number    of the port call within its invocation.
    after     whether the worker died after the call; None for what has no before and after.
    seconds   from the death until all had come to rest.
    """

    scenario: str
    what: str
    function: str = ""
    number: int = 0
    after: bool | None = None
    outcome: str = ""
    broken: tuple[str, ...] = ()
    redeliveries: int = 0
    seconds: float = 0.0


def show(rows: Sequence[Row], console: Console, *, verbose: bool) -> None:
    """Print the table: one line per port call, before and after beside each other; broken ones stand out."""
    for scenario, group in groupby(rows, key=lambda row: row.scenario):
        chosen = list(group)
        kills = [row for row in chosen if row.after is not None]
        for row in chosen:
            if row.after is None:
                mark = "[red]x[/]" if row.broken else "[green]ok[/]"
                console.print(f"{mark} [bold]{escape(scenario)}[/]: {escape(row.what)}: {escape(row.outcome)}")
        if kills:
            console.print(_table(kills) if verbose else _summary(kills))


def conclude(rows: Sequence[Row], console: Console) -> int:
    """Name every row that breaks a promise; the exit status."""
    broken = [row for row in rows if row.broken]
    for row in broken:
        console.print(f"[red]x[/] {escape(_place(row))}", soft_wrap=True)
        for problem in row.broken:
            console.print(f"     {escape(problem)}", soft_wrap=True)
    kills = [row for row in rows if row.after is not None]
    notes = Counter(row.outcome for row in kills if not row.broken)
    for outcome, count in notes.most_common():
        console.print(f"   {count:4} x {escape(outcome)}")
    colour = "red" if broken else "green"
    console.print(f"[{colour}]{len(rows)} rows, of them {len(kills)} kills; {len(broken)} break a promise.[/]")
    return 1 if broken else 0


def write(rows: Sequence[Row], file: Path) -> None:
    """All rows as JSON."""
    file.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n", "utf-8")


def pairs(rows: Sequence[Row]) -> list[tuple[Row | None, Row | None]]:
    """The deaths before and after each port call, beside each other, in the order of the calls."""
    found: dict[tuple[str, int, str], dict[bool, Row]] = {}
    for row in rows:
        found.setdefault((row.function, row.number, row.what), {})[bool(row.after)] = row
    return [(pair.get(False), pair.get(True)) for pair in found.values()]


def _table(rows: Sequence[Row]) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="dim")
    for heading in ("#", "function", "port call", "killed before it", "killed after it"):
        table.add_column(heading)
    table.add_column("redelivered", justify="right")
    table.add_column("seconds", justify="right")
    for before, after in pairs(rows):
        row = before or after
        assert row is not None  # a pair has one of them
        both = [one for one in (before, after) if one]
        table.add_row(
            str(row.number), row.function, escape(row.what), _outcome(before), _outcome(after),
            "|".join(str(one.redeliveries) for one in both), "|".join(f"{one.seconds:.0f}" for one in both),
        )  # fmt: skip
    return table


def _summary(rows: Sequence[Row]) -> Table:
    """One line per function and outcome: how often, and how long it took."""
    table = Table(box=None, padding=(0, 1), header_style="dim")
    for heading in ("function", "kills", "outcome", "redelivered", "seconds", "where"):
        table.add_column(heading, justify="right" if heading in {"kills", "redelivered", "seconds"} else "left")
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.function, row.outcome), []).append(row)
    usual = Counter(row.function for row in rows)
    for (function, _), group in groups.items():
        where = "" if len(group) * 2 > usual[function] else _where(group)
        table.add_row(
            function, str(len(group)), _outcome(group[0]), _range([row.redeliveries for row in group]),
            _range([round(row.seconds) for row in group]), escape(where),
        )  # fmt: skip
    return table


def _where(rows: Sequence[Row]) -> str:
    named = [f"{'after' if row.after else 'before'} {row.number}. {row.what}" for row in rows]
    return "; ".join(named[:4]) + (f"; and {len(named) - 4} more" if len(named) > 4 else "")


def _outcome(row: Row | None) -> str:
    if row is None:
        return ""
    return f"[red]{escape('; '.join(row.broken))}[/]" if row.broken else escape(row.outcome)


def _range(values: Sequence[int]) -> str:
    return str(values[0]) if min(values) == max(values) else f"{min(values)}-{max(values)}"


def _place(row: Row) -> str:
    when = "" if row.after is None else f", killed {'after' if row.after else 'before'} call {row.number}"
    return f"{row.scenario}{f', {row.function}' if row.function else ''}{when}: {row.what}"
