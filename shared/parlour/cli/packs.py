"""Packs from a terminal: compare, apply, undo and export."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from parlour.cli import functions, pack_watch, rendering, secrets, terminal
from parlour.cli.api_client import ApiClient, JsonOption, get_api_client
from parlour.infra.errors import InvalidPack, InvalidRequest, ParlourError
from parlour.packs import address_check, budget_check, built_in_tools, pack_warnings
from parlour.packs import folder as pack_folder
from parlour.packs.date_shift import validate_on
from parlour.packs.function_tools import FUNCTIONS_FOLDER
from parlour.text import token_counter
from parlour.tools.addresses import PrivateHosts

_COUNT_COLUMNS = ("created", "changed", "unchanged", "kept", "retired", "deleted")
_SIGNS = {"created": "+", "changed": "~", "deleted": "-", "switched_off": "off"}
_MAX_VALUE_CHARS = 60

#: The folder of a pack.
PackFolder = Annotated[Path, typer.Argument(help="The folder that contains tenant.yaml.")]
PruneOption = Annotated[bool, typer.Option("--prune", help="Delete what an earlier pack brought and this one lacks.")]


def check(pack: PackFolder) -> None:
    """Check a pack without a deployment, such as in CI: every mistake with its file and line."""
    read = built_in_tools.add_built_in_tools(validate_on(pack_folder.read_folder(pack), datetime.now(UTC).date()))
    if problems := list(budget_check.find_budget_problems(read, token_counter.count_tokens)):
        raise InvalidPack(problems)
    # Which private hosts a deployment allows is its own setting: here such an address is no mistake yet.
    warnings = [*pack_warnings.find_warnings(read), *address_check.find_address_problems(read, PrivateHosts({}))]
    for warning in warnings:
        terminal.print_line(rendering.strip_control_codes(f"Warning: {warning}"))
    terminal.print_line(f"{read.tenant.slug}: the pack is valid; nothing was written")


def diff(context: typer.Context, pack: PackFolder, prune: PruneOption = False, as_json: JsonOption = False) -> None:
    """Show what `parlour apply` would change. Writes nothing."""
    _show(_send(get_api_client(context), pack_folder.read_folder(pack), {"dry_run": True, "prune": prune}), as_json)


def apply(  # noqa: PLR0913 - one parameter per option
    context: typer.Context,
    pack: Annotated[Path | None, typer.Argument(help="The folder that contains tenant.yaml.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="In conflicts, keep what people changed (the default).")] = False,
    take: Annotated[bool, typer.Option("--take", help="In conflicts, take what the pack says.")] = False,
    take_item: Annotated[
        list[str] | None, typer.Option(metavar="ITEM", help="Take all of this item from the pack, such as risk/R-03.")
    ] = None,
    prune: PruneOption = False,
    watch: Annotated[bool, typer.Option("--watch", help="Apply again after every change, until Ctrl-C.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Undo the last apply; takes no folder.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Apply a pack. What people changed stays: conflicts are asked about in a terminal, and kept elsewhere."""
    target = get_api_client(context)
    if keep and take:
        raise InvalidRequest("--keep and --take exclude each other; use one of them")
    if undo:
        _undo(target, pack, dry_run=dry_run, yes=yes, as_json=as_json)
        return
    if pack is None:
        raise InvalidRequest("give the folder that contains tenant.yaml, such as: parlour apply packs/construction")
    if watch:
        _watch(target, pack, {"conflicts": "take" if take else "keep"})
        return
    files = pack_folder.read_folder(pack)
    decisions = [{"item": item, "choice": "take"} for item in take_item or ()]
    options: dict[str, object] = {"conflicts": "take" if take else "keep", "decisions": decisions, "prune": prune}
    if dry_run:
        _show(_send(target, files, {**options, "dry_run": True}), as_json)
        return
    asks_conflicts = not (keep or take or as_json) and terminal.is_interactive()
    if asks_conflicts or (prune and not yes):
        plan = _send(target, files, {**options, "dry_run": True})
        if prune and not yes:
            _confirm_deletions(plan)
        if asks_conflicts:
            options["decisions"] = [*decisions, *_ask_conflicts(plan)]
    _show(_send(target, files, options), as_json)
    if not as_json:
        secrets.print_missing_secrets(target)


def export(
    context: typer.Context, folder: Annotated[Path, typer.Argument(help="Target folder; created if missing.")]
) -> None:
    """Export the tenant's configuration as a pack. Applying it changes nothing."""
    pack_folder.check_target(folder)
    files = get_api_client(context).request("GET", "v1/pack")["files"]
    pack_folder.write_folder(folder, files)
    terminal.print_line(f"{len(files)} files in {folder}")


def _watch(target: ApiClient, pack: Path, options: Mapping[str, object]) -> None:
    """Apply now and after every change; a mistake in a file is printed, and the next change is tried."""
    terminal.print_note(f"Watching {pack}. Ctrl-C ends it.")
    code_before = None
    for _ in pack_watch.list_changes(pack, target.dependencies.sleep):
        try:
            _show(_send(target, pack_folder.read_folder(pack), options), as_json=False)
            code = pack_watch.fingerprint(pack / FUNCTIONS_FOLDER)
            if code and code != code_before and target.stack_file is not None:
                terminal.print_line(functions.deploy_to_laptop(target, pack))
                code_before = code
        except (ParlourError, OSError) as problem:
            terminal.print_error(rendering.strip_control_codes(str(problem)))


def _send(target: ApiClient, files: Mapping[str, str], options: Mapping[str, object]) -> Any:
    return target.request("PUT", "v1/pack", {"files": files, **options})


def _confirm_deletions(plan: Mapping[str, Any]) -> None:
    deleted = [one["item"] for one in plan["changes"] if one["action"] == "deleted"]
    if deleted:
        terminal.print_note("\n".join(["These will be deleted:", *(f"  - {item}" for item in deleted)]))
        typer.confirm(f"Delete {len(deleted)} items?", abort=True, err=True)


def _ask_conflicts(plan: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Ask for each conflict that no option has decided."""
    for one in plan["conflicts"]:
        if not one["taken"]:
            terminal.print_note(f"Conflict: {_difference(one)}")
            takes = typer.confirm("Take the pack's value?", default=False, err=True)
            yield {"item": one["item"], "field": one["field"], "choice": "take" if takes else "keep"}


def _undo(target: ApiClient, pack: Path | None, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    if pack is not None:
        raise InvalidRequest("--undo takes no folder: it undoes the last apply of the tenant")
    if not dry_run and not yes:
        plan = target.request("POST", "v1/pack/undo", {"dry_run": True})
        terminal.print_note("\n".join(_undo_lines(plan)))
        typer.confirm("Undo this apply?", abort=True, err=True)
    done = target.request("POST", "v1/pack/undo", {"dry_run": dry_run})
    if as_json:
        terminal.print_json(done)
    else:
        terminal.print_line("\n".join(_undo_lines(done)))


def _undo_lines(done: Mapping[str, Any]) -> Iterator[str]:
    state = "would be undone" if done["dry_run"] else "undone"
    yield f"apply of {rendering.format_time(done['applied_at'])} by {done['applied_by']}: {state}"
    yield from map(_change, done["restored"])
    if done["not_restored"]:
        yield "Not restored:"
        yield from (f"  {_name(one)}: {one['reason']}" for one in done["not_restored"])


def _show(done: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        terminal.print_json(done)
        return
    rows = [(kind, *(counts[name] for name in _COUNT_COLUMNS)) for kind, counts in done["counts"].items()]
    terminal.print_renderable(rendering.make_table(("", *_COUNT_COLUMNS), rows))
    for line in _result_lines(done):
        terminal.print_line(rendering.strip_control_codes(line))


def _result_lines(done: Mapping[str, Any]) -> Iterator[str]:
    if done["dry_run"]:
        yield from map(_change, done["changes"])
    if done["edits"]:
        yield "Kept, because people changed it (to replace it: --take-item ITEM):"
        yield from (f"  {_difference(one)}" for one in done["edits"])
    if done["conflicts"]:
        yield "Conflicts: the pack and people changed the same value:"
        yield from (f"  {_difference(one)}: {'taken' if one['taken'] else 'kept'}" for one in done["conflicts"])
    if done["not_in_pack"]:
        yield f"Not in the pack any more (kept; to delete: --prune): {', '.join(done['not_in_pack'])}"
    yield from (f"  not deleted: {_name(one)}: {one['reason']}" for one in done["not_deleted"])
    yield from (f"Warning: {warning}" for warning in done["warnings"])
    if done["waiting_routes"]:
        yield "These lead nowhere until the operator accepts them (parlour routes accept KEY):"
        yield from (f"  {key}" for key in done["waiting_routes"])
    state = "changes" if done["dry_run"] else "applied"
    ending = "; nothing was written" if done["dry_run"] else ""
    yield f"{done['tenant']}: {state if done['changed'] else 'no changes'}{ending}"


def _change(one: Mapping[str, Any]) -> str:
    fields = f": {', '.join(one['fields'])}" if one["action"] == "changed" else ""
    return f"  {_SIGNS[one['action']]} {one['item']}{fields}"


def _difference(one: Mapping[str, Any]) -> str:
    if one["field"] is None:
        return f"{one['item']}: deleted by people"
    current = "withheld" if one["withheld"] else _value(one["current_value"])
    return f"{_name(one)}: {current} (pack: {_value(one['pack_value'])})"


def _name(one: Mapping[str, Any]) -> str:
    return f"{one['item']} {one['field']}" if one["field"] else str(one["item"])


def _value(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False) if value is not None else "none"
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]}…"
