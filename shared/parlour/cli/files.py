"""Uploading files, and how far they are."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Annotated, Any

import httpx2
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from parlour.cli import id_lookup, rendering, terminal
from parlour.cli.api_client import ApiClient, JsonOption, get_api_client
from parlour.files.problems import MAX_FILE_BYTES, unreadable_file
from parlour.infra.errors import InvalidRequest, ParlourError, RetryError

_POLL_SECONDS = 1.0
_TIMEOUT_SECONDS = 900.0
_STEPS = ("uploading", "queued", "parsing", "embedding", "ready")
_STATE_TEXTS = {
    "uploading": "uploading",
    "queued": "queued",
    "parsing": "reading",
    "embedding": "searchable by keyword, indexing",
    "ready": "ready",
    "failed": "failed",
}


def upload(
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(metavar="FILE...", help="PDF, Office, HTML, text, e-mail or CSV.")],
    to: Annotated[
        str, typer.Option(metavar="HANDLE", help="Record that the files belong to, such as project/NRS.")
    ] = "",
    team: Annotated[str, typer.Option(metavar="SLUG", help="Team that owns the files.")] = "",
    classification: Annotated[int | None, typer.Option(min=0, max=3, help="0 public to 3 restricted.")] = None,
    written_by_us: Annotated[
        bool, typer.Option("--written-by-us", help="The text is your own: reading it makes no call ask a person.")
    ] = False,
    wait: Annotated[bool, typer.Option(help="Wait until the files are searchable.")] = True,
) -> None:
    """Upload files and wait until they are ready. The same name on the same record becomes a new version."""
    target = get_api_client(context)
    for path in paths:
        if not path.is_file():
            raise InvalidRequest(f"{path} is not a file")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InvalidRequest(f"{path}: {unreadable_file('too_large')}")
    body = {
        "about": to or None,
        "team": team or None,
        "classification": classification,
        "written_by_others": not written_by_us,
    }
    known = _existing_file_ids(target, to, team)
    sent = [_upload_file(target, path, body, known.get(path.name)) for path in paths]
    done = _wait_until_ready(target, sent) if wait else sent
    failed = [file for file in done if file["state"] == "failed"]
    for file in done:
        terminal.print_line(
            rendering.strip_control_codes(f"{file['name']}: {_STATE_TEXTS[file['state']]}{_details_text(file)}")
        )
    if failed:
        raise typer.Exit(1)


def files(
    context: typer.Context,
    about: Annotated[str, typer.Argument(metavar="[HANDLE]", help="Only files of this record.")] = "",
    team: Annotated[str, typer.Option(metavar="SLUG", help="Only files of this team.")] = "",
    download: Annotated[str, typer.Option(metavar="ID", help="Save this file in the current folder.")] = "",
    delete: Annotated[str, typer.Option(metavar="ID", help="Delete this file and everything derived from it.")] = "",
    as_json: JsonOption = False,
) -> None:
    """List files, latest change first."""
    target = get_api_client(context)
    if download:
        # Download a file next to where the command was given; what is there already is not touched.
        told = target.request("GET", f"v1/files/{id_lookup.file_id(target, download)}/content")
        path = target.dependencies.folder / PurePath(told["name"]).name
        if path.exists():
            raise InvalidRequest(f"{path} exists already: move it or change to another folder")
        try:
            with target.dependencies.open_http_client(told["url"]) as client:
                answer = client.get(told["url"])
        except httpx2.HTTPError as problem:
            raise RetryError(f"the bucket does not answer ({type(problem).__name__}); try again") from problem
        if not answer.is_success:
            raise ParlourError(f"the bucket refused it with status {answer.status_code}; try again")
        path.write_bytes(answer.content)
        terminal.print_line(rendering.strip_control_codes(f"saved as {path}"))
        return
    if delete:
        file_id = id_lookup.file_id(target, delete)
        target.request("DELETE", f"v1/files/{file_id}")
        terminal.print_line(f"Deleted {file_id} and everything derived from it")
        return
    found = target.request("GET", "v1/files", about=about or None, team=team or None, limit=200)["files"]
    if as_json:
        terminal.print_json(found)
    elif found:
        terminal.print_renderable(
            rendering.make_table(("name", "state", "about", "pages", "changed", "id"), map(_file_row, found))
        )
    else:
        terminal.print_renderable("No files yet. Upload one: parlour upload FILE --to HANDLE")


def _file_row(file: Mapping[str, Any]) -> Sequence[object]:
    state = f"{file['state']}: {file['problem']}" if file["problem"] else file["state"]
    about = file["about"] or (f"team {file['team']}" if file["team"] else "")
    return file["name"], state, about, file["pages"] or "", rendering.format_time(file["updated_at"]), file["id"]


def _details_text(file: Mapping[str, Any]) -> str:
    if file["problem"]:
        return f": {file['problem']}"
    return f" ({file['pages']} pages, {file['tokens']} tokens)" if file["pages"] else ""


def _existing_file_ids(target: ApiClient, to: str, team: str) -> dict[str, str]:
    """Ids of what is there about the record or of the team, by name; without either every upload is a new file."""
    if not to and not team:
        return {}
    found = target.request("GET", "v1/files", about=to or None, team=team or None, limit=200)["files"]
    return {file["name"]: file["id"] for file in found}


def _upload_file(target: ApiClient, path: Path, body: Mapping[str, object], known: str | None) -> dict[str, Any]:
    """One file: started, sent to where the API says, completed."""
    data = path.read_bytes()
    wanted = {"name": path.name, "size_bytes": len(data)}
    if known:
        begun = target.request("POST", f"v1/files/{known}/versions", wanted)
    else:
        given = {name: value for name, value in body.items() if value is not None}
        begun = target.request("POST", "v1/files", {**wanted, **given})
    form = begun["upload"]
    name = path.name
    try:
        with target.dependencies.open_http_client(form["url"]) as client:
            answer = client.post(form["url"], data=form["fields"], files={"file": (name, data)})
    except httpx2.HTTPError as problem:
        raise RetryError(f"{name}: the bucket does not answer ({type(problem).__name__}); try again") from problem
    if not answer.is_success:
        raise ParlourError(f"{name}: the bucket refused it with status {answer.status_code}; try again")
    done: dict[str, Any] = target.request(
        "POST",
        f"v1/files/{begun['file']['id']}/complete",
        {"version": begun["version"], "name": path.name, "written_by_others": body["written_by_others"]},
    )
    return done


def _wait_until_ready(target: ApiClient, sent: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Look at them until each is ready or failed; or as long as anybody would wait."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.fields[name]}"), BarColumn(), TextColumn("{task.fields[said]}", style="dim"))
    now = {file["id"]: file for file in sent}
    with Progress(*columns, console=console, transient=True) as progress:
        tasks = {
            file["id"]: progress.add_task(
                "",
                total=len(_STEPS) - 1,
                name=rendering.strip_control_codes(file["name"]),
                said=_STATE_TEXTS[file["state"]],
            )
            for file in sent
        }
        until = time.monotonic() + _TIMEOUT_SECONDS
        while time.monotonic() < until:
            for file_id in [one for one, file in now.items() if file["state"] not in {"ready", "failed"}]:
                now[file_id] = target.request("GET", f"v1/files/{file_id}")
                state = now[file_id]["state"]
                done = _STEPS.index(state) if state in _STEPS else len(_STEPS) - 1
                progress.update(tasks[file_id], completed=done, said=_STATE_TEXTS[state])
            if all(file["state"] in {"ready", "failed"} for file in now.values()):
                break
            target.dependencies.sleep(_POLL_SECONDS)
    return list(now.values())
