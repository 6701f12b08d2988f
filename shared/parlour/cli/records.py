"""Searching, listing and showing records in a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from parlour.cli import drawing, terminal
from parlour.cli.target import Json, Target, target_of
from parlour.infra.errors import InvalidRequest, NotFound

_PAGE = 100
"""Records that one call brings."""

_LINKS = 100
_LEVELS = ("public", "internal", "confidential", "restricted")
_STATES = ("state", "status")


def search(
    context: typer.Context,
    words: Annotated[str, typer.Argument(help="What to look for, in your own words.")],
    inside: Annotated[str, typer.Option("--in", metavar="HANDLE", help="A record and what it is linked to.")] = "",
    kind: Annotated[str, typer.Option("--type", help="Only records of this type.")] = "",
    most: Annotated[int, typer.Option(min=1, max=50, help="How many, best first.")] = 8,
    as_json: Json = False,
) -> None:
    """Search records, documents and files: what was found, of which record, and where it stands."""
    found = target_of(context).call("GET", "v1/search", q=words, most=most, **_scope(inside, kind))
    if as_json:
        terminal.machine(found)
        return
    if found["expanded"]:
        terminal.remark(f"searched for: {found['expanded']}")
    terminal.show(_cards(found["cards"]) if found["cards"] else "nothing was found; try other words")


def records(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="[TYPE]", help="Only records of this type, like task.")] = "",
    project: Annotated[str, typer.Option(metavar="HANDLE", help="Only what belongs to this project.")] = "",
    where: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A property's value; may be given again.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, max=1000, help="How many, latest change first.")] = 30,
    as_json: Json = False,
) -> None:
    """The records, or those of a type, latest change first."""
    found = _pages(target_of(context), most, {"type": kind, "project": project, **_properties(where or ())})
    if as_json:
        terminal.machine(found)
    elif found:
        terminal.show(drawing.table(("", "state", "changed", ""), map(_row, found)))
    else:
        terminal.line("no such records")


def show(
    context: typer.Context,
    handle: Annotated[str, typer.Argument(metavar="HANDLE", help="Like task/T-112, or document/site-notes.")],
    as_json: Json = False,
) -> None:
    """One record: what it says and what it is linked to; of a document, its text."""
    kind, slash, key = handle.partition("/")
    if not (kind and slash and key):
        raise InvalidRequest("a handle is a type and a key, like task/T-112; `parlour records` lists them")
    target, path = target_of(context), quote(handle, safe="/")
    found, links = _found(target, path)
    document = target.call("GET", f"v1/documents/{path}") if kind == "document" else None
    if as_json:
        terminal.machine({"record": found, "links": links, "document": document})
    else:
        terminal.show(Group(*_record(found, links), *_document(document, heading=found is None)))


def _found(target: Target, path: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The record and its links; a pack's document is none, and has a path of its own for a key."""
    if path.startswith("document/") and path.count("/") > 1:
        return None, None
    try:
        record = target.call("GET", f"v1/entities/{path}")
        return record, target.call("GET", f"v1/entities/{path}/links", most=_LINKS)
    except NotFound:
        if not path.startswith("document/"):
            raise
        return None, None


def _scope(inside: str, kind: str) -> Mapping[str, str]:
    if inside and kind:
        raise InvalidRequest("use one of --in and --type")
    if inside:
        return {"scope": "project" if inside.startswith("project/") else "record", "in": inside}
    return {"scope": "type", "in": kind} if kind else {}


def _properties(where: Sequence[str]) -> Mapping[str, str]:
    pairs = [one.partition("=") for one in where]
    if bad := [name for name, _, value in pairs if not (name and value)]:
        raise InvalidRequest(f"--where: write NAME=VALUE, like state=open, not {bad[0]!r}")
    return {f"where.{name}": value for name, _, value in pairs}


def _pages(target: Target, most: int, wanted: Mapping[str, str]) -> list[dict[str, Any]]:
    """Up to `most` records, read page after page."""
    asked = {name: value for name, value in wanted.items() if value}
    found: list[dict[str, Any]] = []
    cursor = ""
    while len(found) < most:
        more = {"cursor": cursor} if cursor else {}
        page = target.call("GET", "v1/entities", most=min(_PAGE, most - len(found)), **asked, **more)
        found += page["entities"]
        cursor = page["next_cursor"]
        if not cursor:
            break
    return found


def _row(one: Mapping[str, Any]) -> Sequence[object]:
    state = next((one["properties"][name] for name in _STATES if one["properties"].get(name)), "")
    return one["name"], state, drawing.moment(one["updated_at"])[:16], one["handle"]


def _cards(found: Iterable[Mapping[str, Any]]) -> Group:
    """Each card in a few lines: how well it fits, what it is and of which record; where it stands; its words."""
    parts: list[RenderableType] = []
    for one in found:
        named = one["document"] or one["handle"]
        of = f" of {named}" if named else ""
        parts.append(
            Text.assemble(
                (f"{one['score']:>4.0%}  ", "green"),
                (drawing.plain(one["title"]), "bold"),
                (drawing.plain(f"  {one['badge'].lower()}{of}"), "dim"),
            )
        )
        where = [Text(drawing.plain(one["locator"]), style="yellow")] if one["locator"] else []
        parts.append(Padding(Group(*where, Text(drawing.plain(one["preview"]))), (0, 0, 1, 6)))
    return Group(*parts)


def _record(found: Mapping[str, Any] | None, links: Mapping[str, Any] | None) -> list[RenderableType]:
    if found is None:
        return []
    facts = [found["handle"], _LEVELS[found["classification"]], f"version {found['version']}"]
    facts += [f"of {found['project']}"] if found["project"] else []
    head = Text.assemble((drawing.plain(found["name"]), "bold"), (drawing.plain(f"\n{', '.join(facts)}"), "dim"))
    said = [(name.replace("_", " "), _said(value)) for name, value in found["properties"].items()]
    parts: list[RenderableType] = [head]
    parts += [Text(""), drawing.table(("", ""), said)] if said else []
    linked = links["links"] if links else []
    parts += [Text("\nlinked", style="dim"), drawing.table(("", "", ""), map(_link, linked))] if linked else []
    return parts


def _link(one: Mapping[str, Any]) -> Sequence[object]:
    how = [
        f"{'<-' if relation['direction'] == 'incoming' else '->'} {relation['relation'].replace('_', ' ')}"
        for relation in one["relations"]
    ]
    state = ", ".join(filter(None, (one.get("state", ""), one.get("due", "") and f"due {one['due']}")))
    return ", ".join(how), f"{one['name']}{f' ({state})' if state else ''}", one["handle"]


def _document(found: Mapping[str, Any] | None, *, heading: bool) -> list[RenderableType]:
    if found is None:
        return []
    head: list[RenderableType] = [Text(drawing.plain(found["title"]), style="bold")] if heading else []
    return [*head, Text("\n" + drawing.plain(found["content"]))]


def _said(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(_said, value))
        case dict():
            return "; ".join(f"{name}: {_said(part)}" for name, part in value.items())
        case _:
            return str(value)
