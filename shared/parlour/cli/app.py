"""The commands. Each is one or two calls of the API and a drawing of the answer."""

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version as installed
from pathlib import Path
from typing import Annotated

import httpx2
import typer
from rich.console import Console
from typer.exceptions import TyperException

from parlour.cli import (
    administration,
    approvals,
    attention,
    chat_session,
    costs,
    doctor,
    documents,
    erase,
    files,
    functions,
    id_lookup,
    inbox,
    new,
    packs,
    prompts,
    pulse,
    records,
    reembedding,
    rendering,
    secrets,
    terminal,
    tools,
)
from parlour.cli.api_client import ApiClient, CliDependencies, JsonOption, get_api_client
from parlour.cli.id_lookup import ID_HELP
from parlour.infra.errors import InvalidPack, InvalidRequest, Misconfigured, ParlourError

_EXIT_REFUSED, _EXIT_USAGE, _EXIT_INTERRUPTED = 1, 2, 130
_NEGATIVE_NUMBER = re.compile(r"No such option: (-[0-9][0-9.]*)")
_TIMEOUT_SECONDS = 60.0
"""An apply with many documents takes the longest; API Gateway gives up after 29."""

app = typer.Typer(
    name="parlour",
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Configure a Parlour deployment, talk to its agents, and see what each turn cost.",
    epilog="Without --url, the command uses the local stack that `make run` started. Examples: parlour chat site-desk; "
    "parlour attention; parlour --tenant northbank apply packs/construction",
)

_TALK, _KNOWLEDGE, _PACKS = "Talk and inspect turns", "Records, documents and files", "Configure"
_OPERATE, _PEOPLE = "Operate", "People and access"


def main() -> None:
    """Run the `parlour` command."""
    checkout = Path(sys.prefix).parent  # `make run` keeps its environment and its files in the same folder
    dependencies = CliDependencies(_open_http_client, _run_program, time.sleep, Path.cwd(), checkout)
    sys.exit(run(sys.argv[1:], dependencies))


def run(arguments: Sequence[str], dependencies: CliDependencies) -> int:
    """Run one command; returns its exit status: 0 done, 1 refused or failed, 2 not understood."""
    try:
        return app(list(arguments) or ["--help"], prog_name="parlour", obj=dependencies, standalone_mode=False) or 0
    except (TyperException, typer.Abort, ParlourError, OSError, KeyboardInterrupt) as problem:
        text, status = _describe_failure(problem)
        if text:
            terminal.print_error(text)
        return status


def _describe_failure(problem: BaseException) -> tuple[str, int]:
    """Return what to print about a failure, and the exit status."""
    match problem:
        case TyperException():
            return f"parlour: {_usage_message(problem)}", _EXIT_USAGE
        case InvalidPack():
            count = len(problem.problems)
            return f"{problem}\nparlour: nothing was applied: {count} problem{'s' * (count != 1)} to fix", _EXIT_REFUSED
        case ParlourError():
            is_usage = isinstance(problem, InvalidRequest | Misconfigured)
            text = rendering.strip_control_codes(str(problem))
            return f"parlour: {text}", _EXIT_USAGE if is_usage else _EXIT_REFUSED
        case OSError():
            place = f"{problem.filename}: " if problem.filename else ""
            return rendering.strip_control_codes(f"parlour: {place}{problem.strerror or problem}"), _EXIT_REFUSED
        case KeyboardInterrupt():
            return "", _EXIT_INTERRUPTED
        case _:
            return "", _EXIT_REFUSED


def _usage_message(problem: TyperException) -> str:
    """Return in one line what was wrong with the arguments, and what to do."""
    text = " ".join(rendering.strip_control_codes(problem.format_message()).split())
    if negative := _NEGATIVE_NUMBER.search(text):
        return f"{negative[1]} is a negative number; give a positive one"
    context: typer.Context | None = getattr(problem, "ctx", None)
    command = context.command_path if context else "parlour"
    return text if text.endswith("?") else f"{text.removesuffix('.')}; see {command} --help"


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


@app.command(
    rich_help_panel=_TALK,
    epilog="Examples: parlour chat site-desk; parlour chat site-desk -m 'How wide is the crack at C4?'",
)
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


@app.command(rich_help_panel=_TALK, epilog="Examples: parlour turns --limit 5; parlour turns --session 5fb1b03a --json")
def turns(
    context: typer.Context,
    session: Annotated[str, typer.Option(metavar="ID", help=f"Only turns of this session; {ID_HELP}.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number, newest first.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List the newest turns: time, duration, tokens and cost."""
    target = get_api_client(context)
    session_id = id_lookup.session_id(target, session) if session else None
    found = target.request("GET", "v1/turns", session_id=session_id, limit=limit)["turns"]
    if as_json:
        terminal.print_json(found)
    else:
        terminal.print_renderable(
            rendering.render_turns(found) if found else "No turns yet. Start one: parlour chat BINDING"
        )


@app.command(rich_help_panel=_TALK, epilog="Example: parlour turn 5fb1b03a")
def turn(
    context: typer.Context,
    turn_id: prompts.Turn,
    as_json: JsonOption = False,
) -> None:
    """Show one turn: time by stage, tokens by layer, model calls, cost, reply and sources."""
    target = get_api_client(context)
    found = target.request("GET", f"v1/turns/{id_lookup.turn_id(target, turn_id)}")
    if as_json:
        terminal.print_json(found)
    else:
        terminal.print_renderable(rendering.render_turn(found))


@app.command(rich_help_panel=_TALK, epilog="Example: parlour undo 5fb1b03a")
def undo(
    context: typer.Context,
    turn_id: prompts.Turn,
) -> None:
    """Restore the records that a turn's calls changed. What was changed since is left and listed."""
    target = get_api_client(context)
    found = target.request("POST", f"v1/turns/{id_lookup.turn_id(target, turn_id)}/undo")["writes"]
    rows = ((one["handle"], one["action"], one["outcome"]) for one in found)
    terminal.print_renderable(rendering.make_table(("record", "what the turn did", "outcome"), rows))


@app.command(
    rich_help_panel=_OPERATE,
    epilog="Examples: parlour invoke inbound inbound_gupshup_text.json; parlour invoke receiver receiver_text.json",
)
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


for group, name, panel in (
    (documents.app, "documents", _KNOWLEDGE),
    (pulse.app, "pulse", _KNOWLEDGE),
    (secrets.app, "secrets", _PACKS),
    (functions.app, "functions", _PACKS),
    (tools.app, "tool", _PACKS),
    (inbox.app, "inbox", _OPERATE),
    (attention.app, "attention", _OPERATE),
    (approvals.app, "approvals", _OPERATE),
    (costs.app, "cost", _OPERATE),
    (administration.tenant, "tenant", _OPERATE),
    (administration.routes, "routes", _OPERATE),
    (administration.keys, "keys", _PEOPLE),
    (administration.users, "users", _PEOPLE),
):
    app.add_typer(group, name=name, rich_help_panel=panel)

for command, panel, example in (
    (new.new, _PACKS, "Examples: parlour new dentist; parlour new dentist --template reception"),
    (new.schema, _PACKS, "Example: parlour schema my-pack/.schema"),
    (
        packs.apply,
        _PACKS,
        "Examples: parlour apply packs/construction; parlour apply --watch my-pack; parlour apply --undo",
    ),
    (packs.check, _PACKS, "Example: parlour check packs/construction"),
    (packs.diff, _PACKS, "Example: parlour diff packs/construction"),
    (packs.export, _PACKS, "Example: parlour export my-pack"),
    (prompts.explain, _TALK, "Examples: parlour explain 5fb1b03a; parlour explain 5fb1b03a --diff 0c44e1d2"),
    (prompts.rebuild, _TALK, "Example: parlour rebuild 5fb1b03a --out prompt.json"),
    (records.search, _KNOWLEDGE, "Example: parlour search 'wind speed' --in project/NRS"),
    (records.records, _KNOWLEDGE, "Examples: parlour records risk; parlour records task --where state=open --json"),
    (records.show, _KNOWLEDGE, "Example: parlour show risk/R-03"),
    (records.accept, _KNOWLEDGE, "Example: parlour accept task/T-112"),
    (files.upload, _KNOWLEDGE, "Example: parlour upload survey.pdf --to project/NRS"),
    (files.files, _KNOWLEDGE, "Examples: parlour files project/NRS; parlour files --download 5fb1b03a"),
    (reembedding.reembed, _KNOWLEDGE, "Example: parlour reembed northbank --model all-MiniLM-L6-v2"),
    (doctor.doctor, _OPERATE, "Examples: parlour doctor; parlour doctor --stack parlour-prod --profile prod"),
    (attention.redrive, _OPERATE, "Examples: parlour redrive; parlour redrive --turn 5fb1b03a"),
    (attention.cancel, _OPERATE, "Example: parlour cancel 5fb1b03a"),
    (administration.limits, _OPERATE, "Example: parlour limits --limit 10"),
    (administration.audit, _PEOPLE, "Example: parlour audit --limit 10"),
    (erase.erase, _PEOPLE, "Example: parlour erase user 5fb1b03a --dry-run"),
):
    app.command(rich_help_panel=panel, epilog=example)(command)


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
