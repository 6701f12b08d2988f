"""`make chaos`: the fault suite on real parts; the table on the screen, exit status 1 when a promise was broken."""

import argparse
import logging
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from local.chaos import database_trials, memory_trials, provider_trials, report, spend_trials, worker_trials
from local.chaos.kills import kill_everywhere
from local.chaos.redrives import kill_redrives
from local.chaos.report import Row
from local.chaos.scenarios import SCENARIOS, SCRIPTS
from local.chaos.trials import Trial
from local.chaos.world import World, world
from local.interrupts import Stopped
from local.problems import StackProblem

TRIALS: dict[str, tuple[Trial, ...]] = {
    "provider": (provider_trials.dying_provider,),
    "poison": (worker_trials.poison,),
    "stalled": (worker_trials.stalled,),
    "memory": (memory_trials.killed_extractor, memory_trials.killed_summariser),
    "spend": (spend_trials.many_at_once, spend_trials.one_by_one, spend_trials.killed_with_money),
    "connections": (database_trials.connections_cut,),
    "database": (database_trials.database_down,),
}
"""By the name that --only knows them by, in the order in which they are tried."""

KILLS, REDRIVE = "kills", "redrive"


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; the exit status."""
    asked = _parsed(arguments)
    logging.disable(logging.INFO)  # of this process; the workers' logs are in .parlour/logs/chaos
    console = Console(width=None if sys.stdout.isatty() else 180, highlight=False)
    begun = time.monotonic()
    try:
        with world(SCRIPTS) as running:
            rows = _rows(running, asked.only, lambda line: console.print(f"   {line}", style="dim"))
    except StackProblem as problem:
        console.print(f"[red]parlour:[/] {problem}")
        return 1
    except Stopped:
        return 130
    report.show(rows, console, verbose=asked.verbose)
    status = report.conclude(rows, console)
    console.print(f"   {time.monotonic() - begun:.0f} s; the workers' logs are in .parlour/logs/chaos")
    if asked.json:
        report.write(rows, asked.json)
    return status


def _rows(running: World, only: Sequence[str], say: Callable[[str], None]) -> list[Row]:
    rows: list[Row] = []
    begun = time.monotonic()
    wanted = [scenario for scenario in SCENARIOS if not only or KILLS in only or scenario.name in only]
    if wanted:
        rows += kill_everywhere(running, running.open_desk("kills"), wanted, say)
        say(f"kills: {time.monotonic() - begun:.0f} s")
    if not only or REDRIVE in only:
        begun = time.monotonic()
        rows += kill_redrives(running, running.open_desk("redrive"), say)
        say(f"redrives: {time.monotonic() - begun:.0f} s")
    for name, trials in TRIALS.items():
        if not only or name in only:
            for trial in trials:
                begun = time.monotonic()
                rows += trial(running)
                say(f"{trial.__name__.replace('_', ' ')}: {time.monotonic() - begun:.0f} s")
    return rows


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    names = [KILLS, *(scenario.name for scenario in SCENARIOS), REDRIVE, *TRIALS]
    parser = argparse.ArgumentParser(prog="python -m local.chaos", description=__doc__)
    parser.add_argument("--only", action="append", default=[], choices=names, metavar="SCENARIO",
                        help=f"one of: {', '.join(names)}; may be given again")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rows here too")
    parser.add_argument("--verbose", action="store_true", help="one line per port call")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
