"""The mappings of all queues at once: messages to workers, until nothing is on its way any more."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import batched
from typing import Any

from local.chaos.world import World
from local.event_source import EventSource
from local.workers import Ended, Wrap

SLOTS = 5
"""Workers at once: they wait for the model and the database more than they compute."""

_LOOK_SECONDS = 0.02
_LONGEST_LOOK_SECONDS = 0.5
"""How long an empty queue is left alone, at first and later: asking costs the emulator more than many a statement."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message on its way to a function, the first of its batch; `receives` counts this delivery."""

    function: str
    queue: str
    body: Mapping[str, Any]
    receives: int


type Plan = Callable[[Delivery], Wrap | None]
"""What is put around the handler for this delivery."""

type Seen = Callable[[Delivery, Ended, float], None]
"""Told of every invocation's end, and of when it had begun (by the monotonic clock)."""


class Pump:
    """Lambda's pollers. `plan` and `seen` are called from several threads.

    seconds   what an invocation may take, if not what its mapping says.
    intake    envelopes that the receiver is given at once.
    patience  seconds that a queue which stays empty is left alone, at most.
    """

    def __init__(
        self,
        world: World,
        plan: Plan | None = None,
        seen: Seen | None = None,
        *,
        slots: int = SLOTS,
        seconds: float | None = None,
        intake: int = 1,
        patience: float = _LONGEST_LOOK_SECONDS,
    ) -> None:
        self._world = world
        self._sources = world.sources if seconds is None else [source.patient(seconds) for source in world.sources]
        if intake > 1:
            self._sources = [one.batches(intake) if one.source.name == "intake" else one for one in self._sources]
        self._plan = plan
        self._seen = seen
        self._slots = slots
        self._running: list[Future[None]] = []
        self._patience = patience
        self._empty: dict[str, tuple[float, float]] = {}

    def run(
        self, seconds: float, go_on: Callable[[], bool] = lambda: False, stop: Callable[[], bool] = lambda: False
    ) -> bool:
        """Deliver until all queues are empty and `go_on` says no, or `stop` says yes; False when that took longer
        than `seconds`."""
        until = time.monotonic() + seconds
        with ThreadPoolExecutor(self._slots) as threads:
            while time.monotonic() < until and not stop():
                took = self._round(threads)
                if not took and not self._running and not go_on() and not self.held():
                    return True
                time.sleep(0 if took else _LOOK_SECONDS)
        return False

    def held(self) -> dict[str, int]:
        """How many messages each queue holds; empty ones are left out."""
        counts = {source.source.name: source.held() for source in self._sources}
        return {name: count for name, count in counts.items() if count}

    def _round(self, threads: ThreadPoolExecutor) -> bool:
        """Ask every queue once; whether there was anything."""
        took = False
        for source in self._sources:
            self._reap()
            free = self._slots - len(self._running)
            if free <= 0:
                return took
            if self._is_left_alone(source):
                continue
            batch = source.source.batch
            records = source.receive(free if batch == 1 else batch)
            self._note(source, is_empty=not records)
            for some in batched(records, batch, strict=False):
                self._running.append(threads.submit(self._deliver, source, some))
                took = True
        return took

    def _is_left_alone(self, source: EventSource) -> bool:
        until, _ = self._empty.get(source.source.name, (0.0, 0.0))
        return time.monotonic() < until

    def _note(self, source: EventSource, *, is_empty: bool) -> None:
        """Who had nothing is asked again later, and later still."""
        name = source.source.name
        _, before = self._empty.pop(name, (0.0, 0.0))
        if is_empty:
            wait = min(max(2 * before, _LOOK_SECONDS), self._patience)
            self._empty[name] = (time.monotonic() + wait, wait)

    def _reap(self) -> None:
        for done in [future for future in self._running if future.done()]:
            self._running.remove(done)
            done.result()

    def _deliver(self, source: EventSource, records: Sequence[dict[str, Any]]) -> None:
        record = records[0]
        receives = int(record["attributes"]["ApproximateReceiveCount"])
        mapping = source.source
        delivery = Delivery(mapping.function, mapping.name, json.loads(record["body"]), receives)
        wrap = self._plan(delivery) if self._plan else None
        begun = time.monotonic()
        ended = source.handle(self._world.workers, records, wrap)
        if self._seen:
            self._seen(delivery, ended, begun)
