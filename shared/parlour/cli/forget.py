"""Having something forgotten, from a terminal: what went, and what nobody here can reach."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from parlour.cli import drawing, terminal
from parlour.cli.target import Json, Target, target_of
from parlour.forgetting.report import Unfinished
from parlour.infra.errors import Conflict, InvalidRequest, RetryError

KINDS = ("user", "message", "file", "fact")
_SHOWN = 3
"""Ids of one row of the table that are named; `--json` names all."""

_MOST_ASKINGS = 500
"""An answer that is not the last takes half a minute: these are some hours."""

_PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Seconds before it is asked again, the longer the more often in a row it was not answered or not let: a minute in all,
which outlasts a deploy or a database that moves."""

_KEPT = "{}; what was begun is kept, and the same command goes on with it"

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
    as_json: Json = False,
) -> None:
    """Forget a person, a message, a file or a fact, with all that was made of it. It cannot be taken back."""
    if kind not in KINDS:
        raise InvalidRequest(f"{kind} cannot be forgotten; name one of {', '.join(KINDS)}")
    if not (dry_run or yes):
        typer.confirm(f"Forget {kind} {target_id} for good?", abort=True, err=True)
    body = {"kind": kind, "id": str(target_id), "dry_run": dry_run, "keep_records": keep_records}
    target = target_of(context)
    found = target.call("POST", "v1/forgettings", body) if dry_run else _done(target, body)
    if as_json:
        terminal.machine(found)
    else:
        terminal.show(drawn(found))


def _done(target: Target, body: Mapping[str, object]) -> Any:
    """The report. What takes longer than one answer may is asked for until all of it is done."""
    in_vain, is_under_way = 0, False
    for _ in range(_MOST_ASKINGS):
        try:
            return target.call("POST", "v1/forgettings", body)
        except Unfinished as problem:
            in_vain, is_under_way = 0, True
            terminal.remark(f"not done yet: {str(problem).partition('; ')[0]}")
        except (RetryError, Conflict) as problem:
            if not is_under_way:
                raise
            in_vain += 1
            if in_vain > len(_PAUSES):
                raise RetryError(_KEPT.format(problem)) from problem
            terminal.remark(f"asked in vain: {problem}")
        target.outside.sleep(_PAUSES[max(0, in_vain - 1)])
    raise RetryError(_KEPT.format(f"it was asked for {_MOST_ASKINGS} times"))


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
