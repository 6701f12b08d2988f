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

from local.interrupts import Interrupts
from local.problems import StackProblem
from local.progress import Progress
from local.stack import running
from local.state import FOLDER, free_ports
from local.talk import Talk, answer_problem, citation_problem, sample, until
from local.up import answering, guarded, options_from

WEB_BINDING = "contract-desk"
WEB_QUESTION = "What do we owe per day if we finish late?"
_REPLY_SECONDS = 60.0

_EXPECTED = {"WhatsApp": ("0.45 mm", "Site report no. 19"), "web": ("3,500", "Main works contract")}
"""What each reply has to say, and from where, whichever model answers."""


def main() -> int:
    """Returns the exit status: 0 only when both replies came, say what they should and are validly cited."""
    return guarded(_demo)


def _demo(interrupts: Interrupts) -> int:
    begun = time.monotonic()
    chosen = options_from(os.environ)  # noqa: TID251 - a launcher
    options = replace(chosen, folder=FOLDER / "demo", ports=free_ports())
    progress = Progress()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
    with running(options, progress, interrupts) as stack, Talk(stack) as talk:
        progress.note(f"\n[bold]Ready after {time.monotonic() - begun:.0f} s.[/] Answers: {answering(options)}\n")
        turns = {"WhatsApp": _whatsapp(talk), "web": _web(talk)}
        for channel, turn in turns.items():
            console.print(_picture(channel, turn))
            if problem := citation_problem(turn["reply"]):
                raise StackProblem(f"the {channel} reply is not validly cited: {problem}")
            if problem := answer_problem(turn["reply"], *_EXPECTED[channel]):
                raise StackProblem(f"the {channel} answer is wrong: {problem}")
        console.print("[green]Both replies came, say what the documents say, and every citation in them is good.[/]")
    return 0


def _whatsapp(talk: Talk) -> dict[str, Any]:
    """The sample event of events/ through the deployed webhook; returns the turn once the phone has the reply."""
    payload = sample("inbound_gupshup_text")
    number = "+" + payload["payload"]["source"]
    before = len(talk.phone_messages(number))
    status = talk.webhook(payload)
    if status != 200:
        raise StackProblem(f"the webhook answered {status}: look at .parlour/demo/logs")
    until(lambda: talk.phone_messages(number)[before:], "the reply on the phone", _REPLY_SECONDS)
    asked = payload["payload"]["payload"]["text"]
    return _answered(talk, asked, sent=True)


def _web(talk: Talk) -> dict[str, Any]:
    session = talk.open_session(WEB_BINDING)
    talk.say(session, WEB_QUESTION)
    until(
        lambda: [event for event in talk.events(session) if event["kind"] == "done"], "the web's reply", _REPLY_SECONDS
    )
    return _answered(talk, WEB_QUESTION, sent=False)


def _answered(talk: Talk, asked: str, *, sent: bool) -> dict[str, Any]:
    """The newest turn that answers `asked`; on a messaging channel, once the provider has reported on it."""

    def look() -> dict[str, Any] | None:
        for turn in talk.turns(most=20):
            if turn["state"] == "answered" and any(message["text"] == asked for message in turn["inputs"]):
                delivered = (turn["sending"] or {}).get("state") in {"delivered", "read"}
                return turn if delivered or not sent else None
        return None

    found = until(look, "the turn's record", _REPLY_SECONDS)
    assert found is not None
    return found


def _picture(channel: str, turn: dict[str, Any]) -> Panel:
    reply = turn["reply"]
    talk = [f"[bold cyan]{escape(message['text'])}[/]" for message in turn["inputs"]]
    sources = [
        f"  [yellow]\\[{source['number']}][/] {escape(source['title'])}[dim], {escape(source['locator'])}[/]"
        for source in reply["citations"]
    ]
    parts = [*talk, "", escape(reply["text"]), "", *sources, ""]
    return Panel(Group(*parts, _figures(turn)), title=f"{channel} - {turn['binding']}", title_align="left")


def _figures(turn: dict[str, Any]) -> Table:
    calls = turn["calls"]
    models = ", ".join(sorted({f"{call['provider']}/{call['model']}" for call in calls}))
    table = Table.grid(padding=(0, 2))
    table.add_row("[dim]model[/]", f"{models}, {len(calls)} calls, {len(turn['tools'])} tool calls")
    table.add_row("[dim]tokens by layer[/]", _pairs(turn["tokens_by_layer"]))
    table.add_row("[dim]tokens out[/]", str(sum(call["output_tokens"] for call in calls)))
    table.add_row("[dim]cost[/]", _dollars(turn["cost_usd"]))
    table.add_row("[dim]stage times, ms[/]", _pairs(turn["stage_ms"]))
    return table


def _dollars(cost: str | None) -> str:
    return "not known for this model" if cost is None else f"${Decimal(cost).normalize():f}"


def _pairs(numbers: dict[str, int]) -> str:
    return "  ".join(f"{name} {number}" for name, number in numbers.items())


if __name__ == "__main__":
    sys.exit(main())
