"""Having something forgotten, from a terminal: what went, and what nobody here can reach."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from parlour.cli import id_lookup, rendering, terminal
from parlour.cli.api_client import ApiClient, JsonOption, get_api_client
from parlour.cli.id_lookup import ID_HELP
from parlour.erasure.report import ErasureUnfinished
from parlour.infra.errors import Conflict, InvalidRequest, RetryError

ERASABLE_KINDS = ("user", "message", "file", "fact")
_MAX_IDS = 3
"""Ids of one row of the table that are named; `--json` names all."""

_MAX_REQUESTS = 500
"""An answer that is not the last takes half a minute: these are some hours."""

_RETRY_PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Seconds before it is asked again, the longer the more often in a row it was not answered or not let: a minute in all,
which outlasts a deploy or a database that moves."""

_RESUME_HINT = "{}; the progress is saved, run the same command again to continue"

_DRY_RUN_TEXTS = {
    "deleted": "would be deleted",
    "redacted": "would be redacted",
    "restored": "would be restored",
    "kept": "would be kept",
}
_NOUNS = {
    "users": "user",
    "sessions": "conversation",
    "messages": "message",
    "turns": "turn",
    "facts": "fact",
    "episodes": "episode",
    "entities": "record",
    "documents": "document",
    "files": "file",
    "attachments": "attachment",
    "tool_calls": "tool call",
}
"""Tables that people know, by what one row of them is. Rows of the others follow from these."""

_ID_LOOKUPS: Mapping[str, Callable[[ApiClient, str], str]] = {
    "user": id_lookup.user_id,
    "message": id_lookup.message_id,
    "file": id_lookup.file_id,
    "fact": id_lookup.fact_id,
}

_RESULT_TEXTS = {"deleted": "deleted", "redacted": "redacted", "restored": "restored", "kept": "kept"}


def erase(  # noqa: PLR0913 - one parameter for each option of the command
    context: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="user|message|file|fact", help="What to erase.")],
    target_id: Annotated[str, typer.Argument(metavar="ID", help=f"Its id; {ID_HELP}.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be erased.")] = False,
    keep_records: Annotated[
        bool, typer.Option("--keep-records", help="Keep the records that its turns changed, and list them.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List the tables and ids.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Erase a user, a message, a file or a fact with everything derived from it. This cannot be undone."""
    if kind not in ERASABLE_KINDS:
        raise InvalidRequest(f"cannot erase {kind!r}; use one of {', '.join(ERASABLE_KINDS)}")
    target = get_api_client(context)
    full_id = _ID_LOOKUPS[kind](target, target_id)
    if not (dry_run or yes):
        typer.confirm(f"Erase {kind} {full_id} permanently?", abort=True, err=True)
    body = {"kind": kind, "id": full_id, "dry_run": dry_run, "keep_records": keep_records}
    found = target.request("POST", "v1/erasures", body) if dry_run else _run_until_finished(target, body)
    if as_json:
        terminal.print_json(found)
    else:
        terminal.print_renderable(render_report(found, verbose=verbose))


def _run_until_finished(target: ApiClient, body: Mapping[str, object]) -> Any:
    """Return the report, asking again until an erasure that takes longer than one request is finished."""
    in_vain, is_under_way = 0, False
    for _ in range(_MAX_REQUESTS):
        try:
            return target.request("POST", "v1/erasures", body)
        except ErasureUnfinished as problem:
            in_vain, is_under_way = 0, True
            terminal.print_note(f"not done yet: {str(problem).partition('; ')[0]}")
        except (RetryError, Conflict) as problem:
            if not is_under_way:
                raise
            in_vain += 1
            if in_vain > len(_RETRY_PAUSES):
                raise RetryError(_RESUME_HINT.format(problem)) from problem
            terminal.print_note(f"retrying: {problem}")
        target.dependencies.sleep(_RETRY_PAUSES[max(0, in_vain - 1)])
    raise RetryError(_RESUME_HINT.format(f"it is not finished after {_MAX_REQUESTS} requests"))


def render_report(found: Mapping[str, Any], *, verbose: bool = True) -> RenderableType:
    """Render what was erased, in a sentence for each action or as a table, and below it what is out of reach."""
    said = _DRY_RUN_TEXTS if found["dry_run"] else _RESULT_TEXTS
    parts: list[RenderableType] = []
    if verbose:
        rows = (
            (one["table"], said[one["action"]], one["reason"], _shorten_ids(one["ids"]), one["count"])
            for one in found["rows"]
        )
        parts.append(rendering.make_table(("table", "result", "reason", "ids", "rows"), rows))
    else:
        parts += [Text(f"{text}: {summary}") for text, summary in _summarise(found["rows"], said)]
        parts.append(Text("The tables and ids: --verbose", style="dim"))
    if found["object_keys"]:
        parts.append(Text(f"files: {len(found['object_keys'])}"))
    parts += [Text(f"dead letters of {name}: {gone}") for name, gone in found["dead_letters"].items()]
    if found["recreated"]:
        parts.append(Text(f"rewritten from the remaining sources: {_shorten_ids(found['recreated'])}"))
    parts.append(Text("out of reach:"))
    parts += [Text(f"  {one['where']}: {one['explanation']}") for one in found["out_of_reach"]]
    return Group(*parts)


def _summarise(rows: Sequence[Mapping[str, Any]], texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield, for each action, its text and what it touches: "1 conversation, 12 messages, 2 facts"."""
    for action, text in texts.items():
        counts: dict[str, int] = {}
        for row in rows:
            if row["action"] == action:
                counts[row["table"]] = counts.get(row["table"], 0) + row["count"]
        named = [rendering.pluralize(counts.pop(table), noun) for table, noun in _NOUNS.items() if table in counts]
        if counts:
            named.append(f"{rendering.pluralize(sum(counts.values()), 'derived row')}")
        if named:
            yield text, ", ".join(named)


def _shorten_ids(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _MAX_IDS} more" if len(ids) > _MAX_IDS else ""
    return ", ".join(ids[:_MAX_IDS]) + more
