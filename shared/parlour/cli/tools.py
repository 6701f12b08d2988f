"""Tools of the applied pack: call one without a model."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from parlour.cli import rendering, terminal
from parlour.cli.api_client import JsonOption, get_api_client
from parlour.infra.errors import InvalidRequest

app = typer.Typer(help="Tools of the applied pack: call one without a model.", no_args_is_help=True)


@app.callback()
def describe_group() -> None:
    """Keep `call` a command of the group, also while it is the only one."""


@app.command(epilog='Example: parlour tool call free_times \'{"day": "2026-03-03"}\'')
def call(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool's name.")],
    arguments: Annotated[str, typer.Argument(metavar="JSON", help="Its arguments, a JSON object.")] = "{}",
    yes: Annotated[bool, typer.Option("--yes", help="Also where a turn would ask a person first.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Call a tool once, as a turn would, and show the result or why it failed. On a laptop (`make run`).
    The exit status is 1 when the call failed or was not made."""
    body = {"arguments": _parse(arguments), "agreed": yes}
    found = get_api_client(context).request("POST", f"v1/tools/{name}/calls", body)
    if as_json:
        terminal.print_json(found)
    else:
        terminal.print_renderable(render_call(found))
    if found["state"] != "done":
        raise typer.Exit(1)


def render_call(found: Mapping[str, Any]) -> RenderableType:
    """Return the result of a done, or why there is none and what to do."""
    if found["state"] == "asks":
        approver = "the user" if found["approver"] == "user" else f"a member with the role {found['approver']}"
        return Text(f"A turn would ask {approver} first. Nothing was done. To call it all the same, add --yes.")
    lines = [f"{found['state']}, {found['latency_ms']:,} ms", json.dumps(found["result"], indent=2, ensure_ascii=False)]
    return Group(*(Text(rendering.strip_control_codes(line)) for line in [*lines, found["detail"]] if line))


def _parse(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"the arguments are not JSON: {error}; quote them, as '{{\"day\": 1}}'") from None
    if not isinstance(found, dict):
        raise InvalidRequest("the arguments must be a JSON object, such as '{\"day\": 1}'")
    return found
