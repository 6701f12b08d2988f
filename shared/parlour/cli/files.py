"""Uploading files, and how far they are."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Annotated, Any
from uuid import UUID

import httpx2
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from parlour.cli import drawing, terminal
from parlour.cli.target import Json, Target, target_of
from parlour.infra.errors import InvalidRequest, ParlourError, RetryError
from parlour.knowledge.files.problems import LARGEST_BYTES, unreadable

_EVERY = 1.0
_PATIENCE = 900.0
_STEPS = ("uploading", "queued", "parsing", "embedding", "ready")
_SAID = {
    "uploading": "sending",
    "queued": "waiting to be read",
    "parsing": "being read",
    "embedding": "found by words, soon by meaning",
    "ready": "ready",
    "failed": "not taken",
}


def upload(
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(metavar="FILE...", help="PDF, Office, HTML, text, e-mail or CSV.")],
    to: Annotated[str, typer.Option(metavar="HANDLE", help="The record they are about, like project/NRS.")] = "",
    team: Annotated[str, typer.Option(metavar="SLUG", help="The team whose own they are.")] = "",
    classification: Annotated[int | None, typer.Option(min=0, max=3, help="0 public to 3 restricted.")] = None,
    wait: Annotated[bool, typer.Option(help="Stay until they can be searched.")] = True,
) -> None:
    """Upload files and follow them until they are ready. One of the same name about the same record is replaced."""
    target = target_of(context)
    _check(paths)
    body = {"about": to or None, "team": team or None, "classification": classification}
    known = _known(target, to, team)
    sent = [_send(target, path, body, known.get(path.name)) for path in paths]
    done = _follow(target, sent) if wait else sent
    failed = [file for file in done if file["state"] == "failed"]
    for file in done:
        terminal.line(drawing.plain(f"{file['name']}: {_SAID[file['state']]}{_facts(file)}"))
    if failed:
        raise typer.Exit(1)


def files(
    context: typer.Context,
    about: Annotated[str, typer.Argument(metavar="[HANDLE]", help="Only those about this record.")] = "",
    team: Annotated[str, typer.Option(metavar="SLUG", help="Only this team's own.")] = "",
    download: Annotated[UUID | None, typer.Option(metavar="ID", help="Save this file in the current folder.")] = None,
    delete: Annotated[UUID | None, typer.Option(metavar="ID", help="Take this file and all made of it away.")] = None,
    as_json: Json = False,
) -> None:
    """The files, the last changed first."""
    target = target_of(context)
    if download:
        terminal.line(drawing.plain(f"saved as {_save(target, download)}"))
        return
    if delete:
        target.call("DELETE", f"v1/files/{delete}")
        terminal.line(f"{delete} is deleted, and everything that was made of it")
        return
    found = target.call("GET", "v1/files", about=about or None, team=team or None, most=200)["files"]
    if as_json:
        terminal.machine(found)
    elif found:
        terminal.show(drawing.table(("name", "state", "about", "pages", "changed", "id"), map(_row, found)))
    else:
        terminal.show("no files so far; `parlour upload FILE --to HANDLE` sends one")


def _save(target: Target, file_id: UUID) -> Path:
    """Download a file next to where the command was given; what is there already is not touched."""
    told = target.call("GET", f"v1/files/{file_id}/content")
    path = target.outside.folder / PurePath(told["name"]).name
    if path.exists():
        raise InvalidRequest(f"{path} is there already: move it away, or change to another folder")
    try:
        with target.outside.open_client(told["url"]) as client:
            answer = client.get(told["url"])
    except httpx2.HTTPError as problem:
        raise RetryError(f"the bucket does not answer ({type(problem).__name__}); try again") from problem
    if not answer.is_success:
        raise ParlourError(f"the bucket refused it with status {answer.status_code}; try again")
    path.write_bytes(answer.content)
    return path


def _row(file: Mapping[str, Any]) -> Sequence[object]:
    state = f"{file['state']}: {file['problem']}" if file["problem"] else file["state"]
    about = file["about"] or (f"team {file['team']}" if file["team"] else "")
    return file["name"], state, about, file["pages"] or "", drawing.moment(file["updated_at"]), file["id"]


def _facts(file: Mapping[str, Any]) -> str:
    if file["problem"]:
        return f": {file['problem']}"
    return f" ({file['pages']} pages, {file['tokens']} tokens)" if file["pages"] else ""


def _check(paths: Sequence[Path]) -> None:
    for path in paths:
        if not path.is_file():
            raise InvalidRequest(f"{path} is no file; name one")
        if path.stat().st_size > LARGEST_BYTES:
            raise InvalidRequest(f"{path}: {unreadable('too_large')}")


def _known(target: Target, to: str, team: str) -> dict[str, str]:
    """Ids of what is there about the record or of the team, by name; without either every upload is a new file."""
    if not to and not team:
        return {}
    found = target.call("GET", "v1/files", about=to or None, team=team or None, most=200)["files"]
    return {file["name"]: file["id"] for file in found}


def _send(target: Target, path: Path, body: Mapping[str, object], known: str | None) -> dict[str, Any]:
    """One file: started, sent to where the API says, completed."""
    data = path.read_bytes()
    wanted = {"name": path.name, "size_bytes": len(data)}
    if known:
        begun = target.call("POST", f"v1/files/{known}/versions", wanted)
    else:
        given = {name: value for name, value in body.items() if value is not None}
        begun = target.call("POST", "v1/files", {**wanted, **given})
    _post(target, begun["upload"], path.name, data)
    done: dict[str, Any] = target.call(
        "POST", f"v1/files/{begun['file']['id']}/complete", {"version": begun["version"], "name": path.name}
    )
    return done


def _post(target: Target, form: Mapping[str, Any], name: str, data: bytes) -> None:
    try:
        with target.outside.open_client(form["url"]) as client:
            answer = client.post(form["url"], data=form["fields"], files={"file": (name, data)})
    except httpx2.HTTPError as problem:
        raise RetryError(f"{name}: the bucket does not answer ({type(problem).__name__}); try again") from problem
    if not answer.is_success:
        raise ParlourError(f"{name}: the bucket refused it with status {answer.status_code}; try again")


def _follow(target: Target, sent: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Look at them until each is ready or failed; or as long as anybody would wait."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.fields[name]}"), BarColumn(), TextColumn("{task.fields[said]}", style="dim"))
    now = {file["id"]: file for file in sent}
    with Progress(*columns, console=console, transient=True) as progress:
        tasks = {file["id"]: _task(progress, file) for file in sent}
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            for file_id in [one for one, file in now.items() if file["state"] not in {"ready", "failed"}]:
                now[file_id] = target.call("GET", f"v1/files/{file_id}")
                _show(progress, tasks[file_id], now[file_id])
            if all(file["state"] in {"ready", "failed"} for file in now.values()):
                break
            target.outside.sleep(_EVERY)
    return list(now.values())


def _task(progress: Progress, file: Mapping[str, Any]) -> TaskID:
    return progress.add_task("", total=len(_STEPS) - 1, name=drawing.plain(file["name"]), said=_SAID[file["state"]])


def _show(progress: Progress, task: TaskID, file: Mapping[str, Any]) -> None:
    state = file["state"]
    done = _STEPS.index(state) if state in _STEPS else len(_STEPS) - 1
    progress.update(task, completed=done, said=_SAID[state])
