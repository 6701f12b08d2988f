"""The commands. Each is one or two calls of the API and a drawing of the answer."""

import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version as installed
from pathlib import Path
from typing import Annotated
from uuid import UUID

import httpx2
import typer
from rich.console import Console
from typer.exceptions import TyperException

from parlour.cli import (
    administration,
    attention,
    chat_session,
    costs,
    documents,
    erase,
    files,
    new,
    packs,
    prompts,
    pulse,
    records,
    reembedding,
    rendering,
    terminal,
)
from parlour.cli.api_client import ApiClient, CliDependencies, JsonOption, get_api_client
from parlour.infra.errors import InvalidPack, InvalidRequest, Misconfigured, ParlourError

_EXIT_REFUSED, _EXIT_USAGE = 1, 2
_TIMEOUT_SECONDS = 60.0
"""An apply with many documents takes the longest; API Gateway gives up after 29."""

app = typer.Typer(
    name="parlour",
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Configure a Parlour deployment, talk to its agents, and see what each turn cost.",
    epilog="Without --url, the command uses the local stack that `make run` started.",
)


def main() -> None:
    """Run the `parlour` command."""
    sys.exit(run(sys.argv[1:], CliDependencies(_open_http_client, _run_program, time.sleep, Path.cwd())))


def run(arguments: Sequence[str], dependencies: CliDependencies) -> int:
    """Run one command; returns its exit status: 0 done, 1 refused or failed, 2 not understood."""
    try:
        return app(list(arguments) or ["--help"], prog_name="parlour", obj=dependencies, standalone_mode=False) or 0
    except TyperException as problem:
        told = " ".join(rendering.strip_control_codes(problem.format_message()).split())
        terminal.print_error(f"parlour: {f'{told.removesuffix(".")}; see parlour --help'}")
        return _EXIT_USAGE
    except typer.Abort:
        return _EXIT_REFUSED
    except InvalidPack as problem:
        terminal.print_error(f"{problem}\nparlour: nothing was applied: {len(problem.problems)} problems to fix")
        return _EXIT_REFUSED
    except ParlourError as problem:
        terminal.print_error(f"parlour: {rendering.strip_control_codes(str(problem))}")
        return _EXIT_USAGE if isinstance(problem, InvalidRequest | Misconfigured) else _EXIT_REFUSED


def _print_version(wanted: bool) -> None:
    if wanted:
        terminal.print_line(f"parlour {installed('parlour')}")
        raise typer.Exit


@app.callback()
def configure(
    context: typer.Context,
    url: Annotated[str, typer.Option(envvar="PARLOUR_URL", help="The API's address.")] = "",
    tenant: Annotated[str, typer.Option(envvar="PARLOUR_TENANT", help="The tenant's slug.")] = "",
    key: Annotated[
        str,
        typer.Option(envvar="PARLOUR_KEY", help="An API key or the operator's key; prefer the environment variable."),
    ] = "",
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version  # handled before anything else
    context.obj = ApiClient(context.obj, url, tenant, key)


@app.command()
def chat(
    context: typer.Context,
    binding: Annotated[str, typer.Argument(help="A binding's slug, or the host of its web channel.")],
    message: Annotated[str, typer.Option("--message", "-m", help="Send this message, show the reply and exit.")] = "",
) -> None:
    """Chat with an agent as a web visitor. An empty line or Ctrl-D ends the chat."""
    console = Console()
    conversation = chat_session.open_chat(get_api_client(context), console, binding)
    if message:
        conversation.send(message)
        return
    terminal.print_note(
        f"{conversation.agent_name}. {rendering.strip_control_codes(conversation.session['binding']['greeting'])}"
    )
    while text := _read_input(console):
        conversation.send(text)


@app.command()
def turns(
    context: typer.Context,
    session: Annotated[UUID | None, typer.Option(help="Only turns of this session.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number, newest first.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List the newest turns: time, duration, tokens and cost."""
    found = get_api_client(context).request("GET", "v1/turns", session_id=session, limit=limit)["turns"]
    if as_json:
        terminal.print_json(found)
    else:
        terminal.print_renderable(
            rendering.render_turns(found) if found else "No turns yet. Start one: parlour chat BINDING"
        )


@app.command()
def turn(
    context: typer.Context,
    turn_id: Annotated[UUID, typer.Argument(metavar="TURN", help="Turn id, from `parlour turns`.")],
    as_json: JsonOption = False,
) -> None:
    """Show one turn: time by stage, tokens by layer, model calls, cost, reply and sources."""
    found = get_api_client(context).request("GET", f"v1/turns/{turn_id}")
    if as_json:
        terminal.print_json(found)
    else:
        terminal.print_renderable(rendering.render_turn(found))


@app.command()
def undo(
    context: typer.Context,
    turn_id: Annotated[UUID, typer.Argument(metavar="TURN", help="Turn id, from `parlour turns`.")],
) -> None:
    """Restore the records that a turn's calls changed. What was changed since is left and listed."""
    found = get_api_client(context).request("POST", f"v1/turns/{turn_id}/undo")["writes"]
    rows = ((one["handle"], one["action"], one["outcome"]) for one in found)
    terminal.print_renderable(rendering.make_table(("record", "what the turn did", "outcome"), rows))


@app.command()
def invoke(
    context: typer.Context,
    function: Annotated[str, typer.Argument(help="A folder in functions/, such as receiver.")],
    event: Annotated[str, typer.Argument(help="A file in events/, such as receiver_text.json.")],
) -> None:
    """Run one handler on a sample event under AWS's own runtime client (in a checkout, with the stack running)."""
    target: ApiClient = context.obj
    if not (target.dependencies.folder / "local" / "invoke.py").is_file():
        raise InvalidRequest("`parlour invoke` works only in a checkout: change to the repository's folder first")
    raise typer.Exit(target.dependencies.run_program([sys.executable, "-m", "local.invoke", function, event]))


app.add_typer(administration.keys, name="keys")
app.add_typer(administration.tenant, name="tenant")
app.add_typer(administration.users, name="users")
app.add_typer(attention.app, name="attention")
app.add_typer(costs.app, name="cost")
app.add_typer(documents.app, name="documents")
app.add_typer(pulse.app, name="pulse")
app.command()(new.new)
app.command()(new.schema)
app.command()(packs.apply)
app.command()(packs.diff)
app.command()(packs.export)
app.command()(prompts.explain)
app.command()(prompts.rebuild)
app.command()(records.search)
app.command()(records.records)
app.command()(records.show)
app.command()(records.accept)
app.command()(files.upload)
app.command()(files.files)
app.command()(erase.erase)
app.command()(reembedding.reembed)
app.command()(attention.redrive)
app.command()(attention.cancel)
app.command()(administration.limits)
app.command()(administration.audit)


def _read_input(console: Console) -> str:
    try:
        return console.input("[bold]you[/] ").strip()
    except (EOFError, KeyboardInterrupt):
        console.print()
        return ""


def _open_http_client(url: str) -> httpx2.Client:
    return httpx2.Client(base_url=url, timeout=_TIMEOUT_SECONDS)


def _run_program(arguments: Sequence[str]) -> int:
    return subprocess.run(arguments, check=False).returncode  # noqa: S603 - this interpreter and our own module
