"""What a session's next prompt stands on: what its earlier ones fixed. Pure; kept as JSON from turn to turn."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from parlour.context.breakpoints import RECENT_PAUSES, RECENT_TURNS
from parlour.context.cache import Print
from parlour.context.lead import Lead
from parlour.context.pins import Pinned


@dataclass(frozen=True, slots=True)
class Standing:
    """What the prompts of a session so far have fixed.

    pinned   the briefing as it was rendered, until a cause has it rendered anew.
    lead     what stands for the turns that history no longer tells.
    factors  tokens per plain token, by script, as they were when the session began.
    asked    when the last turn began in which a model was asked, and which one that was (provider/model); the cache
             is warm for a little longer than that tells, by what the turn took.
    prints   the blocks of that prompt, and `marked` after how many of them it was marked for the cache.
    pauses   seconds between its newest turns, and `steps` how many steps each of them took, oldest first.
    withheld what was sent with earlier messages and was not told any more.
    """

    pinned: Pinned | None = None
    lead: Lead = field(default_factory=Lead)
    factors: Mapping[str, float] = field(default_factory=dict)
    asked: datetime | None = None
    model: str = ""
    prints: tuple[Print, ...] = ()
    marked: tuple[int, ...] = ()
    pauses: tuple[float, ...] = ()
    steps: tuple[int, ...] = ()
    withheld: tuple[str, ...] = ()

    def after_asking(self, at: datetime, model: str, prints: tuple[Print, ...], marked: tuple[int, ...]) -> "Standing":
        """The standing once this prompt was sent."""
        return replace(self, asked=at, model=model, prints=prints, marked=marked)

    def after_turn(self, steps: int) -> "Standing":
        """The standing once a turn of so many steps is over: its tail and its calls are no part of the next prompt."""
        kept = tuple(itertools.takewhile(lambda one: one.stays, self.prints))
        marked = tuple(place for place in self.marked if place <= len(kept))
        return replace(self, prints=kept, marked=marked, steps=(*self.steps, steps)[-RECENT_TURNS:])

    def erased(self, *, history: bool) -> "Standing":
        """Return the standing without the text of its briefing; with `history`, also without what leads the history,
        which is told and cut anew from the turns that are left."""
        pinned = self.pinned.tombstone() if self.pinned else None
        return replace(self, pinned=pinned, lead=Lead() if history else self.lead)

    def beginning(self, now: datetime) -> "Standing":
        """The standing as a new turn begins: one pause more."""
        if self.asked is None:
            return self
        pauses = (*self.pauses, (now - self.asked).total_seconds())
        return replace(self, pauses=pauses[-RECENT_PAUSES:])
