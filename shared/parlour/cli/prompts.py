"""What was in a turn's prompts: by layer, candidate by candidate, compared with another, and made again."""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from parlour.cli import drawing, terminal
from parlour.cli.target import Json, target_of
from parlour.infra.errors import InvalidRequest

_CELLS = 40
_COLOURS = {
    "tools": "blue", "tiers": "cyan", "briefing": "green", "summary": "bright_green", "history": "yellow",
    "recall": "magenta", "memory": "bright_magenta", "deltas": "red", "state": "bright_blue",
    "heartbeat": "white", "reminder": "bright_red", "message": "bright_cyan", "calls": "bright_yellow",
}  # fmt: skip
_HEADINGS = ("lot", "what", "why", "tokens", "score", "source")
_DIFFERENT = 1
_ANEW = "the turn was begun anew here, from what there was by then"

Turn = Annotated[UUID, typer.Argument(metavar="TURN", help="Its id, from `parlour turns`.")]
Step = Annotated[int | None, typer.Option(min=1, help="Which of the turn's prompts; each round of tools makes one.")]


def explain(
    context: typer.Context,
    turn: Turn,
    step: Step = None,
    diff: Annotated[
        UUID | None,
        typer.Option(metavar="OTHER", help="What changed since this turn; since the step before for TURN itself."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Where the tokens of a turn's prompts went, what was left out and why, and what the cache had of it."""
    path = f"v1/turns/{turn}/prompt"
    target = target_of(context)
    if diff is not None:
        found = target.call("GET", f"{path}/diff", step=step, **{"with": diff})
    else:
        found = target.call("GET", path, step=step)
    if as_json:
        terminal.machine(found)
    else:
        terminal.show(compared(found) if diff else explained(found))


def rebuild(
    context: typer.Context,
    turn: Turn,
    step: Step = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Assemble it again under so many tokens.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the prompt there, byte for byte.")] = None,
    as_json: Json = False,
) -> None:
    """Make a turn's prompt again from its record. The prompt goes to standard output, what is said of it to standard
    error; the exit status is 1 when it is not the one that was sent."""
    found = target_of(context).call("GET", f"v1/turns/{turn}/prompt/rebuilt", step=step, budget=budget)
    text: str | None = found["text"]
    if text is not None and hashlib.sha256(text.encode()).hexdigest() != found["hash"]:
        found["matches"] = False
    if out is not None and text is not None:
        _write(out, text)
    if as_json:
        terminal.machine(found)
    else:
        terminal.aside(rebuilt(found))
        if text is not None and out is None:
            sys.stdout.write(text)
    if budget is None and not found["matches"]:
        raise typer.Exit(_DIFFERENT)


def explained(found: Mapping[str, Any]) -> Group:
    """Every step of a turn, one after another."""
    turn, profile = found["turn"], found["profile"]
    head = (
        f"turn {turn['number']}, {len(turn['steps'])} prompts; budget {profile['total']:,} tokens ({profile['name']})"
    )
    parts: list[RenderableType] = [Text(head, style="bold"), *_gone(found["gone"])]
    for step in found["steps"]:
        parts += _step(step, profile["total"])
    return Group(*parts)


def compared(found: Mapping[str, Any]) -> Group:
    """Two prompts: which segments' bytes changed, where the first change is, who came and went."""
    one, other = found["before"], found["after"]
    parts: list[RenderableType] = [
        Text(f"turn {one['number']} step {one['step']} -> turn {other['number']} step {other['step']}", style="bold")
    ]
    rows = [
        (each["layer"], each["change"], f"{each['before']:,}", f"{each['after']:,}", f"{each['delta']:+,}")
        for each in found["segments"]
    ]
    parts.append(drawing.table(("layer", "bytes", "before", "after", "tokens"), rows))
    if first := found["first_change"]:
        parts += _title(f"the first change: byte {first['byte']:,}, in {first['layer']} (block {first['block']})")
        parts.append(Text(drawing.plain(f"- {_line(first['before'])}\n+ {_line(first['after'])}")))
    else:
        parts += _title("not a byte changed")
    if other["anew"]:
        parts += _title(f"{_ANEW}: the two have little in common")
    for name, said in (
        ("added", "new"), ("removed", "gone"), ("now_in", "in, was out"), ("now_out", "out, was in")
    ):  # fmt: skip
        parts += _candidates(said, found[name])
    return Group(*parts)


def rebuilt(found: Mapping[str, Any]) -> Group:
    """What is to be said of a prompt that was made again."""
    recorded = f"step {found['step']}, recorded {found['recorded_hash']}"
    if found["withheld"]:
        layers = ", ".join(sorted({one["layer"] for one in found["withheld"]}))
        many = len(found["withheld"])
        line = f"{many} parts of it rest on what was closed or deleted since ({layers}): not yours to read"
        return Group(Text(recorded), Text(line, style="bold red"))
    if found["forgotten"]:
        gone = ", ".join(sorted({one["layer"] for one in found["forgotten"]}))
        many = len(found["forgotten"])
        parts_gone = "1 part of it was" if many == 1 else f"{many} parts of it were"
        line = f"{parts_gone} forgotten ({gone}): it cannot be made again byte for byte"
        return Group(Text(recorded), Text(line, style="bold red"))
    same = "the same bytes" if found["matches"] else "NOT the bytes that were sent"
    parts: list[RenderableType] = [Text(recorded), Text(f"        made {found['hash']}: {same}", style="bold")]
    parts += _gone(found["gone"])
    if "budget" not in found:
        return Group(*parts)
    parts[1] = Text(f"{found['tokens']:,} of {found['budget']:,} tokens; as it was sent, {found['tokens_before']:,}")
    parts.append(_layers(found["layers"], found["budget"]))
    for name in ("dropped", "shortened", "added"):
        parts += _candidates(name, found[name])
    return Group(*parts)


def _gone(sources: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    """Which sources were deleted since."""
    if not sources:
        return []
    named = ", ".join(f"{one['table']} {one['id']}" for one in sources)
    return [Text(drawing.plain(f"deleted since: {named}"), style="yellow")]


def _step(step: Mapping[str, Any], budget: int) -> list[RenderableType]:
    anew = f"; {_ANEW}" if step["anew"] else ""
    parts = _title(f"step {step['step']}: {step['tokens']:,} tokens, {step['model']}, {step['hash'][:12]}{anew}")
    parts += [_stack(step["layers"], budget), _layers(step["layers"], step["tokens"])]
    said = [f"marked after {', '.join(format(one['tokens'], ',') for one in step['marks'])} tokens" if step["marks"]
            else "no mark for the cache"]  # fmt: skip
    if step["cached"]["tokens"]:
        said.append(f"the first {step['cached']['tokens']:,} were cached")
    if step["causes"]:
        said.append(f"briefing rendered anew: {', '.join(step['causes'])}")
    parts.append(Text("; ".join(said), style="dim"))
    if miss := step["miss"]:
        cost = f", ${miss['cost_usd']}" if miss["cost_usd"] else ""
        line = f"cache miss from {miss['layer']} on, because of {miss['cause']}: {miss['tokens']:,} tokens{cost}"
        parts.append(Text(line, style="bold red"))
    entries = step["candidates"]
    parts += _candidates("out", [one for one in entries if not one["in"]])
    parts += _candidates("in", [one for one in entries if one["in"]])
    return parts


def _stack(layers: Sequence[Mapping[str, Any]], budget: int) -> Text:
    """The whole budget as one bar, a colour for each layer."""
    bar, drawn, tokens = Text(), 0, 0
    for one in layers:
        tokens += one["tokens"]
        end = round(tokens / budget * _CELLS * 2)
        bar.append("█" * (end - drawn), _COLOURS.get(one["layer"], "white"))
        drawn = end
    return bar.append("░" * max(0, _CELLS * 2 - drawn), "dim")


def _layers(layers: Sequence[Mapping[str, Any]], whole: int) -> Table:
    most = max(*(one["tokens"] for one in layers), 1)
    grid = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("", "layer"):
        grid.add_column(heading)
    grid.add_column("", width=_CELLS // 2)
    for heading in ("tokens", "share", "floor", "cap"):
        grid.add_column(heading, justify="right")
    for one in layers:
        colour = _COLOURS.get(one["layer"], "white")
        cells = "█" * max(round(one["tokens"] / most * (_CELLS // 2)), 1 if one["tokens"] else 0)
        share = f"{one['tokens'] / whole:.0%}" if one["tokens"] else ""
        limits = [f"{one[name]:,}" if one[name] is not None else "" for name in ("floor", "cap")]
        grid.add_row(str(one["number"]), one["layer"], Text(cells, colour), f"{one['tokens']:,}", share, *limits)
    return grid


def _candidates(title: str, entries: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    if not entries:
        return []
    rows = [
        (one["lot"], "(forgotten)" if one["forgotten"] and not one["title"] else one["title"], _fate(one),
         f"{one['tokens']:,}", f"{one['score']:.2f}" if one["score"] else "", _source(one["source"]))
        for one in entries
    ]  # fmt: skip
    return [
        *_title(f"{title}: {len(entries)}"),
        drawing.candidates(_HEADINGS, rows),
    ]


def _fate(one: Mapping[str, Any]) -> str:
    if one["reason"]:
        return str(one["reason"]).replace("_", " ")
    return "shortened" if one["shortened"] else ""


def _source(source: Mapping[str, Any]) -> str:
    version = f" v{source['version']}" if source["version"] else ""
    return f"{source['table']} {source['id']}{version}"


def _line(text: str) -> str:
    return text.replace("\n", " ") or "(nothing)"


def _title(text: str) -> list[RenderableType]:
    return [Text(f"\n{text}", style="dim")]


def _write(out: Path, text: str) -> None:
    try:
        out.write_bytes(text.encode())
    except OSError as problem:
        raise InvalidRequest(f"{out} cannot be written: {problem.strerror}") from problem
