"""Searching, listing and showing records in a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from parlour.cli import rendering, suggestions, terminal
from parlour.cli.api_client import ApiClient, JsonOption, get_api_client
from parlour.infra.errors import InvalidRequest, NotFound, ParlourError

_PAGE_SIZE = 100
"""Records that one call brings."""

_MAX_LINKS = 100
_LEVELS = ("public", "internal", "confidential", "restricted")
_STATE_PROPERTIES = ("state", "status")


def search(
    context: typer.Context,
    words: Annotated[str, typer.Argument(help="Search text.")],
    inside: Annotated[
        str, typer.Option("--in", metavar="HANDLE", help="Search in this record and its linked records.")
    ] = "",
    type_key: Annotated[str, typer.Option("--type", help="Only records of this type.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=50, help="Maximum number, best first.")] = 8,
    as_json: JsonOption = False,
) -> None:
    """Search records, documents and files."""
    found = get_api_client(context).request("GET", "v1/search", q=words, limit=limit, **_scope_query(inside, type_key))
    if as_json:
        terminal.print_json(found)
        return
    if found["expanded"]:
        terminal.print_note(f"searched for: {found['expanded']}")
    terminal.print_renderable(_render_cards(found["cards"]) if found["cards"] else "No results. Try other words.")


def records(
    context: typer.Context,
    type_key: Annotated[str, typer.Argument(metavar="[TYPE]", help="Only records of this type, like task.")] = "",
    project: Annotated[str, typer.Option(metavar="HANDLE", help="Only records of this project.")] = "",
    where: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Filter by a property value; repeat it for several.")
    ] = None,
    is_unverified: Annotated[
        bool, typer.Option("--unverified", help="Only records by users that nobody has accepted.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number, latest change first.")] = 30,
    as_json: JsonOption = False,
) -> None:
    """List records, latest change first."""
    filters = {"type": type_key, "project": project, **_property_filters(where or ())}
    if is_unverified:
        filters["unverified"] = "true"
    found = _read_pages(get_api_client(context), limit, filters)
    if as_json:
        terminal.print_json(found)
    elif found:
        terminal.print_renderable(rendering.make_table(("name", "state", "changed", "record"), map(_record_row, found)))
    else:
        terminal.print_line("No records found")


def accept(
    context: typer.Context,
    handle: Annotated[str, typer.Argument(metavar="HANDLE", help="From `parlour records --unverified`.")],
) -> None:
    """Accept a record that a user created: searches, briefings and Pulses of everybody include it from now on."""
    _require_handle(handle)
    target = get_api_client(context)
    record = target.request("GET", f"v1/entities/{quote(handle, safe='/')}")
    target.request("POST", f"v1/entities/{record['id']}/accept")
    terminal.print_line(f"Accepted: {handle}. Everybody who may read it finds it now.")


def show(
    context: typer.Context,
    handle: Annotated[str, typer.Argument(metavar="HANDLE", help="Like task/T-112, or document/site-notes.")],
    as_json: JsonOption = False,
) -> None:
    """Show one record with its links; for a document, its text."""
    kind = _require_handle(handle)
    target, path = get_api_client(context), quote(handle, safe="/")
    try:
        found, links = _get_record(target, path)
    except NotFound as problem:
        raise NotFound(_unknown_record(target, kind, handle) or str(problem)) from problem
    document = target.request("GET", f"v1/documents/{path}") if kind == "document" else None
    if as_json:
        terminal.print_json({"record": found, "links": links, "document": document})
    else:
        parts = _render_record(found, links)
        if document is not None:
            if found is None:
                parts.append(Text(rendering.strip_control_codes(document["title"]), style="bold"))
            parts.append(Text("\n" + rendering.strip_control_codes(document["content"])))
        terminal.print_renderable(Group(*parts))


def _require_handle(handle: str) -> str:
    """Return the type that a handle names; InvalidRequest for what is none."""
    kind, slash, key = handle.partition("/")
    if not (kind and slash and key):
        raise InvalidRequest("a handle is a type and a key, like task/T-112; `parlour records` lists them")
    return kind


def _unknown_record(target: ApiClient, kind: str, handle: str) -> str:
    """Return which record of the type was probably meant; empty when the type has none to offer."""
    try:
        found = target.request("GET", "v1/entities", type=kind, limit=_PAGE_SIZE)["entities"]
    except ParlourError:
        return ""
    return suggestions.unknown_name("record", handle, [one["handle"] for one in found]) if found else ""


def _get_record(target: ApiClient, path: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return the record and its links; a pack's document is no record, and its key contains a path."""
    if path.startswith("document/") and path.count("/") > 1:
        return None, None
    try:
        record = target.request("GET", f"v1/entities/{path}")
        return record, target.request("GET", f"v1/entities/{path}/links", limit=_MAX_LINKS)
    except NotFound:
        if not path.startswith("document/"):
            raise
        return None, None


def _scope_query(inside: str, kind: str) -> Mapping[str, str]:
    if inside and kind:
        raise InvalidRequest("use one of --in and --type")
    if inside:
        return {"scope": "project" if inside.startswith("project/") else "record", "in": inside}
    return {"scope": "type", "in": kind} if kind else {}


def _property_filters(where: Sequence[str]) -> Mapping[str, str]:
    pairs = [one.partition("=") for one in where]
    if bad := [name for name, _, value in pairs if not (name and value)]:
        raise InvalidRequest(f"--where: write NAME=VALUE, like state=open, not {bad[0]!r}")
    return {f"where.{name}": value for name, _, value in pairs}


def _read_pages(target: ApiClient, most: int, wanted: Mapping[str, str]) -> list[dict[str, Any]]:
    """Up to `most` records, read page after page."""
    asked = {name: value for name, value in wanted.items() if value}
    found: list[dict[str, Any]] = []
    cursor = ""
    while len(found) < most:
        more = {"cursor": cursor} if cursor else {}
        page = target.request("GET", "v1/entities", limit=min(_PAGE_SIZE, most - len(found)), **asked, **more)
        found += page["entities"]
        cursor = page["next_cursor"]
        if not cursor:
            break
    return found


def _record_row(one: Mapping[str, Any]) -> Sequence[object]:
    state = next((one["properties"][name] for name in _STATE_PROPERTIES if one["properties"].get(name)), "")
    return one["name"], state, rendering.format_time(one["updated_at"])[:16], one["handle"]


def _render_cards(found: Iterable[Mapping[str, Any]]) -> Group:
    """Each card in a few lines: how well it fits, what it is and of which record; where it stands; its words."""
    parts: list[RenderableType] = []
    for one in found:
        named = one["document"] or one["handle"]
        of = f" of {named}" if named else ""
        parts.append(
            Text.assemble(
                (f"{one['score']:>4.0%}  ", "green"),
                (rendering.strip_control_codes(one["title"]), "bold"),
                (rendering.strip_control_codes(f"  {one['badge'].lower()}{of}"), "dim"),
            )
        )
        where = [Text(rendering.strip_control_codes(one["locator"]), style="yellow")] if one["locator"] else []
        parts.append(Padding(Group(*where, Text(rendering.strip_control_codes(one["preview"]))), (0, 0, 1, 6)))
    return Group(*parts)


def _render_record(found: Mapping[str, Any] | None, links: Mapping[str, Any] | None) -> list[RenderableType]:
    if found is None:
        return []
    facts = [found["handle"], _LEVELS[found["classification"]], f"version {found['version']}"]
    facts += [f"in {found['project']}"] if found["project"] else []
    head = Text.assemble(
        (rendering.strip_control_codes(found["name"]), "bold"),
        (rendering.strip_control_codes(f"\n{', '.join(facts)}"), "dim"),
    )
    units: Mapping[str, str] = found["units"]
    values = found["properties"].items()
    properties = [(name.replace("_", " "), _format_value(value, units.get(name, ""))) for name, value in values]
    parts: list[RenderableType] = [head]
    parts += [Text(""), rendering.make_value_table(properties)] if properties else []
    linked = links["links"] if links else []
    if linked:
        headings = ("relation", "name", "record")
        parts += [Text("\nlinks", style="dim"), rendering.make_table(headings, map(_link_row, linked))]
    return parts


def _link_row(one: Mapping[str, Any]) -> Sequence[object]:
    how = [
        f"{'<-' if relation['direction'] == 'incoming' else '->'} {relation['relation'].replace('_', ' ')}"
        for relation in one["relations"]
    ]
    state = ", ".join(filter(None, (one.get("state", ""), one.get("due", "") and f"due {one['due']}")))
    return ", ".join(how), f"{one['name']}{f' ({state})' if state else ''}", one["handle"]


def _format_value(value: object, unit: str = "") -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int() | float() if unit:
            return f"{value:,} {unit}"
        case list():
            return ", ".join(map(_format_value, value))
        case dict():
            return "; ".join(f"{name}: {_format_value(part)}" for name, part in value.items())
        case _:
            return str(value)
