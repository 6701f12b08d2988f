"""The secrets that a tenant's bindings and tools need: list, check and store them. No value is ever printed."""

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from parlour.cli import rendering, suggestions, terminal
from parlour.cli.api_client import ApiClient, JsonOption, get_api_client
from parlour.cli.aws_account import ProfileOption, RegionOption, find_account
from parlour.infra.errors import InvalidRequest

_STATUS_TEXTS = {"unknown": "unknown: the secret store does not answer"}

app = typer.Typer(help="Secrets that bindings and tools need: list, check and store them.", no_args_is_help=True)


@app.command("list", epilog="Example: parlour secrets list")
def list_secrets(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the secrets that the tenant's pack names, what uses them, and whether they are stored."""
    found = _get_secrets(get_api_client(context))
    if as_json:
        terminal.print_json(found)
    else:
        _print_table(found)


@app.command(epilog="Example: parlour secrets check && make deploy")
def check(context: typer.Context, as_json: JsonOption = False) -> None:
    """Check that every secret in use is stored and readable. The exit status is 1 when one is not."""
    found = _get_secrets(get_api_client(context))
    if as_json:
        terminal.print_json(found)
    else:
        _print_table(found)
        for line in missing_secret_lines(found):
            terminal.print_line(line)
    if find_missing(found):
        raise typer.Exit(1)


@app.command(
    "set", epilog="Examples: parlour secrets set gupshup_api_key; parlour secrets set gupshup_api_key < key.txt"
)
def set_secret(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name in tenant.yaml, from `parlour secrets list`.")],
    profile: ProfileOption = "",
    region: RegionOption = "",
) -> None:
    """Store a secret in Secrets Manager. The value comes from a hidden prompt or from standard input."""
    target = get_api_client(context)
    known = {one["name"]: one["reference"] for one in _get_secrets(target)}
    if name not in known:
        raise InvalidRequest(
            suggestions.unknown_name("secret", name, list(known)) + "; name it in tenant.yaml and apply the pack first"
        )
    account = find_account(target, profile, region)
    account.open_secrets().put(known[name], _read_value(name))
    terminal.print_line(
        f"Stored {name} ({known[name]}). Functions use it within five minutes; replies that wait for it follow by "
        "themselves."
    )


def print_missing_secrets(target: ApiClient) -> None:
    """Print which secrets in use are not stored, and how to store them; nothing when all are."""
    for line in missing_secret_lines(_get_secrets(target)):
        terminal.print_line(line)


def missing_secret_lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each secret in use that is not stored."""
    return [
        f"Secret {one['name']} is {_STATUS_TEXTS.get(one['status'], one['status'])}; {', '.join(one['used_by'])} "
        f"cannot work without it. Run: parlour secrets set {one['name']}"
        for one in find_missing(found)
    ]


def find_missing(found: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the secrets in use that are not stored."""
    return [one for one in found if one["used_by"] and one["status"] != "stored"]


def _get_secrets(target: ApiClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = target.request("GET", "v1/secrets")["secrets"]
    return found


def _print_table(found: Sequence[Mapping[str, Any]]) -> None:
    if not found:
        terminal.print_line("The pack names no secrets")
        return
    rows = ((one["name"], one["status"], ", ".join(one["used_by"]) or "-", one["reference"]) for one in found)
    terminal.print_renderable(rendering.make_table(("secret", "status", "used by", "reference"), rows))


def _read_value(name: str) -> str:
    is_typed = sys.stdin.isatty()
    value = str(typer.prompt(f"Value of {name}", hide_input=True, err=True)) if is_typed else sys.stdin.read()
    if not value.strip():
        raise InvalidRequest(f"the value of {name} is empty; nothing was stored")
    return value.rstrip("\r\n")
