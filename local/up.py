"""`make run`: everything on this machine, until Ctrl-C."""

import argparse
import errno
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from local.interrupts import Interrupts, Stopped
from local.problems import StackProblem
from local.progress import Progress
from local.stack import Options, Running, running
from local.state import FOLDER, ports_from
from parlour.infra.errors import DatabaseTooOld, MigrationConflict

QUESTION = "How wide is the crack at C4?"

_WELCOME = """
[bold]Parlour is ready.[/]

  Console    [link={console}/console/]{console}/console/[/link]
  API        {console}/v1/   (deployed as well: {api}/)
  Webhook    {webhook}
  Answers    {model}
  Logs       {logs}/   (the functions': make logs)

[bold]Try it[/] from another terminal:

  [dim]# a WhatsApp message, as the provider would deliver it[/]
  curl {webhook} -H 'Content-Type: application/json' -d '{{
    "app":"ParlourDemo","timestamp":'$(date +%s000)',"version":2,"type":"message","payload":{{
    "id":"hello-'$RANDOM$RANDOM'","source":"447700900123","type":"text","payload":{{"text":"{question}"}},
    "sender":{{"phone":"447700900123","name":"Jon"}}}}}}'

  [dim]# what the phone received[/]
  curl {phone}/messages

  [dim]# the command line, already signed in as the operator[/]
  .venv/bin/parlour --help

Ctrl-C stops everything that was started here.
"""


def main() -> int:
    """Returns the exit status: 0 after Ctrl-C, 1 with one line when something is in the way."""
    parser = argparse.ArgumentParser(description="Start Parlour on this machine.")
    parser.add_argument("--state", type=Path, default=FOLDER, help="the folder that this stack keeps its state in")
    state = parser.parse_args().state.resolve()
    return guarded(lambda interrupts: _run(os.environ, state, interrupts))  # noqa: TID251 - a launcher


def guarded(work: Callable[[Interrupts], int]) -> int:
    """Run something that starts processes; whatever stops it is told in one line."""
    errors = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    with Interrupts() as interrupts:
        try:
            return work(interrupts)
        except Stopped:
            return 0
        except StackProblem as problem:
            errors.print(f"parlour: {problem}")
        except DatabaseTooOld:
            errors.print("This database was made by an older release. Run `make clean` and start again.")
        except MigrationConflict:
            errors.print("This database was made by another release. Run `make clean` and start again.")
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            errors.print("parlour: the disk is full: free 1 GB and start again")
    return 1


def options_from(environment: Mapping[str, str]) -> Options:
    """Ports and the real model's key, as the developer's environment has them."""
    return Options(
        folder=FOLDER,
        ports=ports_from(environment),
        anthropic_key=environment.get("ANTHROPIC_API_KEY", ""),
        anthropic_url=environment.get("ANTHROPIC_BASE_URL", ""),
    )


def answering(options: Options) -> str:
    """Which model answers, and how to have the other one."""
    if options.anthropic_key:
        return "Anthropic, with the key in ANTHROPIC_API_KEY"
    return "the offline stand-in (searches, quotes, cites). A real model: ANTHROPIC_API_KEY=... make run"


def _run(environment: Mapping[str, str], state: Path, interrupts: Interrupts) -> int:
    options, progress = replace(options_from(environment), folder=state), Progress()
    with running(options, progress, interrupts) as stack:
        progress.note(_welcome(stack, options))
        stack.watch()
    return 0


def _welcome(stack: Running, options: Options) -> str:
    at = stack.addresses
    return _WELCOME.format(
        console=at.console,
        api=at.api,
        webhook=at.webhook,
        phone=at.phone,
        model=answering(options),
        logs=os.path.relpath(stack.folder / "logs"),
        question=QUESTION,
    )


if __name__ == "__main__":
    sys.exit(main())
