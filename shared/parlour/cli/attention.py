"""What needs a person, what can be redriven, and tool calls that are not wanted any more."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from parlour.cli import id_lookup, rendering, terminal
from parlour.cli.api_client import ApiClient, JsonOption, get_api_client
from parlour.cli.id_lookup import ID_HELP
from parlour.cli.suggestions import MIN_ID_CHARS
from parlour.infra.errors import Forbidden, InvalidRequest, NotFound, ParlourError
from parlour.infra.json_values import canonical_json

_MAX_TEXT_CHARS = 120
"""Characters of what somebody wrote, in a list."""

_CALLS, _REPLIES, _TURNS = ("unknown_tool_call",), ("unknown_delivery", "held_reply"), ("failed_turn",)
_NOTIFICATIONS = ("failed_notification",)
_PATHS = dict.fromkeys(_CALLS, "tool-calls") | dict.fromkeys(_REPLIES, "replies") | dict.fromkeys(_TURNS, "turns")
_PATHS |= dict.fromkeys(_NOTIFICATIONS, "notifications")
_FAILED_REPLIES_PATH = "v1/attention/failed-replies"

ItemId = Annotated[
    str,
    typer.Argument(metavar="ID", help="Item id from `parlour inbox show`; its first or last 8 characters are enough."),
]

app = typer.Typer(help="Items that need attention: list and resolve them.", invoke_without_command=True)


@app.callback()
def attention(context: typer.Context, as_json: JsonOption = False) -> None:
    """List what needs attention outside of a conversation, and count the decisions that wait in `parlour inbox`."""
    if context.invoked_subcommand is not None:
        return
    found = get_api_client(context).request("GET", "v1/attention")
    if as_json:
        terminal.print_json(found)
    else:
        parts: list[RenderableType] = []
        items = found["items"]
        if decisions := _of_kind(items, (*_CALLS, *_REPLIES, *_TURNS)):
            sessions = _pluralize(len({one["session_id"] for one in decisions}), "conversation")
            parts += [Text(f"{_pluralize(len(decisions), 'decision')} in {sessions}: `parlour inbox`", style="bold")]
        if unanswered := _of_kind(items, ("unanswered_tool_call",)):
            parts += _titled("No answer yet: Parlour finds out what became of them", _tool_call_table(unanswered))
        if waiting := _of_kind(items, ("waiting_reply",)):
            parts += _titled("Replies that wait and are retried by themselves", _waiting_table(waiting))
        if undelivered := _of_kind(items, _NOTIFICATIONS):
            parts += _titled("Undelivered notifications: send-again | dismiss", _notification_table(undelivered))
        for item in _of_kind(items, ("failing_agent_loop", "waiting_route", "unheard_conversation")):
            parts += [_explain(item)]
        for stop in _of_kind(items, ("no_model_calls",)):
            ends = "Run `parlour cost resume`." if found["spend"]["stopped"] else "Run `parlour cost cap`."
            parts += [Text(f"\n{stop['reason']['message']} {stop['what_happened']} {ends}", style="bold")]
        if found["has_more"]:
            parts += [Text("\nMore items exist; they appear when some of these are resolved.", style="dim")]
        terminal.print_renderable(Group(*parts) if parts else "Nothing needs attention")


def _explain(item: Mapping[str, Any]) -> Text:
    """Return an item of a binding in sentences, with the conversation where it is about one."""
    sentences = f"\n{item['binding']}: {item['what_happened']} {item['reason']['message']} {item['what_to_do']}"
    place = f"\n`parlour inbox show {item['session_id']}`" if "session_id" in item else ""
    return Text(rendering.strip_control_codes(sentences + place), style="bold")


def render_decisions(items: Iterable[dict[str, Any]]) -> list[RenderableType]:
    """Return what a person has to decide in a conversation, with the commands that do."""
    listed, parts = list(items), list[RenderableType]()
    if tool_calls := _of_kind(listed, _CALLS):
        parts += _titled("Unknown outcome: `parlour attention done | run-again ID`", _tool_call_table(tool_calls))
    if replies := _of_kind(listed, _REPLIES):
        title = "Not sent, or unknown: `parlour attention arrived | send-again | dismiss ID`"
        parts += _titled(title, _reply_table(replies))
    if turns := _of_kind(listed, _TURNS):
        title = "Unanswered: `parlour redrive --turn ID`, or `parlour attention dismiss ID`"
        parts += _titled(title, _turn_table(turns))
    return parts


@app.command(epilog="Example: parlour attention done 5fb1b03a")
def done(context: typer.Context, item: ItemId) -> None:
    """Mark a tool call with unknown outcome as done. The conversation continues."""
    _resolve(context, item, "done", _CALLS)


@app.command("run-again", epilog="Example: parlour attention run-again 5fb1b03a")
def run_again(context: typer.Context, item: ItemId) -> None:
    """Run a tool call again with the same arguments and idempotency key."""
    _resolve(context, item, "run_again", _CALLS)


@app.command(epilog="Example: parlour attention arrived 5fb1b03a")
def arrived(context: typer.Context, item: ItemId) -> None:
    """Mark a reply with unknown delivery as arrived."""
    _resolve(context, item, "arrived", _REPLIES[:1])


@app.command("send-again", epilog="Example: parlour attention send-again 5fb1b03a")
def send_again(context: typer.Context, item: ItemId) -> None:
    """Send a reply or a notification again that did not arrive."""
    _resolve(context, item, "send_again", (*_REPLIES, *_NOTIFICATIONS))


@app.command(epilog="Example: parlour attention dismiss 5fb1b03a")
def dismiss(context: typer.Context, item: ItemId) -> None:
    """Dismiss a reply, a failed turn or a notification. It will not be sent or answered."""
    _resolve(context, item, "dismiss", (*_REPLIES, *_TURNS, *_NOTIFICATIONS))


def cancel(
    context: typer.Context,
    call: Annotated[str, typer.Argument(metavar="TOOL_CALL_ID", help=f"Id of the tool call; {ID_HELP}.")],
) -> None:
    """Cancel a long-running tool call and ignore its result."""
    target = get_api_client(context)
    call_id = id_lookup.tool_call_id(target, call)
    terminal.print_line(target.request("POST", f"v1/tool-calls/{call_id}/cancel")["message"])


def redrive(
    context: typer.Context,
    turn: Annotated[str, typer.Option(metavar="ID", help="Answer this failed turn's messages now.")] = "",
    reply: Annotated[str, typer.Option(metavar="ID", help="Retry this failed reply.")] = "",
    all_turns: Annotated[bool, typer.Option("--all", help="Answer every failed turn's messages now.")] = False,
    queue: Annotated[str, typer.Option(help="Redrive this queue's dead letters (operator key only).")] = "",
    limit: Annotated[int, typer.Option(min=1, max=300, help="Maximum number of dead letters.")] = 100,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Redrive failed turns, failed replies or dead letters. Without an option, list them."""
    if sum(map(bool, (turn, reply, all_turns, queue))) > 1:
        raise InvalidRequest("use one of --turn, --reply, --all and --queue")
    target = get_api_client(context)
    if turn:
        terminal.print_line(_post_resolution(target, _find_item(_get_items(target), turn, _TURNS), "redrive"))
    elif reply:
        one = _find_item(target.request("GET", _FAILED_REPLIES_PATH)["replies"], reply, ("failed_reply",))
        terminal.print_line(
            rendering.strip_control_codes(
                target.request("POST", f"{_FAILED_REPLIES_PATH}/{one['id']}/redrive")["message"]
            )
        )
    elif all_turns:
        _redrive_all(target, yes=yes)
    elif queue:
        _redrive_queue(target, queue, limit, yes=yes)
    else:
        _print_redrivable(target)


def _redrive_all(target: ApiClient, *, yes: bool) -> None:
    turns = _of_kind(_get_items(target), _TURNS)
    if not turns:
        terminal.print_line("No failed turns")
        return
    _confirm(f"Answer the messages of {_pluralize(len(turns), 'failed turn')} now?", yes=yes or len(turns) == 1)
    failures = 0
    for one in turns:
        try:
            _post_resolution(target, one, "redrive")
        except ParlourError as problem:
            terminal.print_error(f"{one['id']}: {rendering.strip_control_codes(str(problem))}")
            failures += 1
    terminal.print_line(f"{len(turns) - failures} of {_pluralize(len(turns), 'failed turn')} will be answered")
    if failures:
        raise typer.Exit(1)


def _redrive_queue(target: ApiClient, queue: str, limit: int, *, yes: bool) -> None:
    waiting = target.request("GET", "v1/operations/dead-letters")["dead_letters"]
    if queue not in waiting:
        raise InvalidRequest(f"unknown queue; available: {', '.join(waiting)}")
    if not waiting[queue]:
        terminal.print_line(f"{queue}: no dead letters")
        return
    wanted = min(limit, waiting[queue])
    _confirm(f"Move {_pluralize(wanted, 'dead letter')} back to {queue}?", yes=yes or wanted == 1)
    moved = target.request("POST", "v1/operations/redrive", {"queue": queue, "limit": limit})
    terminal.print_line(f"{queue}: {moved['moved']} moved, {moved['remaining']} left")
    if not moved["moved"]:
        raise typer.Exit(1)


def _print_redrivable(target: ApiClient) -> None:
    turns = _of_kind(_get_items(target), _TURNS)
    parts = [*_titled("Failed turns", _turn_table(turns))] if turns else [Text("No failed turns")]
    if failed := target.request("GET", _FAILED_REPLIES_PATH)["replies"]:
        parts += _titled("Failed replies: `--reply`", _reply_table(failed))
    try:
        waiting = target.request("GET", "v1/operations/dead-letters")["dead_letters"]
    except Forbidden:
        terminal.print_renderable(Group(*parts))
        terminal.print_note("Dead letters need the operator's key")
        return
    rows = ((name, amount) for name, amount in waiting.items())
    terminal.print_renderable(Group(*parts, *_titled("Dead letters", rendering.make_table(("queue", "letters"), rows))))


def _confirm(question: str, *, yes: bool) -> None:
    if not yes and not typer.confirm(question):
        raise typer.Abort


def _resolve(context: typer.Context, item: str, resolution: str, kinds: Sequence[str]) -> None:
    target = get_api_client(context)
    terminal.print_line(_post_resolution(target, _find_item(_get_items(target), item, kinds), resolution))


def _post_resolution(target: ApiClient, one: Mapping[str, Any], resolution: str) -> str:
    answer = target.request("POST", f"v1/attention/{_PATHS[one['kind']]}/{one['id']}", {"resolution": resolution})
    return rendering.strip_control_codes(answer["message"])


def _get_items(target: ApiClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = target.request("GET", "v1/attention")["items"]
    return found


def _of_kind(items: Iterable[dict[str, Any]], kinds: Sequence[str]) -> list[dict[str, Any]]:
    return [one for one in items if one["kind"] in kinds]


def _find_item(items: Iterable[dict[str, Any]], item: str, kinds: Sequence[str]) -> dict[str, Any]:
    """Return the item that an id, its beginning or its end names; NotFound, or InvalidRequest for two."""
    wanted = item.strip().lower()
    if len(wanted) < MIN_ID_CHARS:
        raise InvalidRequest(f"give at least {MIN_ID_CHARS} characters of the id, from its beginning or its end")
    matches = [one for one in _of_kind(items, kinds) if one["id"].startswith(wanted) or one["id"].endswith(wanted)]
    if not matches:
        raise NotFound("no open item has that id, or this action does not apply to it; see `parlour attention`")
    if len(matches) > 1:
        raise InvalidRequest(f"{len(matches)} ids match; give more characters")
    return matches[0]


def _tool_call_table(found: Iterable[Mapping[str, Any]]) -> RenderableType:
    rows = (
        (rendering.format_time(one["at"]), one["tool"], _shorten(canonical_json(one["arguments"])), one["id"])
        for one in found
    )
    return rendering.make_table(("when", "tool", "arguments", "id"), rows)


def _reply_table(found: Iterable[Mapping[str, Any]]) -> RenderableType:
    rows = (
        (
            rendering.format_time(one["at"]),
            one["recipient"],
            one["kind"].replace("_", " "),
            _shorten(one["text"]),
            _shorten(one["reason"]["message"]),
            one["id"],
        )
        for one in found
    )
    return rendering.make_table(("when", "to", "what", "text", "why", "id"), rows)


def _waiting_table(found: Iterable[Mapping[str, Any]]) -> RenderableType:
    rows = (
        (
            rendering.format_time(one["at"]),
            one["recipient"],
            _shorten(one["text"]),
            _shorten(one["reason"]["message"]),
            one["what_to_do"],
            rendering.format_time(one["next_attempt_by"]),
        )
        for one in found
    )
    return rendering.make_table(("when", "to", "text", "why", "what to do", "next attempt by"), rows)


def _turn_table(found: Iterable[Mapping[str, Any]]) -> RenderableType:
    rows = (
        (
            rendering.format_time(one["at"]),
            one["binding"],
            _shorten(" / ".join(one["texts"])),
            _shorten(one["reason"]["message"]),
            one["attempts"],
            one["id"],
        )
        for one in found
    )
    return rendering.make_table(("when", "agent", "message", "why", "attempts", "id"), rows)


def _notification_table(found: Iterable[Mapping[str, Any]]) -> RenderableType:
    rows = (
        (rendering.format_time(one["at"]), one["recipient"], _shorten(one["reason"]["message"]), one["id"])
        for one in found
    )
    return rendering.make_table(("when", "to", "why", "id"), rows)


def _titled(title: str, body: RenderableType) -> list[RenderableType]:
    return [Text(f"\n{title}", style="bold"), body]


def _shorten(text: str | None) -> str:
    line = " ".join((text or "").split())
    return line if len(line) <= _MAX_TEXT_CHARS else f"{line[: _MAX_TEXT_CHARS - 1]}…"


def _pluralize(amount: int, what: str) -> str:
    return f"{amount} {what}" if amount == 1 else f"{amount} {what}s"
