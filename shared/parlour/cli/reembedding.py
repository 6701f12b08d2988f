"""Moving a tenant to another embedding model, with a bar that says how far it is."""

from dataclasses import replace
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from parlour.cli import terminal
from parlour.cli.api_client import ApiClient

_POLL_SECONDS = 1.0


def reembed(
    context: typer.Context,
    tenant: Annotated[str, typer.Argument(help="The tenant's slug.")],
    model: Annotated[str, typer.Option(help="Name or space (name@dimensions) of a configured embedding model.")],
    wait: Annotated[bool, typer.Option(help="Wait and show progress (the job continues if you stop waiting).")] = True,
) -> None:
    """Re-embed a tenant's rows with another model. Search keeps working; an interrupted run resumes."""
    chosen: ApiClient = context.obj
    target = replace(chosen, tenant=tenant).with_local_defaults()
    found = target.request("POST", "v1/reembedding", {"model": model})
    if wait:
        found = _wait_until_finished(target, found)
    if found["finished_at"] is None:
        text = f"re-embedding to {found['space']}, {found['done']} of {found['total']} rows"
    else:
        text = f"search now uses {found['space']}, {found['done']} rows were embedded"
    terminal.print_line(f"{tenant}: {text}")


def _wait_until_finished(target: ApiClient, found: dict[str, Any]) -> dict[str, Any]:
    """Show a progress bar on standard error until search uses the new space. Ctrl-C leaves the job running."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(found["space"], total=found["total"], completed=found["done"])
        while found["finished_at"] is None:
            target.dependencies.sleep(_POLL_SECONDS)
            found = target.request("GET", "v1/reembedding")
            progress.update(task, completed=found["done"], total=max(found["total"], found["done"]))
    return found
