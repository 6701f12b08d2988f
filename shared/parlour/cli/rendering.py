"""Turns, lists and bars for a terminal. What others wrote is shown as text: no markup, no control codes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from rich.bar import Bar
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BAR_CELLS = 28
_MAX_QUESTION_CELLS = 74
_GAP_CELLS = 2
_MIN_TEXT_CELLS = 20
"""A column of text is never narrower than this, or than its longest text."""

_MIN_COLUMN_CELLS = {"kind": 13, "candidate": 20, "reason": 10, "level": 10}


def strip_control_codes(text: str) -> str:
    """`text` without the codes by which it could move the cursor or rename the window."""
    return _CONTROL.sub("", text)


@dataclass(frozen=True, slots=True)
class _RowList:
    """Rows as a table where the terminal is wide enough, else each row as lines of a heading and its value."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        natural = [max(map(_cell_width, column)) for column in zip(self.headings, *self.rows, strict=True)]
        least = [*(min(width, _MIN_TEXT_CELLS) for width in natural[:-1]), natural[-1]]
        if sum(least) + _GAP_CELLS * len(least) <= options.max_width:
            drawn = Table(box=None, header_style="bold", pad_edge=False, padding=(0, _GAP_CELLS, 0, 0))
            for heading, cells in zip(self.headings, least, strict=True):
                drawn.add_column(heading, overflow="fold", min_width=cells)
            for row in self.rows:
                drawn.add_row(*map(Text, row))
            yield drawn
            return
        for row in self.rows:
            named = zip(self.headings, row, strict=True)
            yield make_value_table([(heading, value) for heading, value in named if value])
            yield Text("")


def make_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> RenderableType:
    """Return rows below their headings. The last column is an id or a number to copy: it is never broken.

    Where the terminal is too narrow for readable columns, each row is a block of lines.
    """
    return _RowList(headings, [[strip_control_codes(str(cell)) for cell in row] for row in rows])


def make_value_table(pairs: Iterable[tuple[str, object]]) -> Table:
    """Return names with their values beside them. Values wrap; names never do."""
    drawn = Table.grid(padding=(0, _GAP_CELLS, 0, 0))
    drawn.add_column(no_wrap=True, style="dim")
    drawn.add_column(overflow="fold")
    for name, value in pairs:
        drawn.add_row(Text(strip_control_codes(name)), Text(strip_control_codes(str(value))))
    return drawn


def _cell_width(text: str) -> int:
    return max((cell_len(line) for line in text.splitlines()), default=0)


def make_candidate_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Return a table of a prompt's candidates.

    A narrow terminal cuts the sources, which come last (`--json` has them whole): the titles are read first.
    """
    drawn = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings[:-1]:
        drawn.add_column(heading, overflow="fold", min_width=_MIN_COLUMN_CELLS.get(heading, len(heading)))
    drawn.add_column(headings[-1], no_wrap=True, overflow="ellipsis")
    for row in rows:
        drawn.add_row(*(Text(strip_control_codes(str(cell))) for cell in row))
    return drawn


def pluralize(amount: int, noun: str) -> str:
    """Return "1 message" or "12 messages"."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{amount:,} {noun if amount == 1 else plural}"


def render_turns(found: Sequence[Mapping[str, Any]]) -> Group:
    """Each turn in three lines: when and how much, what was asked, and the id that `parlour turn` takes."""
    return Group(*(Text.assemble(*_turn_heading(turn), (f"\n  {turn['id']}", "dim")) for turn in found))


def render_turn(found: Mapping[str, Any]) -> Group:
    """One turn: what was asked, where the time and the tokens went, the reply and its sources."""
    parts: list[RenderableType] = [Text.assemble(*_turn_heading(found))]
    parts += _titled("time by stage, ms", _render_bars(_ordered(found["stage_ms"], _STAGES), "green"))
    layers = _ordered(found["tokens_by_layer"], _LAYERS)
    parts += _titled("tokens of the last prompt by layer", _render_bars(layers, "yellow"))
    parts += _titled(
        "model calls",
        make_table(_CALL_HEADINGS, map(_call_row, found["model_calls"])) if found["model_calls"] else None,
    )
    parts += _titled("tools", render_tool_calls(found["tool_calls"]) if found["tool_calls"] else None)
    reply = found["reply"]
    parts += _titled("reply", Text(strip_control_codes(reply["text"])) if reply else None)
    parts += _titled("sources", render_sources(reply["citations"]) if reply and reply["citations"] else None)
    return Group(*parts)


def render_sources(citations: Iterable[Mapping[str, Any]]) -> Text:
    """`[1] title, locator`, one a line."""
    lines = [f"[{one['number']}] {', '.join(filter(None, (one['title'], one['locator'])))}" for one in citations]
    return Text(strip_control_codes("\n".join(lines)))


def render_tool_calls(found: Sequence[Mapping[str, Any]]) -> Group:
    """Return a table of calls; below it, for each failed one, what its developer needs to know."""
    details = [f"{call['name']}: {call['detail']}" for call in found if call["detail"]]
    return Group(
        make_table(_TOOL_HEADINGS, map(_tool_row, found)), *(Text(strip_control_codes(detail)) for detail in details)
    )


def format_time(text: str | None) -> str:
    """Return an ISO time as local time, to the second."""
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S") if text else ""


_TOOL_HEADINGS = ("tool", "outcome", "ms", "id", "problem")
_CALL_HEADINGS = ("model", "outcome", "in", "cached", "written", "out", "first ms", "ms", "cost")


def _turn_heading(found: Mapping[str, Any]) -> tuple[str | tuple[str, str], ...]:
    asked = " / ".join(one["text"] for one in found["input_messages"]) or "(no text)"
    tokens = found["total_prompt_tokens"] + found["total_output_tokens"]
    short = asked if len(asked) <= _MAX_QUESTION_CELLS else asked[: _MAX_QUESTION_CELLS - 1] + "…"
    facts = (
        format_time(found["frozen_at"]),
        found["binding"],
        "degraded" if found["degraded"] else found["state"],
        f"{found['total_ms'] / 1_000:.2f} s" if found["total_ms"] is not None else "",
        f"{tokens:,} tokens",
        _format_dollars(found["cost_usd"]),
    )
    return "  ".join(filter(None, facts)), (f"\n  {strip_control_codes(short.replace(chr(10), ' '))}", "bold")


_STAGES = ("wait", "load", "recall", "assemble", "pictures", "model", "tools", "save")
_LAYERS = (
    "tools",
    "tiers",
    "briefing",
    "summary",
    "history",
    "recall",
    "memory",
    "deltas",
    "state",
    "heartbeat",
    "reminder",
    "message",
    "calls",
)
_TOKEN_FIELDS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")


def _call_row(call: Mapping[str, Any]) -> Sequence[object]:
    tokens = [f"{call[name]:,}" for name in _TOKEN_FIELDS]
    first = call["first_token_ms"] if call["first_token_ms"] is not None else ""
    return (
        f"{call['provider']} {call['model']}",
        call["outcome"],
        *tokens,
        first,
        call["latency_ms"],
        _format_dollars(call["cost_usd"]),
    )


def _tool_row(tool: Mapping[str, Any]) -> Sequence[object]:
    took = tool["latency_ms"] if tool["latency_ms"] is not None else ""
    return tool["name"], tool["state"], took, tool["id"], strip_control_codes(tool["problem"] or "")


def _format_dollars(cost: str | None) -> str:
    if cost is None:
        return "cost unknown"
    return f"${Decimal(cost).normalize():f}"


def _ordered(amounts: Mapping[str, int], names: Sequence[str]) -> dict[str, int]:
    """Return the known names in their order, then the others: JSON from the database has no order."""
    known = [name for name in names if name in amounts]
    return {name: amounts[name] for name in [*known, *(name for name in amounts if name not in known)]}


def _render_bars(amounts: Mapping[str, int], colour: str) -> Table | None:
    if not amounts:
        return None
    most = max(*amounts.values(), 1)
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(min_width=14)
    grid.add_column(width=_BAR_CELLS)
    grid.add_column(justify="right")
    for name, amount in amounts.items():
        grid.add_row(strip_control_codes(name).replace("_", " "), Bar(most, 0, amount, color=colour), f"{amount:,}")
    return grid


def _titled(title: str, body: RenderableType | None) -> list[RenderableType]:
    return [] if body is None else [Text(f"\n{title}", style="dim"), Padding(body, (0, 0, 0, 2))]
