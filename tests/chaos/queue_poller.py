"""The mappings of all queues at once: messages to workers, until nothing is on its way any more."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import batched
from typing import Any

from local.event_source import EventSource
from local.workers import InvocationResult, InvocationWrapper
from tests.chaos.chaos_environment import ChaosEnvironment

WORKER_SLOTS = 5
"""Workers at once: they wait for the model and the database more than they compute."""

_POLL_SECONDS = 0.02
_MAX_POLL_SECONDS = 0.5
"""How long an empty queue is left alone, at first and later: asking costs the emulator more than many a statement."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message on its way to a function, the first of its batch; `receives` counts this delivery."""

    function: str
    queue: str
    body: Mapping[str, Any]
    receive_count: int


type DeliveryWrapper = Callable[[Delivery], InvocationWrapper | None]
"""What is put around the handler for this delivery."""

type InvocationObserver = Callable[[Delivery, InvocationResult, float], None]
"""Told of every invocation's end, and of when it had begun (by the monotonic clock)."""


class QueuePoller:
    """Lambda's pollers. `wrap_delivery` and `observe` are called from several threads.

    seconds            what an invocation may take, if not what its mapping says.
    intake_batch_size  envelopes that the receiver is given at once.
    max_poll_seconds   for which a queue that stays empty is left alone, at most.
    waits_for_wakeups  whether all is done only when no wake-up of the sweep comes later either.
    """

    def __init__(
        self,
        world: ChaosEnvironment,
        wrap_delivery: DeliveryWrapper | None = None,
        observe: InvocationObserver | None = None,
        *,
        worker_slots: int = WORKER_SLOTS,
        seconds: float | None = None,
        intake_batch_size: int = 1,
        max_poll_seconds: float = _MAX_POLL_SECONDS,
        waits_for_wakeups: bool = True,
    ) -> None:
        self._world = world
        self._waits_for_wakeups = waits_for_wakeups
        self._sources = (
            world.event_sources if seconds is None else [source.with_timeout(seconds) for source in world.event_sources]
        )
        if intake_batch_size > 1:
            self._sources = [
                one.with_batch_size(intake_batch_size) if one.mapping.name == "intake" else one for one in self._sources
            ]
        self._wrap_delivery = wrap_delivery
        self._observe = observe
        self._worker_slots = worker_slots
        self._running: list[Future[None]] = []
        self._max_poll_seconds = max_poll_seconds
        self._backoff_by_queue: dict[str, tuple[float, float]] = {}

    def run(
        self,
        seconds: float,
        keep_running: Callable[[], bool] = lambda: False,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Deliver until `should_stop`, or until all queues are empty and not `keep_running`; return False after
        `seconds`."""
        until = time.monotonic() + seconds
        with ThreadPoolExecutor(self._worker_slots) as threads:
            while time.monotonic() < until and not should_stop():
                took = self._poll_once(threads)
                if not took and not self._running and not keep_running() and not self.count_messages():
                    return True
                time.sleep(0 if took else _POLL_SECONDS)
        return False

    def count_messages(self) -> dict[str, int]:
        """How many messages each queue holds; empty ones are left out."""
        counts = {
            source.mapping.name: source.count_messages(
                with_delayed=self._waits_for_wakeups or source.mapping.name != "wakeups"
            )
            for source in self._sources
        }
        return {name: count for name, count in counts.items() if count}

    def _poll_once(self, threads: ThreadPoolExecutor) -> bool:
        """Ask every queue once; whether there was anything."""
        took = False
        for source in self._sources:
            self._collect_finished()
            free = self._worker_slots - len(self._running)
            if source is not self._sources[0]:
                free -= self._worker_slots > 1  # a message may come in while every other slot waits for it
            if free <= 0:
                return took
            if self._is_backing_off(source):
                continue
            batch = source.mapping.batch_size
            records = source.receive(free if batch == 1 else batch)
            self._update_backoff(source, is_empty=not records)
            for some in batched(records, batch, strict=False):
                self._running.append(threads.submit(self._deliver, source, some))
                took = True
        return took

    def _is_backing_off(self, source: EventSource) -> bool:
        until, _ = self._backoff_by_queue.get(source.mapping.name, (0.0, 0.0))
        return time.monotonic() < until

    def _update_backoff(self, source: EventSource, *, is_empty: bool) -> None:
        """Who had nothing is asked again later, and later still."""
        name = source.mapping.name
        _, before = self._backoff_by_queue.pop(name, (0.0, 0.0))
        if is_empty:
            wait = min(max(2 * before, _POLL_SECONDS), self._max_poll_seconds)
            self._backoff_by_queue[name] = (time.monotonic() + wait, wait)

    def _collect_finished(self) -> None:
        for done in [future for future in self._running if future.done()]:
            self._running.remove(done)
            done.result()

    def _deliver(self, source: EventSource, records: Sequence[dict[str, Any]]) -> None:
        record = records[0]
        receives = int(record["attributes"]["ApproximateReceiveCount"])
        mapping = source.mapping
        delivery = Delivery(mapping.function, mapping.name, json.loads(record["body"]), receives)
        wrap = self._wrap_delivery(delivery) if self._wrap_delivery else None
        begun = time.monotonic()
        ended = source.handle(self._world.workers, records, wrap)
        if self._observe:
            self._observe(delivery, ended, begun)
