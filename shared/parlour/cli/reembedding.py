"""Moving a tenant to another embedding model, with a bar that says how far it is."""

from dataclasses import replace
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from parlour.cli import terminal
from parlour.cli.target import Target

_LOOK_SECONDS = 1.0


def reembed(
    context: typer.Context,
    tenant: Annotated[str, typer.Argument(help="The tenant's slug.")],
    model: Annotated[str, typer.Option(help="A model that the deployment names, or its space: name@dimensions.")],
    wait: Annotated[bool, typer.Option(help="Show how far it is until it is done; it goes on without, too.")] = True,
) -> None:
    """Embed a tenant's rows with another model. Searches go on throughout; broken off, it goes on where it was."""
    chosen: Target = context.obj
    target = replace(chosen, tenant=tenant).resolved()
    found = target.call("POST", "v1/reembedding", {"model": model})
    terminal.line(_told(tenant, _watched(target, found) if wait else found))


def _watched(target: Target, found: dict[str, Any]) -> dict[str, Any]:
    """The bar, on standard error, until the searches look into the new space. Ctrl-C leaves the work going on."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(found["space"], total=found["total"], completed=found["done"])
        while found["finished_at"] is None:
            target.outside.sleep(_LOOK_SECONDS)
            found = target.call("GET", "v1/reembedding")
            progress.update(task, completed=found["done"], total=max(found["total"], found["done"]))
    return found


def _told(tenant: str, found: dict[str, Any]) -> str:
    if found["finished_at"] is None:
        return f"{tenant}: on its way to {found['space']}, {found['done']} of {found['total']} rows"
    return f"{tenant}: searches look into {found['space']}, {found['done']} rows were embedded"
