"""Having something forgotten, from a terminal: what went, and what nobody here can reach."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from parlour.cli import drawing, terminal
from parlour.cli.target import Target
from parlour.infra.errors import InvalidRequest

KINDS = ("user", "message", "file", "fact")
_SHOWN = 3
"""Ids of one row of the table that are named; `--json` names all."""

_WOULD = {"removed": "would go", "emptied": "would be emptied", "restored": "would be so again", "kept": "would stay"}
_DID = {"removed": "gone", "emptied": "emptied", "restored": "so again", "kept": "kept"}


def forget(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="user|message|file|fact", help="What it is.")],
    target_id: Annotated[UUID, typer.Argument(metavar="ID", help="Its id.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    keep_records: Annotated[
        bool, typer.Option("--keep-records", help="What its turns did to your records stays, and is listed.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether you are sure.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the API's JSON instead.")] = False,
) -> None:
    """Forget a person, a message, a file or a fact, with all that was made of it. It cannot be taken back."""
    if kind not in KINDS:
        raise InvalidRequest(f"{kind} cannot be forgotten; name one of {', '.join(KINDS)}")
    if not (dry_run or yes):
        typer.confirm(f"Forget {kind} {target_id} for good?", abort=True, err=True)
    chosen: Target = context.obj
    body = {"kind": kind, "id": str(target_id), "dry_run": dry_run, "keep_records": keep_records}
    found = chosen.resolved().call("POST", "v1/forgettings", body)
    if as_json:
        terminal.machine(found)
    else:
        terminal.show(drawn(found))


def drawn(found: Mapping[str, Any]) -> RenderableType:
    """The report as a table, and below it what is out of reach."""
    said = _WOULD if found["dry_run"] else _DID
    rows = [(one["table"], said[one["fate"]], one["count"], _some(one["ids"]), one["why"]) for one in found["rows"]]
    parts: list[RenderableType] = [drawing.table(("where", "what", "rows", "which", "why"), rows)]
    if found["objects"]:
        parts.append(Text(f"files: {len(found['objects'])}"))
    parts += [Text(f"dead letters of {name}: {gone}") for name, gone in found["dead_letters"].items()]
    if found["anew"]:
        parts.append(Text(f"written again from what remains: {_some(found['anew'])}"))
    parts.append(Text("out of reach:"))
    parts += [Text(f"  {one['where']}: {one['what']}") for one in found["out_of_reach"]]
    return Group(*parts)


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(ids[:_SHOWN]) + more
