"""What was in a turn's prompts: by layer, candidate by candidate, compared with another, and made again."""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from parlour.cli import id_lookup, rendering, terminal
from parlour.cli.api_client import JsonOption, get_api_client
from parlour.cli.id_lookup import ID_HELP
from parlour.infra.errors import InvalidRequest

_BAR_CELLS = 40
_COLOURS = {
    "tools": "blue",
    "tiers": "cyan",
    "briefing": "green",
    "summary": "bright_green",
    "history": "yellow",
    "recall": "magenta",
    "memory": "bright_magenta",
    "deltas": "red",
    "state": "bright_blue",
    "heartbeat": "white",
    "reminder": "bright_red",
    "message": "bright_cyan",
    "calls": "bright_yellow",
}
_HEADINGS = ("kind", "candidate", "reason", "tokens", "score", "source")
_EXIT_DIFFERENT = 1
_RESTARTED = "the turn restarted here with current data"

Turn = Annotated[str, typer.Argument(metavar="TURN", help=f"Turn id, from `parlour turns`; {ID_HELP}.")]
Step = Annotated[int | None, typer.Option(min=1, help="Step of the turn; each round of tool calls has its own prompt.")]


def explain(
    context: typer.Context,
    turn: Turn,
    step: Step = None,
    diff: Annotated[
        str,
        typer.Option(metavar="OTHER", help="Compare with this turn; with TURN itself, compare with the previous step."),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Explain a turn's prompts: tokens by layer, what was left out and why, what was cached, and why tools failed."""
    target = get_api_client(context)
    turn_path = f"v1/turns/{id_lookup.turn_id(target, turn)}"
    path = f"{turn_path}/prompt"
    if diff:
        other = id_lookup.turn_id(target, diff)
        found = target.request("GET", f"{path}/diff", step=step, **{"with": other})
    else:
        found = target.request("GET", path, step=step)
    if as_json:
        terminal.print_json(found)
    else:
        terminal.print_renderable(render_diff(found) if diff else render_explanation(found))
        calls = [] if diff else target.request("GET", turn_path)["tool_calls"]
        if failed := [call for call in calls if call["problem"]]:
            terminal.print_renderable(rendering.render_tool_calls(failed))


def rebuild(
    context: typer.Context,
    turn: Turn,
    step: Step = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Assemble the prompt again with this token budget.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the prompt to this file, byte for byte.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Rebuild a turn's prompt from its record. The prompt goes to standard output, remarks go to standard error.
    The exit status is 1 when the bytes differ from those that were sent."""
    target = get_api_client(context)
    turn_id = id_lookup.turn_id(target, turn)
    found = target.request("GET", f"v1/turns/{turn_id}/prompt/rebuilt", step=step, budget=budget)
    text: str | None = found["text"]
    if text is not None and hashlib.sha256(text.encode()).hexdigest() != found["hash"]:
        found["is_identical"] = False
    if out is not None and text is not None:
        try:
            out.write_bytes(text.encode())
        except OSError as problem:
            raise InvalidRequest(f"{out} cannot be written: {problem.strerror}") from problem
    if as_json:
        terminal.print_json(found)
    else:
        terminal.print_renderable_to_stderr(render_rebuilt(found))
        if text is not None and out is None:
            sys.stdout.write(text)
    if budget is None and not found["is_identical"]:
        raise typer.Exit(_EXIT_DIFFERENT)


def render_explanation(found: Mapping[str, Any]) -> Group:
    """Every step of a turn, one after another."""
    turn, profile = found["turn"], found["profile"]
    head = (
        f"turn {turn['number']}, {len(turn['steps'])} prompts; budget {profile['total']:,} tokens ({profile['name']})"
    )
    parts: list[RenderableType] = [Text(head, style="bold"), *_deleted_sources(found["deleted_sources"])]
    for step in found["steps"]:
        parts += _render_step(step, profile["total"])
    return Group(*parts)


def render_diff(found: Mapping[str, Any]) -> Group:
    """Two prompts: which segments' bytes changed, where the first change is, who came and went."""
    one, other = found["before"], found["after"]
    parts: list[RenderableType] = [
        Text(f"turn {one['number']} step {one['step']} -> turn {other['number']} step {other['step']}", style="bold")
    ]
    rows = [
        (each["layer"], each["change"], f"{each['before']:,}", f"{each['after']:,}", f"{each['delta']:+,}")
        for each in found["segments"]
    ]
    parts.append(rendering.make_table(("layer", "bytes", "before", "after", "tokens"), rows))
    if first := found["first_change"]:
        parts += _heading(f"first change: byte {first['byte']:,}, in {first['layer']} (block {first['block']})")
        parts.append(
            Text(rendering.strip_control_codes(f"- {_one_line(first['before'])}\n+ {_one_line(first['after'])}"))
        )
    else:
        parts += _heading("no change")
    if other["restarted"]:
        parts += _heading(f"{_RESTARTED}: the two prompts have little in common")
    for name, said in (
        ("added", "added"),
        ("removed", "removed"),
        ("now_in", "included now"),
        ("now_out", "left out now"),
    ):
        parts += _candidate_section(said, found[name])
    return Group(*parts)


def render_rebuilt(found: Mapping[str, Any]) -> Group:
    """Render what there is to say about a rebuilt prompt."""
    recorded = f"step {found['step']}, recorded {found['recorded_hash']}"
    if found["withheld"]:
        layers = ", ".join(sorted({one["layer"] for one in found["withheld"]}))
        many = len(found["withheld"])
        line = f"{many} parts are withheld, because their sources were restricted or deleted since ({layers})"
        return Group(Text(recorded), Text(line, style="bold red"))
    if found["erased"]:
        gone = ", ".join(sorted({one["layer"] for one in found["erased"]}))
        many = len(found["erased"])
        parts_gone = "1 part was" if many == 1 else f"{many} parts were"
        line = f"{parts_gone} erased ({gone}): the prompt cannot be rebuilt byte for byte"
        return Group(Text(recorded), Text(line, style="bold red"))
    same = "identical bytes" if found["is_identical"] else "DIFFERENT from the bytes that were sent"
    parts: list[RenderableType] = [Text(recorded), Text(f"     rebuilt {found['hash']}: {same}", style="bold")]
    parts += _deleted_sources(found["deleted_sources"])
    again = found["reassembly"]
    if again is None:
        return Group(*parts)
    parts[1] = Text(f"{again['tokens']:,} of {again['budget']:,} tokens; sent with {again['tokens_before']:,}")
    parts.append(_layer_table(again["layers"], again["budget"]))
    for name in ("dropped", "shortened", "added"):
        parts += _candidate_section(name, again[name])
    return Group(*parts)


def _deleted_sources(sources: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    """Which sources were deleted since."""
    if not sources:
        return []
    named = ", ".join(f"{one['table']} {one['id']}" for one in sources)
    return [Text(rendering.strip_control_codes(f"deleted since: {named}"), style="yellow")]


def _render_step(step: Mapping[str, Any], budget: int) -> list[RenderableType]:
    restarted = f"; {_RESTARTED}" if step["restarted"] else ""
    parts = _heading(
        f"step {step['step']}: {step['tokens']:,} tokens, {step['model']}, {step['prompt_hash'][:12]}{restarted}"
    )
    layers = step["layers"]
    bar, drawn, tokens = Text(), 0, 0
    for one in layers:
        tokens += one["tokens"]
        end = round(tokens / budget * _BAR_CELLS * 2)
        bar.append("█" * (end - drawn), _COLOURS.get(one["layer"], "white"))
        drawn = end
    parts += [bar.append("░" * max(0, _BAR_CELLS * 2 - drawn), "dim"), _layer_table(step["layers"], step["tokens"])]
    said = [
        f"cache breakpoints after {', '.join(format(one['tokens'], ',') for one in step['breakpoints'])} tokens"
        if step["breakpoints"]
        else "no cache breakpoint"
    ]
    if step["cached"]["tokens"]:
        said.append(f"the first {step['cached']['tokens']:,} tokens were cached")
    if step["refresh_causes"]:
        said.append(f"briefing rebuilt: {', '.join(step['refresh_causes'])}")
    parts.append(Text("; ".join(said), style="dim"))
    if miss := step["cache_miss"]:
        cost = f", ${miss['cost_usd']}" if miss["cost_usd"] else ""
        line = f"cache miss from {miss['layer']} on, because of {miss['cause']}: {miss['tokens']:,} tokens{cost}"
        parts.append(Text(line, style="bold red"))
    entries = step["candidates"]
    parts += _candidate_section("out", [one for one in entries if not one["is_included"]])
    parts += _candidate_section("in", [one for one in entries if one["is_included"]])
    return parts


def _layer_table(layers: Sequence[Mapping[str, Any]], whole: int) -> Table:
    most = max(*(one["tokens"] for one in layers), 1)
    grid = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("", "layer"):
        grid.add_column(heading)
    grid.add_column("", width=_BAR_CELLS // 2)
    for heading in ("tokens", "share", "floor", "cap"):
        grid.add_column(heading, justify="right")
    for one in layers:
        colour = _COLOURS.get(one["layer"], "white")
        cells = "█" * max(round(one["tokens"] / most * (_BAR_CELLS // 2)), 1 if one["tokens"] else 0)
        share = f"{one['tokens'] / whole:.0%}" if one["tokens"] else ""
        limits = [f"{one[name]:,}" if one[name] is not None else "" for name in ("floor", "cap")]
        grid.add_row(str(one["number"]), one["layer"], Text(cells, colour), f"{one['tokens']:,}", share, *limits)
    return grid


def _candidate_section(title: str, entries: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    if not entries:
        return []
    rows = []
    for one in entries:
        source = one["source"]
        version = f" v{source['version']}" if source["version"] else ""
        reason = one["reason"] or ("shortened" if one["is_shortened"] else "")
        rows.append(
            (
                one["kind"],
                "(erased)" if one["is_erased"] and not one["title"] else one["title"],
                str(reason).replace("_", " "),
                f"{one['tokens']:,}",
                f"{one['score']:.2f}" if one["score"] else "",
                f"{source['table']} {source['id']}{version}",
            )
        )
    return [
        *_heading(f"{title}: {len(entries)}"),
        rendering.make_candidate_table(_HEADINGS, rows),
    ]


def _one_line(text: str) -> str:
    return text.replace("\n", " ") or "(no text)"


def _heading(text: str) -> list[RenderableType]:
    return [Text(f"\n{text}", style="dim")]
