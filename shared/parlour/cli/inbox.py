"""Conversations that people answer, from a terminal."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from parlour.cli import attention, rendering, terminal
from parlour.cli.api_client import ApiClient, JsonOption, get_api_client
from parlour.cli.id_lookup import ID_HELP
from parlour.cli.suggestions import find_id, parse_full_id
from parlour.infra.errors import InvalidRequest

_MAX_TEXT_CHARS = 70
_MAX_MESSAGES, _MAX_AMOUNT = 20, 10_000
_LISTS: Mapping[str, Mapping[str, Any]] = {
    "waiting": {"state": ["waiting", "undecided"]},
    "mine": {"assignee": "me"},
    "person": {"state": "person"},
    "snoozed": {"state": "snoozed"},
    "done": {"state": "done"},
    "agent": {"state": "agent"},
}
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}

type InboxList = Literal["waiting", "mine", "person", "snoozed", "done", "agent"]

ConversationId = Annotated[str, typer.Argument(metavar="CONVERSATION", help=f"Id of the conversation; {ID_HELP}.")]
Body = Annotated[str, typer.Argument(metavar="TEXT", help="What to write, in quotes.")]

app = typer.Typer(help="Answer conversations that need a person.", invoke_without_command=True)


@app.callback(epilog="Examples: parlour inbox; parlour inbox take 5fb1b03a; parlour inbox say 5fb1b03a 'We come at 9.'")
def inbox(context: typer.Context) -> None:
    """Answer conversations that need a person. Without a command, list those that wait."""
    if context.invoked_subcommand is None:
        _print_list(get_api_client(context), "waiting", "", as_json=False)


@app.command("list", epilog="Examples: parlour inbox list; parlour inbox list mine --json")
def list_conversations(
    context: typer.Context,
    which: Annotated[InboxList, typer.Argument(help="Which conversations.")] = "waiting",
    binding: Annotated[str, typer.Option(help="Only those of this binding.")] = "",
    as_json: JsonOption = False,
) -> None:
    """List conversations, the most urgent and the oldest first."""
    _print_list(get_api_client(context), which, binding, as_json=as_json)


@app.command(epilog="Example: parlour inbox show 5fb1b03a")
def show(context: typer.Context, conversation: ConversationId, as_json: JsonOption = False) -> None:
    """Show a conversation: why it is here, what is to be decided, its latest messages and its notes."""
    target = get_api_client(context)
    session_id = _find_session_id(target, conversation)
    thread = target.request("GET", f"v1/inbox/{session_id}")
    messages = target.request("GET", f"v1/sessions/{session_id}/messages", limit=_MAX_MESSAGES)["messages"]
    events = target.request("GET", f"v1/inbox/{session_id}/events")["events"]
    items = target.request("GET", "v1/attention", session_id=session_id)["items"]
    window = target.request("GET", f"v1/inbox/{session_id}/context")["window"]
    if as_json:
        terminal.print_json({**thread, "window": window, "items": items, "messages": messages, "events": events})
    else:
        decisions = attention.render_decisions(items)
        shown = _render_conversation(thread, messages, events)
        terminal.print_renderable(Group(shown, *_render_templates(window), *decisions))


@app.command(epilog="Example: parlour inbox take 5fb1b03a")
def take(context: typer.Context, conversation: ConversationId) -> None:
    """Take a conversation. No other person can answer it then, and the agent waits."""
    _move(context, conversation, "take", "You have the conversation")


@app.command(epilog="Example: parlour inbox release 5fb1b03a")
def release(context: typer.Context, conversation: ConversationId) -> None:
    """Put a conversation back among those that wait."""
    _move(context, conversation, "release", "It waits for a person again")


@app.command(
    epilog="Examples: parlour inbox say 5fb1b03a 'We come at 9.'; "
    "parlour inbox say 5fb1b03a --template visit --language en --value Jon --value Tuesday"
)
def say(
    context: typer.Context,
    conversation: ConversationId,
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="What to write, in quotes.")] = "",
    template: Annotated[str, typer.Option(help="A template in place of the text; `show` lists them.")] = "",
    language: Annotated[str, typer.Option(help="The template's language.")] = "",
    value: Annotated[list[str] | None, typer.Option(help="A value for each placeholder, in order.")] = None,
) -> None:
    """Write to the user. You must have the conversation: take it first."""
    target = get_api_client(context)
    session_id = _find_session_id(target, conversation)
    content: dict[str, Any] = {"text": text} if text or not template else {}
    if template:
        content["template"] = {"name": template, "language": language, "values": value or []}
    claim = target.request("GET", f"v1/inbox/{session_id}")["claim"]
    target.request("POST", f"v1/inbox/{session_id}/messages", {**content, "claim": claim})
    terminal.print_line("Sent")


@app.command(epilog="Example: parlour inbox note 5fb1b03a 'She is a customer since 2019.'")
def note(context: typer.Context, conversation: ConversationId, text: Body) -> None:
    """Add a private note. Neither the user nor the agent reads it."""
    _move(context, conversation, "notes", "Noted", {"text": text})


@app.command("hand-back", epilog="Example: parlour inbox hand-back 5fb1b03a -i 'Offer the Tuesday slot.'")
def hand_back(
    context: typer.Context,
    conversation: ConversationId,
    instruction: Annotated[str, typer.Option("--instruction", "-i", help="What only the agent reads.")] = "",
) -> None:
    """Let the agent answer again."""
    _move(context, conversation, "hand-back", "The agent answers again", {"instruction": instruction})


@app.command(epilog="Example: parlour inbox done 5fb1b03a")
def done(context: typer.Context, conversation: ConversationId) -> None:
    """Mark a conversation as done."""
    _move(context, conversation, "close", "Done")


@app.command(epilog="Examples: parlour inbox snooze 5fb1b03a 4h; parlour inbox snooze 5fb1b03a 2d")
def snooze(
    context: typer.Context,
    conversation: ConversationId,
    duration: Annotated[str, typer.Argument(metavar="FOR", help="Minutes, hours or days: 30m, 4h or 2d.")] = "4h",
) -> None:
    """Put a conversation off. It comes back at that time, or when the user writes."""
    until = datetime.now(UTC) + _parse_duration(duration)
    _move(context, conversation, "snooze", "Snoozed", {"until": until.isoformat()})


@app.command(epilog="Examples: parlour inbox chatwoot site-desk; parlour inbox chatwoot site-desk --rotate")
def chatwoot(
    context: typer.Context,
    binding: Annotated[str, typer.Argument(help="Slug of the binding.")],
    rotate: Annotated[bool, typer.Option("--rotate", help="Make a new address; the old one is refused.")] = False,
) -> None:
    """Print where Chatwoot's webhooks go. Keep it secret: who has it can answer as the people of Chatwoot."""
    target = get_api_client(context)
    method, path = ("POST", "v1/chatwoot/rotate") if rotate else ("GET", "v1/chatwoot")
    terminal.print_line(f"{target.url}{target.request(method, path, binding=binding)['path']}")


def _move(
    context: typer.Context, conversation: str, move: str, result: str, body: Mapping[str, Any] | None = None
) -> None:
    target = get_api_client(context)
    session_id = _find_session_id(target, conversation)
    target.request("POST", f"v1/inbox/{session_id}/{move}", dict(body or {}))
    terminal.print_line(result)


def _print_list(target: ApiClient, which: str, binding: str, *, as_json: bool) -> None:
    found = target.request("GET", "v1/inbox", **_LISTS[which], **({"binding": binding} if binding else {}))
    if as_json:
        terminal.print_json(found)
    elif not found["conversations"]:
        terminal.print_line("Nobody waits" if which == "waiting" else "No conversations")
    else:
        terminal.print_renderable(_list_table(found["conversations"]))
        if found["next_cursor"]:
            terminal.print_note("More exist; `--json` has the cursor")


def _list_table(found: Iterable[Mapping[str, Any]]) -> RenderableType:
    rows = (
        (
            rendering.format_time(one["opened_at"]),
            one["binding"],
            one["reason"].replace("_", " "),
            one["assignee_name"] or "",
            one["undecided_count"] or "",
            _shorten((one["last_message"] or {}).get("text", "")),
            one["session_id"],
        )
        for one in found
    )
    return rendering.make_table(("since", "agent", "why", "who", "to decide", "latest message", "id"), rows)


def _render_conversation(
    thread: Mapping[str, Any], messages: Iterable[Mapping[str, Any]], events: Iterable[Mapping[str, Any]]
) -> Group:
    facts = (
        ("state", thread["state"] + (f", {thread['assignee_name']}" if thread["assignee_name"] else "")),
        ("why", ": ".join(filter(None, (thread["reason"].replace("_", " "), thread["reason_text"])))),
        ("since", rendering.format_time(thread["opened_at"])),
    )
    parts: list[RenderableType] = [rendering.make_value_table(facts)]
    for message in messages:
        who = "user" if message["direction"] == "inbound" else message["answered_by"] or thread["binding_name"]
        parts += [Text(f"\n{who}, {rendering.format_time(message['at'])}", style="bold")]
        parts += [Text(rendering.strip_control_codes(message["text"]))]
    for event in events:
        if event["body"]:
            kind = "note" if event["kind"] == "noted" else "instruction"
            parts += [Text(f"\n{kind} of {event['actor_name']}, {rendering.format_time(event['at'])}", style="dim")]
            parts += [Text(rendering.strip_control_codes(event["body"]))]
    return Group(*parts)


def _render_templates(window: Mapping[str, Any]) -> Iterable[RenderableType]:
    """Yield what may be sent where WhatsApp takes no free text any more."""
    if window["is_open"]:
        return
    yield Text("\nThe user wrote more than 24 hours ago: WhatsApp takes only a template, with `say --template`")
    rows = [(one["name"], one["language"], rendering.strip_control_codes(one["text"])) for one in window["templates"]]
    yield rendering.make_table(("template", "language", "text"), rows) if rows else Text("The binding has none")


def _find_session_id(target: ApiClient, text: str) -> str:
    """Return the id of a conversation, looked up in the inbox."""
    if full := parse_full_id(text):
        return full
    return find_id(
        "conversation",
        text,
        lambda: (one["session_id"] for one in target.request("GET", "v1/inbox", limit=100)["conversations"]),
    )


def _parse_duration(text: str) -> timedelta:
    amount, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not amount.isascii() or not amount.isdigit() or not 0 < int(amount) <= _MAX_AMOUNT:
        raise InvalidRequest("give minutes, hours or days, like 30m, 4h or 2d")
    return int(amount) * _UNITS[unit]


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_TEXT_CHARS else f"{line[: _MAX_TEXT_CHARS - 1]}…"
