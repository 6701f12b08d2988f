"""Questions to a person before a tool call runs: list, show and answer them."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from parlour.cli import id_lookup, rendering, terminal
from parlour.cli.api_client import JsonOption, get_api_client
from parlour.cli.id_lookup import ID_HELP

_APPROVERS = {"user": "the user"}
_STATES = {"asked": "open", "claimed": "being done", "superseded": "replaced"}

ApprovalId = Annotated[str, typer.Argument(metavar="ID", help=f"Id from `parlour approvals list`; {ID_HELP}.")]

app = typer.Typer(help="Questions to a person before a tool call runs.")


@app.command("list", epilog="Examples: parlour approvals list; parlour approvals list --all --json")
def list_approvals(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Also those that were answered or expired.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number, newest first.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List the open questions, newest first."""
    found = get_api_client(context).request("GET", "v1/approvals", state="all" if every else "open", limit=limit)[
        "approvals"
    ]
    if as_json:
        terminal.print_json(found)
    elif found:
        terminal.print_renderable(_approval_table(found))
    else:
        terminal.print_line("No approvals yet" if every else "Nothing waits for an answer")


@app.command("show", epilog="Example: parlour approvals show 5fb1b03a")
def show_approval(context: typer.Context, approval: ApprovalId, as_json: JsonOption = False) -> None:
    """Show one question: the exact effect, and how it stands."""
    target = get_api_client(context)
    found = target.request("GET", f"v1/approvals/{id_lookup.approval_id(target, approval)}")
    if as_json:
        terminal.print_json(found)
    else:
        terminal.print_renderable(_render(found))


@app.command("yes", epilog="Examples: parlour approvals yes 5fb1b03a; parlour approvals yes 5fb1b03a --always-days 7")
def approve(
    context: typer.Context,
    approval: ApprovalId,
    always_days: Annotated[
        int, typer.Option(min=0, max=90, help="Allow the same tool to this user without a question, for so many days.")
    ] = 0,
) -> None:
    """Approve: the call runs once, exactly as it was asked about."""
    body: dict[str, object] = {"decision": "approve"}
    if always_days:
        body["always"] = {"until": (datetime.now(UTC) + timedelta(days=always_days, minutes=-1)).isoformat()}
    _answer(context, approval, body)


@app.command("no", epilog="Example: parlour approvals no 5fb1b03a --reason 'Ask again after the pour'")
def refuse(
    context: typer.Context,
    approval: ApprovalId,
    reason: Annotated[str, typer.Option(help="Why; the agent reads it.")] = "",
) -> None:
    """Refuse: the call does not run, and the agent reads the reason."""
    _answer(context, approval, {"decision": "refuse", "reason": reason})


def _answer(context: typer.Context, approval: str, body: Mapping[str, object]) -> None:
    target = get_api_client(context)
    answered = target.request("POST", f"v1/approvals/{id_lookup.approval_id(target, approval)}/answer", body)
    terminal.print_line(rendering.strip_control_codes(answered["message"]))


def _approval_table(found: Iterable[Mapping[str, Any]]) -> RenderableType:
    rows = (
        (
            " ".join(approval["text"].split()),
            _APPROVERS.get(approval["approver"], approval["approver"]),
            _STATES.get(approval["state"], approval["state"]),
            rendering.format_time(approval["expires_at"]),
            approval["id"],
        )
        for approval in found
    )
    return rendering.make_table(("what", "asked", "state", "open until", "id"), rows)


def _render(approval: Mapping[str, Any]) -> RenderableType:
    facts = [
        ("asked", _APPROVERS.get(approval["approver"], approval["approver"])),
        ("state", approval["status_text"]),
        ("asked at", rendering.format_time(approval["created_at"])),
        ("open until", rendering.format_time(approval["expires_at"])),
        ("reason", approval["reason"]),
        ("conversation", approval["session_id"]),
        ("id", approval["id"]),
    ]
    effect = Text(rendering.strip_control_codes(approval["text"]))
    return Group(effect, Text(""), rendering.make_value_table((name, value) for name, value in facts if value))
