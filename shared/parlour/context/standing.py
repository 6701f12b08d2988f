"""What a session's next prompt stands on: what its earlier ones fixed. Pure; kept as JSON from turn to turn."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from parlour.context.cache import Print
from parlour.context.lead import Lead
from parlour.context.marks import Pace
from parlour.context.pins import Pinned

_REMEMBERED = 12
"""Turns by which a session's pace is told."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What the prompts of a session so far have fixed.

    pinned   the briefing as it was rendered, until a cause has it rendered anew.
    lead     what stands for the turns that history no longer tells.
    factors  tokens per plain token, by script, as they were when the session began.
    asked    when the last turn began in which a model was asked, and which one that was (provider/model); the cache
             is warm for a little longer than that tells, by what the turn took.
    prints   the blocks of that prompt, and `marked` after how many of them it was marked for the cache.
    pace     the session's pauses and steps.
    withheld what was sent with earlier messages and was not told any more.
    """

    pinned: Pinned | None = None
    lead: Lead = field(default_factory=Lead)
    factors: Mapping[str, float] = field(default_factory=dict)
    asked: datetime | None = None
    model: str = ""
    prints: tuple[Print, ...] = ()
    marked: tuple[int, ...] = ()
    pace: Pace = field(default_factory=Pace)
    withheld: tuple[str, ...] = ()

    def after_asking(self, at: datetime, model: str, prints: tuple[Print, ...], marked: tuple[int, ...]) -> "Standing":
        """The standing once this prompt was sent."""
        return replace(self, asked=at, model=model, prints=prints, marked=marked)

    def after_turn(self, steps: int) -> "Standing":
        """The standing once a turn of so many steps is over: its tail and its calls are no part of the next prompt."""
        kept = tuple(itertools.takewhile(lambda one: one.stays, self.prints))
        marked = tuple(place for place in self.marked if place <= len(kept))
        pace = replace(self.pace, steps=(*self.pace.steps, steps)[-_REMEMBERED:])
        return replace(self, prints=kept, marked=marked, pace=pace)

    def erased(self, *, history: bool) -> "Standing":
        """Return the standing without the text of its briefing; with `history`, also without what leads the history,
        which is told and cut anew from the turns that are left."""
        pinned = self.pinned.tombstone() if self.pinned else None
        return replace(self, pinned=pinned, lead=Lead() if history else self.lead)

    def beginning(self, now: datetime) -> "Standing":
        """The standing as a new turn begins: one pause more."""
        if self.asked is None:
            return self
        gaps = (*self.pace.gaps, (now - self.asked).total_seconds())[-_REMEMBERED:]
        return replace(self, pace=replace(self.pace, gaps=gaps))
