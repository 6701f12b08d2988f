"""Listing documents in a terminal, and deleting one."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote

import typer

from parlour.cli import rendering, terminal
from parlour.cli.api_client import ApiClient, JsonOption, get_api_client

_PAGE_SIZE = 100
"""Documents that one call brings."""

app = typer.Typer(help="Documents: list them, delete one.", no_args_is_help=True)


@app.command("list", epilog="Examples: parlour documents list; parlour documents list crane --json")
def list_documents(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="Only with this in key, title or description.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number, latest change first.")] = 100,
    as_json: JsonOption = False,
) -> None:
    """List documents of packs and of people, latest change first."""
    found = _read_pages(get_api_client(context), text, limit)
    if as_json:
        terminal.print_json(found)
    elif found:
        headings = ("title", "origin", "about", "changed", "handle")
        terminal.print_renderable(rendering.make_table(headings, map(_document_row, found)))
    else:
        terminal.print_line("No documents found")


@app.command(epilog="Example: parlour documents delete document/notes/keys.txt")
def delete(
    context: typer.Context,
    handle: Annotated[str, typer.Argument(metavar="HANDLE", help="Like document/notes/keys.txt.")],
) -> None:
    """Delete a document. One of a pack does not come back when the pack is applied again."""
    get_api_client(context).request("DELETE", f"v1/documents/{quote(handle, safe='/')}")
    terminal.print_line(rendering.strip_control_codes(f"Deleted {handle}"))


def _read_pages(target: ApiClient, text: str, most: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = ""
    while len(found) < most:
        size = min(_PAGE_SIZE, most - len(found))
        page = target.request("GET", "v1/documents", limit=size, text=text or None, cursor=cursor or None)
        found += page["documents"]
        cursor = page["next_cursor"]
        if not cursor:
            break
    return found


def _document_row(one: Mapping[str, Any]) -> Sequence[object]:
    origin = "left the pack" if one["left_pack_at"] else one["origin"]
    about = one["about"] or one["project"] or ""
    return one["title"], origin, about, rendering.format_time(one["updated_at"])[:16], one["handle"]
