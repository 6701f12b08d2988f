"""`make run`: everything on this machine, until Ctrl-C."""

import argparse
import errno
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from local import example_tenant, laptop_packs
from local.errors import StackError
from local.interrupts import StopRequested, StopSignals
from local.progress import Progress
from local.stack import RunningStack, StackOptions, run_stack
from local.state import ROOT, STATE_FOLDER, ports_from_environment
from parlour.infra.errors import DatabaseTooOld, MigrationConflict

SAMPLE_QUESTION = "How wide is the crack at C4?"

_KEYLESS_MODELS = {
    "demo": "scripted for the example's scenes (tool calls and quotes are real), offline model for the rest",
    "offline": "the offline model (searches, quotes, cites)",
}
"""The values of PARLOUR_MODEL without a key, and the words for each."""

_WELCOME = """
[bold]Parlour is ready.[/]

  Console    [link={console}/console/]{console}/console/[/link]
  Playground [link={console}/console/#/playground]{console}/console/#/playground[/link]
  Tenants    {tenants}
  API        {console}/v1/   (deployed as well: {api}/)
  Webhook    {webhook}
  Model      {model}
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
  export PATH="{bin}:$PATH"
  parlour --help
  parlour doctor

Ctrl-C stops everything that was started here.
"""


def main() -> int:
    """Returns the exit status: 0 after Ctrl-C, 1 with one line when something is in the way."""
    parser = argparse.ArgumentParser(description="Start Parlour on this machine.")
    parser.add_argument(
        "--state", type=Path, default=STATE_FOLDER, help="the folder that this stack keeps its state in"
    )
    parser.add_argument("--pack", type=Path, help="a pack of your own, applied beside the example")
    chosen = parser.parse_args()
    environment = os.environ  # noqa: TID251 - a launcher
    return run_with_signals(lambda interrupts: _run(environment, chosen.state.resolve(), chosen.pack, interrupts))


def run_with_signals(work: Callable[[StopSignals], int]) -> int:
    """Run something that starts processes; whatever stops it is told in one line."""
    errors = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    with StopSignals() as interrupts:
        try:
            return work(interrupts)
        except StopRequested:
            return 0
        except StackError as problem:
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


def options_from_environment(environment: Mapping[str, str]) -> StackOptions:
    """Ports, the real model's key and the choice of the model without one, as the developer's environment has them.

    StackError for a PARLOUR_MODEL that does not exist.
    """
    model = environment.get("PARLOUR_MODEL", "demo")
    if model not in _KEYLESS_MODELS:
        raise StackError(f"PARLOUR_MODEL is '{model}': set it to {' or '.join(_KEYLESS_MODELS)}, or leave it out")
    return StackOptions(
        folder=STATE_FOLDER,
        ports=ports_from_environment(environment),
        anthropic_key=environment.get("ANTHROPIC_API_KEY", ""),
        anthropic_url=environment.get("ANTHROPIC_BASE_URL", ""),
        is_demo=model == "demo",
    )


def describe_model(options: StackOptions) -> str:
    """Which model answers, and how to have the other one."""
    if options.anthropic_key:
        return "Anthropic, with the key in ANTHROPIC_API_KEY"
    told = _KEYLESS_MODELS[options.model]
    return f"{told}. A real model: ANTHROPIC_API_KEY=... make run"


def _describe_tenants(options: StackOptions) -> str:
    """Which tenants the packs made; the console opens with the first."""
    example = example_tenant.TENANT_SLUG
    if options.pack is None:
        return f"{example} (the example). Your own: .venv/bin/parlour new NAME, then make run PACK=NAME"
    own = options.pack.tenant
    return f"{own} (your pack)" + (f", {example} (the example)" if own != example else "")


def _run(environment: Mapping[str, str], state: Path, pack: Path | None, interrupts: StopSignals) -> int:
    own = laptop_packs.read_pack(pack.expanduser().resolve()) if pack else None
    options, progress = replace(options_from_environment(environment), folder=state, pack=own), Progress()
    with run_stack(options, progress, interrupts) as stack:
        progress.print_line(_welcome_text(stack, options))
        stack.wait_for_failure()
    return 0


def _welcome_text(stack: RunningStack, options: StackOptions) -> str:
    at = stack.addresses
    return _WELCOME.format(
        bin=ROOT / ".venv" / "bin",
        console=at.console,
        api=at.api,
        webhook=at.webhook,
        phone=at.phone,
        tenants=_describe_tenants(options),
        model=describe_model(options),
        logs=os.path.relpath(stack.folder / "logs"),
        question=SAMPLE_QUESTION,
    )


if __name__ == "__main__":
    sys.exit(main())
