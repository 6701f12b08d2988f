"""`make chaos`: the fault suite on real parts; the table on the screen, exit status 1 when a promise was broken."""

import argparse
import logging
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from local.errors import StackError
from local.interrupts import StopRequested
from tests.chaos import (
    database_experiments,
    memory_experiments,
    provider_experiments,
    report,
    spend_experiments,
    worker_experiments,
)
from tests.chaos.chaos_environment import ChaosEnvironment, open_chaos_environment
from tests.chaos.experiments import Experiment
from tests.chaos.interruptions import interrupt
from tests.chaos.kill_suite import kill_everywhere
from tests.chaos.meanwhile_scenarios import MEANWHILE_SCENARIOS, MEANWHILE_SCRIPTS
from tests.chaos.people_scenarios import PEOPLE_SCENARIOS, PEOPLE_SCRIPTS
from tests.chaos.redrive_kills import kill_redrives
from tests.chaos.report import ResultRow
from tests.chaos.scenarios import SCENARIOS, SCRIPTS, Scenario

EXPERIMENTS: dict[str, tuple[Experiment, ...]] = {
    "provider": (provider_experiments.run_provider_crash,),
    "poison": (worker_experiments.run_poison_message,),
    "stalled": (worker_experiments.run_stalled_workers,),
    "memory": (memory_experiments.kill_extractor, memory_experiments.kill_summariser),
    "spend": (
        spend_experiments.run_parallel_turns,
        spend_experiments.run_sequential_turns,
        spend_experiments.run_kill_with_reservation,
    ),
    "connections": (database_experiments.run_connection_kills,),
    "database": (database_experiments.run_database_outage,),
}
"""By the name that --only knows them by, in the order in which they are tried."""

REDRIVE = "redrive"

_BROKEN_SHOWN_AT_ONCE = 10
"""Rows of a suite; all of them are in the table at the end, which a run that is cut off never prints."""


class Suite(NamedTuple):
    """Scenarios of one tenant, and what its pack is built with."""

    scenarios: Sequence[Scenario]
    pack_options: Mapping[str, Any] = {}


SUITES: Mapping[str, Suite] = {
    "kills": Suite(SCENARIOS),
    "people": Suite(PEOPLE_SCENARIOS, {"with_people": True}),
    "meanwhile": Suite(MEANWHILE_SCENARIOS["collect"]),
    "steers": Suite(MEANWHILE_SCENARIOS["steer"], {"queue_mode": "steer"}),
    "interrupts": Suite(MEANWHILE_SCENARIOS["interrupt"], {"queue_mode": "interrupt"}),
}
"""What is killed everywhere, by the slug of its tenant."""


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; the exit status."""
    asked = _parse_arguments(arguments)
    logging.disable(logging.INFO)  # of this process; the workers' logs are in .parlour/logs/chaos
    console = Console(width=None if sys.stdout.isatty() else 180, highlight=False)
    begun = time.monotonic()
    try:
        with open_chaos_environment({**SCRIPTS, **PEOPLE_SCRIPTS, **MEANWHILE_SCRIPTS}) as running:
            rows = _run_suite(running, asked.only, lambda line: console.print(f"   {line}", style="dim"))
    except StackError as problem:
        console.print(f"[red]parlour:[/] {problem}")
        return 1
    except StopRequested:
        return 130
    report.print_table(rows, console, verbose=asked.verbose)
    status = report.print_conclusion(rows, console)
    console.print(f"   {time.monotonic() - begun:.0f} s; the workers' logs are in .parlour/logs/chaos")
    if asked.json:
        report.write_json(rows, asked.json)
    return status


def _run_suite(running: ChaosEnvironment, only: Sequence[str], say: Callable[[str], None]) -> list[ResultRow]:
    rows: list[ResultRow] = []
    for name, suite in SUITES.items():
        begun = time.monotonic()
        wanted = [one for one in suite.scenarios if not only or name in only or one.name in only]
        if wanted:
            desk = running.create_tenant(name, **suite.pack_options)
            running.model.on_interruption = partial(interrupt, running, desk)
            found = kill_everywhere(running, desk, wanted, say)
            broken = [row for row in found if row.broken_guarantees]
            say(f"{name}: {time.monotonic() - begun:.0f} s, {len(broken)} broken")
            for row in broken[:_BROKEN_SHOWN_AT_ONCE]:
                say(f"  {row.scenario}, {row.function} {row.subject}: {'; '.join(row.broken_guarantees)}")
            rows += found
    if not only or REDRIVE in only:
        begun = time.monotonic()
        rows += kill_redrives(running, running.create_tenant("redrive"), say)
        say(f"redrives: {time.monotonic() - begun:.0f} s")
    for name, trials in EXPERIMENTS.items():
        if not only or name in only:
            for trial in trials:
                begun = time.monotonic()
                rows += trial(running)
                say(f"{trial.__name__.replace('_', ' ')}: {time.monotonic() - begun:.0f} s")
    return rows


def _parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    scenarios = [one.name for suite in SUITES.values() for one in suite.scenarios]
    names = [*SUITES, *scenarios, REDRIVE, *EXPERIMENTS]
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        choices=names,
        metavar="SCENARIO",
        help=f"one of: {', '.join(names)}; may be given again",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rows here too")
    parser.add_argument("--verbose", action="store_true", help="one line per port call")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
