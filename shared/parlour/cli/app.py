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
    costs,
    drawing,
    files,
    forget,
    prompts,
    pulse,
    records,
    reembedding,
    talk,
    terminal,
)
from parlour.cli.target import Json, Outside, Target, target_of
from parlour.infra.errors import InvalidPack, InvalidRequest, Misconfigured, ParlourError
from parlour.packs import folder as pack_folder

_REFUSED, _NOT_UNDERSTOOD = 1, 2
_SECONDS = 60.0
"""An apply with many documents takes the longest; API Gateway gives up after 29."""

app = typer.Typer(
    name="parlour",
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Configure a Parlour deployment, talk to its agents, and see what each turn cost.",
    epilog="Without --url the local stack that `make run` started is used.",
)


def main() -> None:
    """The `parlour` command."""
    sys.exit(run(sys.argv[1:], Outside(_client, _program, time.sleep, Path.cwd())))


def run(arguments: Sequence[str], outside: Outside) -> int:
    """Run one command; returns its exit status: 0 done, 1 refused or failed, 2 not understood."""
    try:
        return app(list(arguments) or ["--help"], prog_name="parlour", obj=outside, standalone_mode=False) or 0
    except TyperException as problem:
        terminal.problem(f"parlour: {_sentence(problem)}")
        return _NOT_UNDERSTOOD
    except typer.Abort:
        return _REFUSED
    except InvalidPack as problem:
        terminal.problem(f"{problem}\nparlour: nothing was applied: {len(problem.problems)} to put right")
        return _REFUSED
    except ParlourError as problem:
        terminal.problem(f"parlour: {drawing.plain(str(problem))}")
        return _NOT_UNDERSTOOD if isinstance(problem, InvalidRequest | Misconfigured) else _REFUSED


def _sentence(problem: TyperException) -> str:
    """What was not understood, in one line whatever it quotes."""
    told = " ".join(drawing.plain(problem.format_message()).split())
    return f"{told.removesuffix('.')}; see parlour --help"


def _version(wanted: bool) -> None:
    if wanted:
        terminal.line(f"parlour {installed('parlour')}")
        raise typer.Exit


@app.callback()
def choose(
    context: typer.Context,
    url: Annotated[str, typer.Option(envvar="PARLOUR_URL", help="The API's address.")] = "",
    tenant: Annotated[str, typer.Option(envvar="PARLOUR_TENANT", help="The tenant's slug.")] = "",
    key: Annotated[
        str, typer.Option(envvar="PARLOUR_KEY", help="An API key, or the operator's key; better kept in the variable.")
    ] = "",
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    del version  # handled before anything else
    context.obj = Target(context.obj, url, tenant, key)


@app.command()
def apply(
    context: typer.Context, pack: Annotated[Path, typer.Argument(help="The folder that has tenant.yaml in it.")]
) -> None:
    """Apply a pack; again, it changes nothing. Documents and records it no longer has stay, and are named."""
    target = target_of(context)
    done = target.call("PUT", "v1/pack", {"files": pack_folder.read(pack)})
    rows = [(kind, *(counts.get(name, 0) for name in _COUNTS)) for kind, counts in done["kinds"].items()]
    terminal.show(drawing.table(("", *_COUNTS), rows))
    if done["left"]:
        terminal.line(f"no longer in the pack, kept: {', '.join(done['left'])}; delete what is to go by itself")
    terminal.line(f"{done['tenant']}: {'applied' if done['changed'] else 'nothing to change'}")


_COUNTS = ("created", "changed", "unchanged", "kept", "retired")


@app.command()
def export(
    context: typer.Context, folder: Annotated[Path, typer.Argument(help="Where to; made when it is not there.")]
) -> None:
    """Write the tenant's configuration as a pack that, applied, changes nothing."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidRequest(f"{folder} is not empty; name a new folder")
    files = target_of(context).call("GET", "v1/pack")["files"]
    pack_folder.write(folder, files)
    terminal.line(f"{len(files)} files in {folder}")


@app.command()
def chat(
    context: typer.Context,
    binding: Annotated[str, typer.Argument(help="A binding's slug, or the host of its web channel.")],
    message: Annotated[str, typer.Option("--message", "-m", help="Say this, show the reply, and end.")] = "",
) -> None:
    """Talk to an agent as a visitor of its web page would. An empty line or Ctrl-D ends it."""
    console = Console()
    conversation = talk.begin(target_of(context), console, binding)
    if message:
        conversation.say(message)
        return
    terminal.remark(f"{conversation.name}. {drawing.plain(conversation.session['binding']['greeting'])}")
    while text := _asked(console):
        conversation.say(text)


@app.command()
def turns(
    context: typer.Context,
    session: Annotated[UUID | None, typer.Option(help="Only this session's.")] = None,
    most: Annotated[int, typer.Option(min=1, max=100, help="How many, newest first.")] = 20,
    as_json: Json = False,
) -> None:
    """The newest turns: when, how long, how many tokens, what they cost."""
    found = target_of(context).call("GET", "v1/turns", session_id=session, most=most)["turns"]
    if as_json:
        terminal.machine(found)
    else:
        terminal.show(drawing.turns(found) if found else "no turns so far; `parlour chat BINDING` makes one")


@app.command()
def turn(
    context: typer.Context,
    turn_id: Annotated[UUID, typer.Argument(metavar="TURN", help="Its id, from `parlour turns`.")],
    as_json: Json = False,
) -> None:
    """One turn: time by stage, tokens by layer, model calls, cost, reply and sources."""
    found = target_of(context).call("GET", f"v1/turns/{turn_id}")
    if as_json:
        terminal.machine(found)
    else:
        terminal.show(drawing.turn(found))


@app.command()
def invoke(
    context: typer.Context,
    function: Annotated[str, typer.Argument(help="A folder of functions/, like receiver.")],
    event: Annotated[str, typer.Argument(help="A file of events/, like receiver_text.json.")],
) -> None:
    """Run one handler on a sample event under AWS's own runtime client (in a checkout, with the stack running)."""
    target: Target = context.obj
    if not (target.outside.folder / "local" / "invoke.py").is_file():
        raise InvalidRequest("invoke runs handlers from a checkout: change to the repository's folder first")
    raise typer.Exit(target.outside.run([sys.executable, "-m", "local.invoke", function, event]))


app.add_typer(administration.keys, name="keys")
app.add_typer(administration.tenant, name="tenant")
app.add_typer(attention.app, name="attention")
app.add_typer(costs.app, name="cost")
app.add_typer(pulse.app, name="pulse")
app.command()(prompts.explain)
app.command()(prompts.rebuild)
app.command()(records.search)
app.command()(records.records)
app.command()(records.show)
app.command()(files.upload)
app.command()(files.files)
app.command(name="forget")(forget.forget)
app.command()(reembedding.reembed)
app.command()(attention.redrive)
app.command()(attention.cancel)
app.command()(administration.audit)


def _asked(console: Console) -> str:
    try:
        return console.input("[bold]you[/] ").strip()
    except (EOFError, KeyboardInterrupt):
        console.print()
        return ""


def _client(url: str) -> httpx2.Client:
    return httpx2.Client(base_url=url, timeout=_SECONDS)


def _program(arguments: Sequence[str]) -> int:
    return subprocess.run(arguments, check=False).returncode  # noqa: S603 - this interpreter and our own module
