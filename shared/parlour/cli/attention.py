"""What needs a person, what can be redriven, and tool calls that are not wanted any more."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from parlour.cli import drawing, terminal
from parlour.cli.target import Json, Target, target_of
from parlour.infra.errors import Forbidden, InvalidRequest, NotFound, ParlourError
from parlour.infra.jsonable import canonical

_FEWEST = 8
"""Characters of an id that are enough, from its beginning or its end."""

_FULL = 36
_SHOWN = 120
"""Characters of what somebody wrote, in a list."""

_PATHS = {"tool_calls": "tool-calls", "sends": "sends", "turns": "turns"}
_FAILED = "v1/attention/failed-sends"

Id = Annotated[str, typer.Argument(metavar="ID", help="From `parlour attention`; its first or last 8 characters do.")]

app = typer.Typer(help="What needs a person: list it, and say what became of it.", invoke_without_command=True)


@app.callback()
def attention(context: typer.Context, as_json: Json = False) -> None:
    """What needs a person: unknown outcomes, replies that did not surely leave, turns that failed, spend."""
    if context.invoked_subcommand is not None:
        return
    found = target_of(context).call("GET", "v1/attention")
    if as_json:
        terminal.machine(found)
    else:
        terminal.show(_drawn(found))


@app.command()
def done(context: typer.Context, item: Id) -> None:
    """A tool call whose outcome was unknown was done: the conversation goes on with that."""
    _settle(context, item, "done", ("tool_calls",))


@app.command("run-again")
def run_again(context: typer.Context, item: Id) -> None:
    """It was not done: run it again, with the same arguments and key."""
    _settle(context, item, "run_again", ("tool_calls",))


@app.command()
def arrived(context: typer.Context, item: Id) -> None:
    """A reply that nobody knew about did arrive."""
    _settle(context, item, "arrived", ("sends",))


@app.command("send-again")
def send_again(context: typer.Context, item: Id) -> None:
    """It did not arrive: send it again."""
    _settle(context, item, "send_again", ("sends",))


@app.command()
def dismiss(context: typer.Context, item: Id) -> None:
    """Let a reply or a failed turn be as it is."""
    _settle(context, item, "dismiss", ("sends", "turns"))


def cancel(
    context: typer.Context,
    call: Annotated[str, typer.Argument(metavar="TOOL_CALL_ID", help="The tool call's whole id.")],
) -> None:
    """Stop a heavy tool call; its result is not awaited any more."""
    if len(call) != _FULL:
        raise InvalidRequest("give the whole id of the tool call; `parlour turn TURN` shows it")
    terminal.line(target_of(context).call("POST", f"v1/tool-calls/{call}/cancel")["message"])


def redrive(
    context: typer.Context,
    turn: Annotated[str, typer.Option(metavar="ID", help="Answer this failed turn's messages now.")] = "",
    reply: Annotated[str, typer.Option(metavar="ID", help="Send this failed reply after all.")] = "",
    every: Annotated[bool, typer.Option("--all", help="Answer every failed turn's messages now.")] = False,
    queue: Annotated[str, typer.Option(help="Move this queue's dead letters back (the operator's key only).")] = "",
    most: Annotated[int, typer.Option(min=1, max=300, help="How many dead letters at most.")] = 100,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Failed turns and replies, dead letters: without an option they are shown, with one they are tried again."""
    if sum(map(bool, (turn, reply, every, queue))) > 1:
        raise InvalidRequest("use one of --turn, --reply, --all and --queue")
    target = target_of(context)
    if turn:
        terminal.line(_post(target, "turns", _one(_found(target), turn, ("turns",))[1], "redrive"))
    elif reply:
        one = _one(target.call("GET", _FAILED), reply, ("sends",))[1]
        terminal.line(drawing.plain(target.call("POST", f"{_FAILED}/{one['id']}/redrive")["message"]))
    elif every:
        _redrive_all(target, yes=yes)
    elif queue:
        _redrive_queue(target, queue, most, yes=yes)
    else:
        _show_redrivable(target)


def _redrive_all(target: Target, *, yes: bool) -> None:
    turns = _found(target)["turns"]
    if not turns:
        terminal.line("no turn failed and was left")
        return
    _ask(f"Answer the messages of {_many(len(turns), 'failed turn')} now?", yes=yes or len(turns) == 1)
    failures = sum(not _redriven(target, one) for one in turns)
    terminal.line(f"{len(turns) - failures} of {_many(len(turns), 'failed turn')} will be answered")
    if failures:
        raise typer.Exit(1)


def _redriven(target: Target, turn: Mapping[str, Any]) -> bool:
    try:
        _post(target, "turns", turn, "redrive")
    except ParlourError as problem:
        terminal.problem(f"{turn['id']}: {drawing.plain(str(problem))}")
        return False
    return True


def _redrive_queue(target: Target, queue: str, most: int, *, yes: bool) -> None:
    waiting = target.call("GET", "v1/operations/dead-letters")["dead_letters"]
    if queue not in waiting:
        raise InvalidRequest(f"there is no queue of that name; use one of {', '.join(waiting)}")
    if not waiting[queue]:
        terminal.line(f"{queue}: no dead letters")
        return
    wanted = min(most, waiting[queue])
    _ask(f"Move {_many(wanted, 'dead letter')} back to {queue}?", yes=yes or wanted == 1)
    moved = target.call("POST", "v1/operations/redrive", {"queue": queue, "most": most})
    terminal.line(f"{queue}: {moved['moved']} moved, {moved['left']} left")
    if not moved["moved"]:
        raise typer.Exit(1)


def _show_redrivable(target: Target) -> None:
    turns = _found(target)["turns"]
    parts = [*_section("Failed turns", _turns(turns))] if turns else [Text("no turn failed and was left")]
    if failed := target.call("GET", _FAILED)["sends"]:
        parts += _section("Replies that failed: `--reply`", _sends(failed))
    try:
        waiting = target.call("GET", "v1/operations/dead-letters")["dead_letters"]
    except Forbidden:
        terminal.show(Group(*parts))
        terminal.remark("dead letters are shown with the operator's key only")
        return
    rows = ((name, amount) for name, amount in waiting.items())
    terminal.show(Group(*parts, *_section("Dead letters", drawing.table(("queue", "letters"), rows))))


def _ask(question: str, *, yes: bool) -> None:
    if not yes and not typer.confirm(question):
        raise typer.Abort


def _settle(context: typer.Context, item: str, how: str, lists: Sequence[str]) -> None:
    target = target_of(context)
    kind, one = _one(_found(target), item, lists)
    terminal.line(_post(target, kind, one, how))


def _post(target: Target, kind: str, one: Mapping[str, Any], how: str) -> str:
    answer = target.call("POST", f"v1/attention/{_PATHS[kind]}/{one['id']}", {"how": how})
    return drawing.plain(answer["message"])


def _found(target: Target) -> dict[str, Any]:
    found: dict[str, Any] = target.call("GET", "v1/attention")
    return found


def _one(found: Mapping[str, Any], item: str, lists: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """What is meant by an id or an end of one, and which list it is in; NotFound, or InvalidRequest for two."""
    wanted = item.strip().lower()
    if len(wanted) < _FEWEST:
        raise InvalidRequest(f"give at least {_FEWEST} characters of the id, from its beginning or its end")
    matches = [(name, one) for name in lists for one in found[name] if one["id"].startswith(wanted)]
    matches += [
        (name, one) for name in lists for one in found[name] if one["id"].endswith(wanted) and wanted != one["id"]
    ]
    if not matches:
        raise NotFound("nothing that needs a person has that id, or this cannot be done to it; see `parlour attention`")
    if len(matches) > 1:
        raise InvalidRequest(f"{len(matches)} ids look like that; give more characters of the one you mean")
    return matches[0]


def _drawn(found: Mapping[str, Any]) -> Group | str:
    parts: list[RenderableType] = []
    if found["tool_calls"]:
        parts += _section("Tool calls whose outcome nobody knows: done | run-again", _calls(found["tool_calls"]))
    if found["sends"]:
        parts += _section("Replies that wait for a decision: arrived | send-again | dismiss", _sends(found["sends"]))
    if found["turns"]:
        parts += _section("Turns that failed: `parlour redrive --turn` | dismiss", _turns(found["turns"]))
    spend = found["spend"]
    if spend["problem"]:
        ends = "`parlour cost resume` ends it" if spend["stopped"] else "`parlour cost cap` raises it"
        parts += [Text(f"\n{drawing.plain(spend['problem'])} {ends}", style="bold")]
    if found["more"]:
        parts += [Text("\nThere is more; it is shown once some of this is settled.", style="dim")]
    return Group(*parts) if parts else "all is well: nothing needs a person"


def _calls(found: Iterable[Mapping[str, Any]]) -> RenderableType:
    rows = ((drawing.moment(one["at"]), one["tool"], _short(canonical(one["arguments"])), one["id"]) for one in found)
    return drawing.table(("when", "tool", "arguments", "id"), rows)


def _sends(found: Iterable[Mapping[str, Any]]) -> RenderableType:
    rows = (
        (drawing.moment(one["at"]), one["recipient"], one["state"], _short(one["text"]), _short(one["why"]), one["id"])
        for one in found
    )
    return drawing.table(("when", "to", "state", "text", "why", "id"), rows)


def _turns(found: Iterable[Mapping[str, Any]]) -> RenderableType:
    rows = (
        (drawing.moment(one["at"]), one["binding"], _short(" / ".join(one["texts"])), _short(one["problem"]),
         one["attempts"], one["id"])
        for one in found
    )  # fmt: skip
    return drawing.table(("when", "agent", "written", "problem", "tries", "id"), rows)


def _section(title: str, body: RenderableType) -> list[RenderableType]:
    return [Text(f"\n{title}", style="bold"), body]


def _short(text: str | None) -> str:
    line = " ".join((text or "").split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def _many(amount: int, what: str) -> str:
    return f"{amount} {what}" if amount == 1 else f"{amount} {what}s"
