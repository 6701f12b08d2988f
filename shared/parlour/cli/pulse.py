"""What is going on with a record, in a terminal: its Pulse, why it says so, what it said before, and what all cost."""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from parlour.cli import rendering, terminal
from parlour.cli.api_client import ApiClient, JsonOption, get_api_client
from parlour.infra.errors import InvalidRequest

_LEVELS = ("public", "internal", "confidential", "restricted")
_POLL_SECONDS = 2.0
"""Seconds between two looks for an answer; `_LOOKS` of them."""

_MAX_POLLS = 45

app = typer.Typer(help="The Pulse of a record: its cached, cited summary.", no_args_is_help=True)
Handle = Annotated[str, typer.Argument(metavar="HANDLE", help="Like project/harbour.")]


@app.command(epilog="Examples: parlour pulse show risk/R-03; parlour pulse show risk/R-03 --diff")
def show(
    context: typer.Context,
    handle: Handle,
    history: Annotated[bool, typer.Option("--history", help="List earlier versions, newest first.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Compare the two newest versions.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a record's Pulse with its sources, since when and why it is stale, and what changed since."""
    if history and diff:
        raise InvalidRequest("use one of --history and --diff")
    part = "/history" if history else "/diff" if diff else ""
    found = get_api_client(context).request("GET", _pulse_path(handle) + part)
    if as_json:
        terminal.print_json(found)
    else:
        terminal.print_renderable(
            render_versions(found) if history else render_diff(found) if diff else render_pulse(found)
        )


@app.command(epilog="Examples: parlour pulse refresh risk/R-03; parlour pulse refresh risk/R-03 -q 'Who decides?'")
def refresh(
    context: typer.Context,
    handle: Handle,
    question: Annotated[
        str, typer.Option("--question", "-q", help="Ask a question instead; only you see the answer.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Refresh a record's Pulse now, or ask a question about the record, and show the result."""
    target, path = get_api_client(context), _pulse_path(handle)
    before = target.request("GET", path, poll=True)
    asked = target.request("POST", f"{path}/refresh", {"question": question})
    if asked["question_id"]:
        found = _poll_until(
            target, f"{path}/questions/{asked['question_id']}", lambda now: now["answered_at"] or now["problem"]
        )
    else:
        found = _poll_until(target, path, lambda now: _is_refreshed(before, now), poll=True)
    if as_json:
        terminal.print_json(found)
    else:
        terminal.print_renderable(render_answer(found) if asked["question_id"] else render_pulse(found))


@app.command(epilog="Examples: parlour pulse explain risk/R-03; parlour pulse explain risk/R-03 --prompt")
def explain(
    context: typer.Context,
    handle: Handle,
    version: Annotated[
        int | None, typer.Option(min=1, help="Explain this version instead of the latest attempt.")
    ] = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print only the rebuilt prompt.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Explain the prompt of a record's Pulse: what was included, what was left out and why, and the result."""
    found = get_api_client(context).request("GET", f"{_pulse_path(handle)}/prompt", version=version)
    if as_json:
        terminal.print_json(found)
    elif prompt:
        terminal.print_line(found["prompt"] or "parts of the prompt were erased; it cannot be rebuilt")
    else:
        terminal.print_renderable(render_explanation(found))


@app.command(epilog="Example: parlour pulse stats --days 14")
def stats(
    context: typer.Context,
    days: Annotated[int, typer.Option(min=1, max=90, help="Number of days including today (UTC).")] = 7,
    as_json: JsonOption = False,
) -> None:
    """Show Pulse statistics: versions and changes by day, cost, and freshness when read."""
    found = get_api_client(context).request("GET", "v1/pulses", days=days)
    if as_json:
        terminal.print_json(found)
    else:
        terminal.print_renderable(render_stats(found))


@app.command(epilog="Examples: parlour pulse cap 2.50; parlour pulse cap default")
def cap(
    context: typer.Context,
    usd: Annotated[
        str, typer.Argument(metavar="USD", help="US dollars per day, or `default` for the deployment's budget.")
    ],
) -> None:
    """Set the tenant's daily Pulse budget. The daily cap applies as well."""
    try:
        wanted = None if usd == "default" else str(Decimal(usd.removeprefix("$")))
    except InvalidOperation:
        raise InvalidRequest("give an amount like 5 or 2.50, or `default` for the deployment's budget") from None
    found = get_api_client(context).request("PUT", "v1/pulses/cap", {"pulse_daily_cap_usd": wanted})
    terminal.print_renderable(_today_text(found["now"]))


def render_pulse(found: Mapping[str, Any]) -> Group:
    """Render the Pulse, its sources and its state."""
    pulse = found["pulse"]
    parts: list[RenderableType] = [
        Text.assemble((rendering.strip_control_codes(found["name"]), "bold"), ("  " + found["record"], "dim"))
    ]
    if pulse is None:
        parts.append(
            Text(
                "hidden until it is rewritten, because a source was restricted"
                if found["is_withheld"]
                else "no Pulse yet"
            )
        )
    else:
        facts = (
            f"updated {rendering.format_time(pulse['generated_at'])}, visible at: {_LEVELS[pulse['level']]}",
            f"version {pulse['version']}",
            pulse["model"],
            f"${Decimal(pulse['cost_usd']).normalize():f}",
        )
        parts += [
            Text(rendering.strip_control_codes(", ".join(facts)), style="dim"),
            Text("\n" + rendering.strip_control_codes(pulse["markdown"])),
        ]
        parts += [Text("\n"), rendering.render_sources(pulse["citations"])] if pulse["citations"] else []
    return Group(*parts, *_render_staleness(found))


def render_answer(found: Mapping[str, Any]) -> Group:
    """Render a question and its answer."""
    parts: list[RenderableType] = [Text(rendering.strip_control_codes(found["question"]), style="bold")]
    if found["problem"]:
        return Group(*parts, Text(f"no answer: {found['problem']}", style="bold red"))
    if not found["answered_at"]:
        return Group(*parts, Text("no answer yet; try again later", style="dim"))
    parts.append(Text("\n" + rendering.strip_control_codes(found["markdown"])))
    return Group(*parts, *([Text("\n"), rendering.render_sources(found["citations"])] if found["citations"] else []))


def render_versions(found: Mapping[str, Any]) -> RenderableType:
    """Every text, the newest first."""
    if not found["versions"]:
        return Text("no Pulse yet")
    parts: list[RenderableType] = []
    for one in found["versions"]:
        causes = ", ".join(cause["cause"].replace("_", " ") for cause in one["causes"] or ())
        told = f"version {one['version']}  {rendering.format_time(one['generated_at'])}"
        told += f"  for: {causes}" if causes else ""
        parts += [Text(told, style="bold"), Text(rendering.strip_control_codes(one["markdown"]) + "\n")]
    return Group(*parts)


def render_diff(found: Mapping[str, Any]) -> Group:
    """Render what changed between two texts, statement by statement."""
    before, after = found["before"], found["after"]
    head = f"version {before['version']} -> {after['version']}" if before else f"version {after['version']}, the first"
    parts: list[RenderableType] = [Text(head, style="bold")]
    parts += [Text(rendering.strip_control_codes(f"- {one}"), style="red") for one in found["removed"]]
    for one in found["changed"]:
        parts += [
            Text(rendering.strip_control_codes(f"- {one['before']}"), style="red"),
            Text(rendering.strip_control_codes(f"+ {one['after']}")),
        ]
    parts += [Text(rendering.strip_control_codes(f"+ {one}"), style="green") for one in found["added"]]
    parts.append(Text(f"{len(found['unchanged'])} statements unchanged", style="dim"))
    return Group(*parts)


def render_explanation(found: Mapping[str, Any]) -> Group:
    """Render a prompt: its outcome, its layers, and every candidate."""
    text = (
        f"version {found['version']}"
        if found["version"]
        else rendering.strip_control_codes(found["outcome"]).replace("_", " ")
    )
    head = f"{found['record']}, visible at: {_LEVELS[found['level']]}: {text}, {rendering.format_time(found['at'])}"
    same = (
        "parts were erased" if found["is_erased"] else "identical bytes" if found["is_identical"] else "DIFFERENT bytes"
    )
    layers = ", ".join(f"{one['layer']} {one['tokens']:,}" for one in found["layers"])
    facts = f"{found['tokens']:,} of {found['budget']:,} tokens ({layers}); {found['model']}; rebuilt: {same}"
    parts: list[RenderableType] = [
        Text(rendering.strip_control_codes(head), style="bold"),
        Text(rendering.strip_control_codes(facts), style="dim"),
    ]
    for title, is_in in (("in", True), ("out", False)):
        rows = [_candidate_row(one) for one in found["candidates"] if (one["reason"] is None) is is_in]
        if rows:
            parts += [Text(f"\n{title}: {len(rows)}", style="dim")]
            parts.append(
                rendering.make_candidate_table(
                    ("kind", "candidate", "reason", "level", "tokens", "score", "source"), rows
                )
            )
    return Group(*parts)


def _candidate_row(one: Mapping[str, Any]) -> Sequence[object]:
    why = (one["reason"] or ("shortened" if one["is_shortened"] else "")).replace("_", " ")
    return (
        one["kind"],
        one["title"],
        why,
        _LEVELS[one["level"]],
        f"{one['tokens']:,}",
        f"{one['score']:.2f}",
        one["source"],
    )


def render_stats(found: Mapping[str, Any]) -> Group:
    """How Pulses stand, every day, and the dearest records."""
    parts: list[RenderableType] = [_today_text(found["now"])]
    if found["days"]:
        rows = [(one["day"], *_stat_row(one)) for one in found["days"]]
        rows.append(("all", *_stat_row(found["total"])))
        parts += [
            Text("\nby day, UTC", style="dim"),
            rendering.make_table(("", *_STAT_COLUMNS), rows),
            Text(_COLUMN_NOTES, style="dim"),
        ]
    if found["most_expensive"]:
        dear = [
            (*(one[name] for name in _TOP_RECORD_FIELDS), _format_dollars(one["cost_usd"]), one["record"])
            for one in found["most_expensive"]
        ]
        heads = ("", "written", "skipped", "reads", "cost", "")
        parts += [Text("\nby record", style="dim"), rendering.make_table(heads, dear)]
    return Group(*parts)


_TOP_RECORD_FIELDS = ("name", "regenerated", "skipped", "reads")
_STAT_COLUMNS = ("written", "skipped", "merged", "failed", "reads", "stale", "age s", "max s", "cost")
_COLUMN_NOTES = "merged: changes without a version of their own; age: of the oldest change not yet included, when read"


def _stat_row(one: Mapping[str, Any]) -> Sequence[object]:
    names = ("regenerated", "skipped", "coalesced", "failed", "reads", "stale_reads")
    ages = (f"{one['average_staleness_seconds']:.1f}", f"{one['max_staleness_seconds']:.1f}")
    return (*(one[name] for name in names), *ages, _format_dollars(one["cost_usd"]))


def _today_text(now: Mapping[str, Any]) -> Text:
    whose = "" if now["has_own_cap"] else " (deployment default)"
    told = [
        f"today {_format_dollars(now['spent_usd'])} of {_format_dollars(now['cap_usd'])}{whose}",
        f"{now['record_count']} records have a Pulse" if now["record_count"] != 1 else "1 record has a Pulse",
    ]
    told += [f"{now['due_count']} are due, since {rendering.format_time(now['due_since'])}"] if now["due_count"] else []
    told += [f"{now['over_budget_count']} wait for the budget"] if now["over_budget_count"] else []
    told += [f"{now['backing_off_count']} wait for a retry"] if now["backing_off_count"] else []
    told += [f"{now['given_up_count']} were given up"] if now["given_up_count"] else []
    return Text("; ".join(told))


def _render_staleness(found: Mapping[str, Any]) -> list[RenderableType]:
    """Since when it is stale and why, what came since, what it waits for."""
    if not found["stale_since"]:
        return []
    causes = ", ".join(one["cause"].replace("_", " ") for one in found["causes"])
    parts: list[RenderableType] = [
        Text(f"\nstale since {rendering.format_time(found['stale_since'])}: {causes}", style="yellow")
    ]
    parts += [Text(rendering.strip_control_codes(found["changes_text"]))] if found["changes_text"] else []
    if found["waiting_for"]:
        parts.append(
            Text(f"waiting for: {found['waiting_for']}, until {rendering.format_time(found['due_at'])}", style="yellow")
        )
    if found["problem"]:
        tries = f"{found['failures']} attempts" if found["failures"] != 1 else "1 attempt"
        given_up = "; given up: retried once a day until somebody refreshes it" if found["is_given_up"] else ""
        parts.append(Text(f"{tries} failed: {found['problem']}{given_up}", style="bold red"))
    return parts


def _poll_until(target: ApiClient, path: str, is_there: Any, **query: object) -> Any:
    """Return what is at the path once it is there, or what was read last."""
    found = target.request("GET", path, **query)
    for _ in range(_MAX_POLLS):
        if is_there(found):
            break
        target.dependencies.sleep(_POLL_SECONDS)
        found = target.request("GET", path, **query)
    return found


def _is_refreshed(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether nobody is to write it any more because somebody asked, or it was tried in vain since."""
    is_asked = any(one["cause"] == "manual" for one in now["causes"])
    return bool(not is_asked or before["failures"] != now["failures"] or now["waiting_for"])


def _format_dollars(usd: str) -> str:
    amount = Decimal(usd)
    return f"${amount:.2f}" if amount == 0 or amount >= Decimal("0.1") else f"${amount:.5f}"


def _pulse_path(handle: str) -> str:
    kind, slash, key = handle.partition("/")
    if not (kind and slash and key):
        raise InvalidRequest("a handle is a type and a key, like project/harbour; `parlour records` lists them")
    return f"v1/entities/{quote(handle, safe='/')}/pulse"
