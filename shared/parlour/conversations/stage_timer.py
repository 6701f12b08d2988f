"""How long the stages of a turn took, in milliseconds, summed by name."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

_MILLISECOND = timedelta(milliseconds=1)


class StageTimer:
    """A stopwatch with a name for every stage."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self.milliseconds: dict[str, int] = {}

    @contextmanager
    def measure(self, stage: str) -> Iterator[Callable[[], int]]:
        """Time a stage; the yielded function says how long it has taken so far."""
        begun = self._clock()

        def took() -> int:
            return (self._clock() - begun) // _MILLISECOND

        try:
            yield took
        finally:
            self.add(stage, took())

    def add(self, stage: str, milliseconds: int) -> None:
        """Add to a stage."""
        self.milliseconds[stage] = self.milliseconds.get(stage, 0) + milliseconds

    def add_between(self, stage: str, begun: datetime, ended: datetime) -> None:
        """Add the time between two moments; clocks of two machines may disagree, so never less than nothing."""
        self.add(stage, max(0, (ended - begun) // _MILLISECOND))
