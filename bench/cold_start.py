"""`python -m bench.cold_start [--json FILE]`: what a cold start of each function costs, on this machine.

Each function runs as `sam build` left it, under AWS's own runtime client, with nothing but its folder and layers,
against a real database and served queues and secrets. Three figures, medians in milliseconds:

    load    from the start of the process until the handler is imported. A function with SnapStart pays it once,
            before the snapshot; the others at every cold start.
    first   the first event: clients, secrets, the connection to the database, the answer.
    second  the same event again.
"""

import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench import report
from bench.function_environment import surroundings
from local import deployment
from local.invoke import read_event
from local.lambda_runtime import FunctionCode, Sandbox

EVENTS = {
    "migrate": "migrate.json",
    "inbound": "inbound_gupshup_text.json",
    "receiver": "receiver_text.json",
    "orchestrator": "orchestrator_wake.json",
    "tool_dispatcher": "tool_dispatcher_call.json",
    "outbound": "outbound_reply.json",
    "embedder": "embedder_pending.json",
    "ingest": "ingest_file.json",
    "file_reader": "file_reader_pdf.json",
    "sweep": "sweep_wakeup.json",
    "pulse_sweep": "pulse_sweep_schedule.json",
    "pulse_writer": "pulse_writer_job.json",
    "memory_extractor": "memory_extractor_job.json",
    "http_api": "http_api_health.json",
    "http_stream": "http_stream_health.json",
}
"""The sample event that each function is measured on."""

SNAPSHOTS = {"inbound", "orchestrator", "http_api"}
"""Those that the template starts from a snapshot."""

_RUNS = 5


@dataclass(frozen=True, slots=True)
class Start:
    """One cold start; milliseconds."""

    load: float
    first: float
    second: float


def measure(code: FunctionCode, event: Any, environment: Mapping[str, str], *, snapshot: bool) -> Start:
    """Start a function, give it the event twice, end it."""
    with Sandbox(code, environment, snapshot=snapshot) as sandbox:
        first = _timed(sandbox, event)
        return Start(sandbox.load_seconds * 1000, first, _timed(sandbox, event))


def measure_all(runs: int) -> dict[str, Start]:
    """Medians of `runs` cold starts of every function, by its name."""
    built = deployment.build(deployment.host_architecture(), _say)
    found = {}
    with surroundings() as environment:
        for function, event in EVENTS.items():
            code, read = deployment.function_code(built, function), read_event(event)
            starts = [measure(code, read, environment, snapshot=function in SNAPSHOTS) for _ in range(runs)]
            found[function] = _median(starts)
            _say(f"{function} measured")
    return found


def main() -> None:
    """Print the table; write the figures where `--json` says."""
    file = report.json_file("Cold starts of the functions, under AWS's own runtime client.")
    found = measure_all(_RUNS)
    report.show(f"cold starts: median of {_RUNS}, milliseconds", [_row(*entry) for entry in found.items()])
    report.write(file, {name: asdict(start) for name, start in found.items()})


def _row(function: str, start: Start) -> dict[str, float | str]:
    kind = "snapshot" if function in SNAPSHOTS else "nothing"
    return {"function": function, "starts from": kind, **asdict(start)}


def _timed(sandbox: Sandbox, event: Any) -> float:
    begun = time.perf_counter()
    sandbox.invoke(event)
    return (time.perf_counter() - begun) * 1000


def _median(starts: Sequence[Start]) -> Start:
    return Start(*(statistics.median(getattr(start, name) for start in starts) for name in ("load", "first", "second")))


def _say(line: str) -> None:
    sys.stderr.write(f"   {line}\n")


if __name__ == "__main__":
    main()
