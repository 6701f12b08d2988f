"""`make demo`: a stack of its own beside any other, two conversations, and what each of them took."""

import os
import sys
import time
from dataclasses import replace
from decimal import Decimal
from typing import Any

from rich.console import Console, Group
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from local.errors import StackError
from local.interrupts import StopSignals
from local.progress import Progress
from local.stack import run_stack
from local.stack_client import StackClient, answer_problem, citation_problem, sample_payload, wait_until
from local.state import STATE_FOLDER, free_ports
from local.up import describe_model, options_from_environment, run_with_signals

WEB_BINDING = "contract-desk"
WEB_QUESTION = "What do we owe per day if we finish late?"
_REPLY_SECONDS = 60.0

_EXPECTED = {"WhatsApp": ("0.45 mm", "Site report no. 19"), "web": ("3,500", "Main works contract")}
"""What each reply has to say, and from where, whichever model answers."""


def main() -> int:
    """Returns the exit status: 0 only when both replies came, say what they should and are validly cited."""
    return run_with_signals(_run_demo)


def _run_demo(interrupts: StopSignals) -> int:
    begun = time.monotonic()
    chosen = options_from_environment(os.environ)  # noqa: TID251 - a launcher
    options = replace(chosen, folder=STATE_FOLDER / "demo", ports=free_ports())
    progress = Progress()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
    with run_stack(options, progress, interrupts) as stack, StackClient(stack) as talk:
        progress.print_line(
            f"\n[bold]Ready after {time.monotonic() - begun:.0f} s.[/] Answers: {describe_model(options)}\n"
        )
        turns = {"WhatsApp": _run_whatsapp(talk), "web": _run_web(talk)}
        for channel, turn in turns.items():
            console.print(_render_turn(channel, turn))
            if problem := citation_problem(turn["reply"]):
                raise StackError(f"the {channel} reply is not validly cited: {problem}")
            if problem := answer_problem(turn["reply"], *_EXPECTED[channel]):
                raise StackError(f"the {channel} answer is wrong: {problem}")
        console.print("[green]Both replies arrived, agree with the documents and cite valid sources.[/]")
    return 0


def _run_whatsapp(talk: StackClient) -> dict[str, Any]:
    """The sample event of events/ through the deployed webhook; returns the turn once the phone has the reply."""
    payload = sample_payload("inbound_gupshup_text")
    number = "+" + payload["payload"]["source"]
    before = len(talk.phone_messages(number))
    status = talk.post_webhook(payload)
    if status != 200:
        raise StackError(f"the webhook answered {status}: look at .parlour/demo/logs")
    wait_until(lambda: talk.phone_messages(number)[before:], "the reply on the phone", _REPLY_SECONDS)
    asked = payload["payload"]["payload"]["text"]
    return _wait_for_turn(talk, asked, sent=True)


def _run_web(talk: StackClient) -> dict[str, Any]:
    session = talk.open_session(WEB_BINDING)
    talk.send_message(session, WEB_QUESTION)
    wait_until(
        lambda: [event for event in talk.list_events(session) if event["kind"] == "done"],
        "the web's reply",
        _REPLY_SECONDS,
    )
    return _wait_for_turn(talk, WEB_QUESTION, sent=False)


def _wait_for_turn(talk: StackClient, asked: str, *, sent: bool) -> dict[str, Any]:
    """The newest turn that answers `asked`; on a messaging channel, once the provider has reported on it."""

    def look() -> dict[str, Any] | None:
        for turn in talk.list_turns(limit=20):
            if turn["state"] == "answered" and any(message["text"] == asked for message in turn["input_messages"]):
                delivered = (turn["delivery"] or {}).get("state") in {"delivered", "read"}
                return turn if delivered or not sent else None
        return None

    found = wait_until(look, "the turn's record", _REPLY_SECONDS)
    assert found is not None
    return found


def _render_turn(channel: str, turn: dict[str, Any]) -> Panel:
    reply = turn["reply"]
    talk = [f"[bold cyan]{escape(message['text'])}[/]" for message in turn["input_messages"]]
    sources = [
        f"  [yellow]\\[{source['number']}][/] {escape(source['title'])}[dim], {escape(source['locator'])}[/]"
        for source in reply["citations"]
    ]
    parts = [*talk, "", escape(reply["text"]), "", *sources, ""]
    return Panel(Group(*parts, _render_figures(turn)), title=f"{channel} - {turn['binding']}", title_align="left")


def _render_figures(turn: dict[str, Any]) -> Table:
    calls = turn["model_calls"]
    models = ", ".join(sorted({f"{call['provider']}/{call['model']}" for call in calls}))
    table = Table.grid(padding=(0, 2))
    table.add_row("[dim]model[/]", f"{models}, {len(calls)} calls, {len(turn['tool_calls'])} tool calls")
    table.add_row("[dim]tokens by layer[/]", _format_pairs(turn["tokens_by_layer"]))
    table.add_row("[dim]tokens out[/]", str(sum(call["output_tokens"] for call in calls)))
    table.add_row("[dim]cost[/]", _format_cost(turn["cost_usd"]))
    table.add_row("[dim]stage times, ms[/]", _format_pairs(turn["stage_ms"]))
    return table


def _format_cost(cost: str | None) -> str:
    return "not known for this model" if cost is None else f"${Decimal(cost).normalize():f}"


def _format_pairs(numbers: dict[str, int]) -> str:
    return "  ".join(f"{name} {number}" for name, number in numbers.items())


if __name__ == "__main__":
    sys.exit(main())
