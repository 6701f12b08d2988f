"""What is going on with a record, in a terminal: its Pulse, why it says so, what it said before, and what all cost."""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from parlour.cli import drawing, terminal
from parlour.cli.target import Json, Target, target_of
from parlour.infra.errors import InvalidRequest

_LEVELS = ("public", "internal", "confidential", "restricted")
_EVERY = 2.0
"""Seconds between two looks for an answer; `_LOOKS` of them."""

_LOOKS = 45

app = typer.Typer(help="What is going on with a record, now.", no_args_is_help=True)
Handle = Annotated[str, typer.Argument(metavar="HANDLE", help="Like project/harbour.")]


@app.command()
def show(
    context: typer.Context,
    handle: Handle,
    history: Annotated[bool, typer.Option("--history", help="What it said before, the newest first.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="What changed between its two newest texts.")] = False,
    as_json: Json = False,
) -> None:
    """A record's Pulse: what it says and from where, since when it is stale and why, what changed since."""
    if history and diff:
        raise InvalidRequest("use one of --history and --diff")
    part = "/history" if history else "/diff" if diff else ""
    found = target_of(context).call("GET", _path(handle) + part)
    if as_json:
        terminal.machine(found)
    else:
        terminal.show(versions(found) if history else compared(found) if diff else drawn(found))


@app.command()
def refresh(
    context: typer.Context,
    handle: Handle,
    question: Annotated[str, typer.Option("--question", "-q", help="Answer this instead; for you alone.")] = "",
    as_json: Json = False,
) -> None:
    """Have a record's Pulse written now, or a question about the record answered, and show what came of it."""
    target, path = target_of(context), _path(handle)
    before = target.call("GET", path, watching=True)
    asked = target.call("POST", f"{path}/refresh", {"question": question})
    if asked["question_id"]:
        found = _awaited(target, f"{path}/questions/{asked['question_id']}", _is_answered)
    else:
        found = _awaited(target, path, lambda now: _is_written(before, now), watching=True)
    if as_json:
        terminal.machine(found)
    else:
        terminal.show(answered(found) if asked["question_id"] else drawn(found))


@app.command()
def why(
    context: typer.Context,
    handle: Handle,
    version: Annotated[int | None, typer.Option(min=1, help="Of this text instead of the newest try.")] = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="Only the prompt itself, made again.")] = False,
    as_json: Json = False,
) -> None:
    """The prompt that a record's Pulse came of: what was in it, what was not and why, and what came of it."""
    found = target_of(context).call("GET", f"{_path(handle)}/why", version=version)
    if as_json:
        terminal.machine(found)
    elif prompt:
        terminal.line(found["prompt"] or "parts of it were forgotten: it cannot be made again")
    else:
        terminal.show(explained(found))


@app.command()
def numbers(
    context: typer.Context,
    days: Annotated[int, typer.Option(min=1, max=90, help="How many, today among them; UTC.")] = 7,
    as_json: Json = False,
) -> None:
    """What Pulses were written for how many changes, what that cost, and how fresh they were when somebody looked."""
    found = target_of(context).call("GET", "v1/pulses", days=days)
    if as_json:
        terminal.machine(found)
    else:
        terminal.show(counted(found))


@app.command()
def cap(
    context: typer.Context,
    usd: Annotated[str, typer.Argument(metavar="USD", help="US dollars a day; `default` for the deployment's.")],
) -> None:
    """What the tenant's Pulses may cost a day; its daily cap holds besides."""
    try:
        wanted = None if usd == "default" else str(Decimal(usd.removeprefix("$")))
    except InvalidOperation:
        raise InvalidRequest("give an amount like 5 or 2.50, or `default` for the deployment's budget") from None
    found = target_of(context).call("PUT", "v1/pulses/cap", {"pulse_daily_cap_usd": wanted})
    terminal.show(_standing(found["now"]))


def drawn(found: Mapping[str, Any]) -> Group:
    """The Pulse, its sources, and what there is to know about it."""
    pulse = found["pulse"]
    parts: list[RenderableType] = [
        Text.assemble((drawing.plain(found["name"]), "bold"), ("  " + found["record"], "dim"))
    ]
    if pulse is None:
        parts.append(
            Text("withheld until it is written anew" if found["withheld"] else "no Pulse has been written yet")
        )
    else:
        facts = (
            f"written {drawing.moment(pulse['generated_at'])}, for whoever may see {_LEVELS[pulse['level']]}",
            f"version {pulse['version']}", pulse["model"], f"${Decimal(pulse['cost_usd']).normalize():f}",
        )  # fmt: skip
        parts += [Text(drawing.plain(", ".join(facts)), style="dim"), Text("\n" + drawing.plain(pulse["markdown"]))]
        parts += [Text("\n"), drawing.sources(pulse["citations"])] if pulse["citations"] else []
    return Group(*parts, *_state(found))


def answered(found: Mapping[str, Any]) -> Group:
    """A question and its answer."""
    parts: list[RenderableType] = [Text(drawing.plain(found["question"]), style="bold")]
    if found["problem"]:
        return Group(*parts, Text(f"no answer: {found['problem']}", style="bold red"))
    if not found["answered_at"]:
        return Group(*parts, Text("no answer yet; ask again, or look later", style="dim"))
    parts.append(Text("\n" + drawing.plain(found["markdown"])))
    return Group(*parts, *([Text("\n"), drawing.sources(found["citations"])] if found["citations"] else []))


def versions(found: Mapping[str, Any]) -> RenderableType:
    """Every text, the newest first."""
    if not found["versions"]:
        return Text("no Pulse has been written yet")
    parts: list[RenderableType] = []
    for one in found["versions"]:
        causes = ", ".join(cause["cause"].replace("_", " ") for cause in one["causes"] or ())
        told = f"version {one['version']}  {drawing.moment(one['generated_at'])}{f'  for: {causes}' if causes else ''}"
        parts += [Text(told, style="bold"), Text(drawing.plain(one["markdown"]) + "\n")]
    return Group(*parts)


def compared(found: Mapping[str, Any]) -> Group:
    """What changed between two texts, statement by statement."""
    before, after = found["before"], found["after"]
    head = f"version {before['version']} -> {after['version']}" if before else f"version {after['version']}, the first"
    parts: list[RenderableType] = [Text(head, style="bold")]
    parts += [Text(drawing.plain(f"- {one}"), style="red") for one in found["removed"]]
    for one in found["changed"]:
        parts += [Text(drawing.plain(f"- {one['before']}"), style="red"), Text(drawing.plain(f"+ {one['after']}"))]
    parts += [Text(drawing.plain(f"+ {one}"), style="green") for one in found["added"]]
    parts.append(Text(f"{len(found['kept'])} statements as they were", style="dim"))
    return Group(*parts)


def explained(found: Mapping[str, Any]) -> Group:
    """A prompt taken apart: what came of it, its layers, and every candidate."""
    text = f"version {found['version']}" if found["version"] else drawing.plain(found["outcome"]).replace("_", " ")
    head = f"{found['record']}, for whoever may see {_LEVELS[found['level']]}: {text}, {drawing.moment(found['at'])}"
    same = (
        "parts of it were forgotten" if found["forgotten"] else "the same bytes" if found["matches"] else "NOT the same"
    )
    layers = ", ".join(f"{one['layer']} {one['tokens']:,}" for one in found["layers"])
    facts = f"{found['tokens']:,} of {found['budget']:,} tokens ({layers}); {found['model']}; made again: {same}"
    parts: list[RenderableType] = [Text(drawing.plain(head), style="bold"), Text(drawing.plain(facts), style="dim")]
    for title, is_in in (("in", True), ("out", False)):
        rows = [_candidate(one) for one in found["candidates"] if (one["reason"] is None) is is_in]
        if rows:
            parts += [Text(f"\n{title}: {len(rows)}", style="dim")]
            parts.append(drawing.candidates(("lot", "what", "why", "level", "tokens", "score", "source"), rows))
    return Group(*parts)


def _candidate(one: Mapping[str, Any]) -> Sequence[object]:
    why = (one["reason"] or ("shortened" if one["shortened"] else "")).replace("_", " ")
    return (
        one["lot"],
        one["title"],
        why,
        _LEVELS[one["level"]],
        f"{one['tokens']:,}",
        f"{one['score']:.2f}",
        one["source"],
    )


def counted(found: Mapping[str, Any]) -> Group:
    """How Pulses stand, every day, and the dearest records."""
    parts: list[RenderableType] = [_standing(found["now"])]
    if found["days"]:
        rows = [(one["day"], *_counts(one)) for one in found["days"]]
        rows.append(("all", *_counts(found["total"])))
        parts += [Text("\nby day, UTC", style="dim"), drawing.table(("", *_COUNTED), rows), Text(_MEANING, style="dim")]
    if found["dearest"]:
        dear = [(*(one[name] for name in _DEAR), _dollars(one["cost_usd"]), one["record"]) for one in found["dearest"]]
        heads = ("", "written", "skipped", "reads", "cost", "")
        parts += [Text("\nby record", style="dim"), drawing.table(heads, dear)]
    return Group(*parts)


_DEAR = ("name", "regenerated", "skipped", "reads")
_COUNTED = ("written", "skipped", "merged", "failed", "reads", "stale", "age s", "most s", "cost")
_MEANING = "merged: changes without a text of their own; age: of the oldest change not told of, when somebody looked"


def _counts(one: Mapping[str, Any]) -> Sequence[object]:
    names = ("regenerated", "skipped", "coalesced", "failed", "reads", "stale_reads")
    ages = (f"{one['freshness_seconds']:.1f}", f"{one['freshness_seconds_most']:.1f}")
    return (*(one[name] for name in names), *ages, _dollars(one["cost_usd"]))


def _standing(now: Mapping[str, Any]) -> Text:
    whose = "" if now["own_cap"] else " (the deployment's)"
    told = [
        f"today {_dollars(now['spent_usd'])} of {_dollars(now['cap_usd'])}{whose}",
        f"{now['kept']} records have one" if now["kept"] != 1 else "1 record has one",
    ]
    told += [f"{now['due']} are due, since {drawing.moment(now['due_since'])}"] if now["due"] else []
    told += [f"{now['over_budget']} wait for the budget"] if now["over_budget"] else []
    told += [f"{now['backing_off']} for another try"] if now["backing_off"] else []
    told += [f"{now['dead']} were given up"] if now["dead"] else []
    return Text("; ".join(told))


def _state(found: Mapping[str, Any]) -> list[RenderableType]:
    """Since when it is stale and why, what came since, what it waits for."""
    if not found["stale_since"]:
        return []
    causes = ", ".join(one["cause"].replace("_", " ") for one in found["causes"])
    parts: list[RenderableType] = [
        Text(f"\nstale since {drawing.moment(found['stale_since'])}: {causes}", style="yellow")
    ]
    parts += [Text(drawing.plain(found["since"]))] if found["since"] else []
    if found["waiting_for"]:
        parts.append(
            Text(f"waits for: {found['waiting_for']}, until {drawing.moment(found['due_at'])}", style="yellow")
        )
    if found["problem"]:
        tries = f"{found['failures']} tries" if found["failures"] != 1 else "1 try"
        given_up = "; given up: tried once a day until it is asked for" if found["dead"] else ""
        parts.append(Text(f"{tries} came to nothing: {found['problem']}{given_up}", style="bold red"))
    return parts


def _awaited(target: Target, path: str, is_there: Any, **query: object) -> Any:
    """What is at the path once it is there, or what was seen last."""
    found = target.call("GET", path, **query)
    for _ in range(_LOOKS):
        if is_there(found):
            break
        target.outside.sleep(_EVERY)
        found = target.call("GET", path, **query)
    return found


def _is_answered(found: Mapping[str, Any]) -> bool:
    return bool(found["answered_at"] or found["problem"])


def _is_written(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether nobody is to write it any more because somebody asked, or it was tried in vain since."""
    is_asked = any(one["cause"] == "manual" for one in now["causes"])
    return bool(not is_asked or before["failures"] != now["failures"] or now["waiting_for"])


def _dollars(usd: str) -> str:
    amount = Decimal(usd)
    return f"${amount:.2f}" if amount == 0 or amount >= Decimal("0.1") else f"${amount:.5f}"


def _path(handle: str) -> str:
    kind, slash, key = handle.partition("/")
    if not (kind and slash and key):
        raise InvalidRequest("a handle is a type and a key, like project/harbour; `parlour records` lists them")
    return f"v1/entities/{quote(handle, safe='/')}/pulse"
