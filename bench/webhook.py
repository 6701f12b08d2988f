"""A webhook's way to the durable queue, over HTTP through the deployed function in the AWS emulator."""

import time
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import httpx2

from bench import report
from local.interrupts import StopSignals
from local.progress import Progress
from local.stack import StackOptions, run_stack
from local.stack_client import sample_payload
from local.state import STATE_FOLDER, free_ports

POSTS = 200
WARM_UP = 10


def post_to_queue() -> list[dict[str, report.Cell]]:
    """Start a stack of its own, deliver POSTS messages one after the other, stop it.

    The baseline is GET on the same address: the same gateway, function and token, and no queue.
    """
    options = StackOptions(folder=STATE_FOLDER / "bench", ports=free_ports())
    with StopSignals() as interrupts, run_stack(options, Progress(), interrupts) as stack, httpx2.Client() as client:
        checks = timed(lambda _: client.get(stack.addresses.webhook).raise_for_status())
        posts = timed(lambda number: client.post(stack.addresses.webhook, json=message(number)).raise_for_status())
    baseline = report.percentile(checks, 50)
    return [row("GET, no queue (baseline)", checks, baseline), row("POST to the 200, queued", posts, baseline)]


def timed(call: Callable[[int], Any]) -> list[float]:
    """Milliseconds of each call; the first ones warm up and do not count."""
    found = []
    for number in range(WARM_UP + POSTS):
        begun = time.perf_counter()
        call(number)
        found.append((time.perf_counter() - begun) * 1000)
    return found[WARM_UP:]


def message(number: int) -> Any:
    """The sample message with an id of its own, from one of ten phones."""
    payload = deepcopy(sample_payload("inbound_gupshup_text"))
    payload["payload"]["id"] = f"bench-{time.time_ns()}-{number}"
    payload["payload"]["source"] = f"9198000000{number % 10:02}"
    return payload


def row(name: str, milliseconds: list[float], baseline: float) -> dict[str, report.Cell]:
    p50 = report.percentile(milliseconds, 50)
    return {"what": name, "p50 ms": p50, "p95 ms": report.percentile(milliseconds, 95), "x baseline": p50 / baseline}
