"""What a session's next prompt stands on: what its earlier ones fixed. Pure; kept as JSON from turn to turn."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from parlour.prompts.assembly.breakpoints import RECENT_PAUSES, RECENT_TURNS
from parlour.prompts.assembly.briefing_cache import CachedBriefing
from parlour.prompts.assembly.cache_hits import BlockFingerprint
from parlour.prompts.assembly.compaction import CompactedHistory


@dataclass(frozen=True, slots=True)
class PromptCacheState:
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

    cached_briefing: CachedBriefing | None = None
    compacted_history: CompactedHistory = field(default_factory=CompactedHistory)
    token_factors: Mapping[str, float] = field(default_factory=dict)
    last_asked_at: datetime | None = None
    model: str = ""
    fingerprints: tuple[BlockFingerprint, ...] = ()
    breakpoints: tuple[int, ...] = ()
    turn_pauses: tuple[float, ...] = ()
    steps_per_turn: tuple[int, ...] = ()
    withheld_ids: tuple[str, ...] = ()

    def after_prompt(
        self, at: datetime, model: str, fingerprints: tuple[BlockFingerprint, ...], breakpoints: tuple[int, ...]
    ) -> "PromptCacheState":
        """The standing once this prompt was sent."""
        return replace(self, last_asked_at=at, model=model, fingerprints=fingerprints, breakpoints=breakpoints)

    def after_turn(self, steps: int) -> "PromptCacheState":
        """The standing once a turn of so many steps is over: its tail and its calls are no part of the next prompt."""
        kept = tuple(itertools.takewhile(lambda one: one.is_in_next_turn, self.fingerprints))
        marked = tuple(place for place in self.breakpoints if place <= len(kept))
        return replace(
            self, fingerprints=kept, breakpoints=marked, steps_per_turn=(*self.steps_per_turn, steps)[-RECENT_TURNS:]
        )

    def without_text(self, *, is_history_erased: bool) -> "PromptCacheState":
        """Return the standing without the text of its briefing; with `history`, also without what leads the history,
        which is told and cut anew from the turns that are left."""
        pinned = self.cached_briefing.tombstone() if self.cached_briefing else None
        return replace(
            self,
            cached_briefing=pinned,
            compacted_history=CompactedHistory() if is_history_erased else self.compacted_history,
        )

    def at_turn_start(self, now: datetime) -> "PromptCacheState":
        """The standing as a new turn begins: one pause more."""
        if self.last_asked_at is None:
            return self
        pauses = (*self.turn_pauses, (now - self.last_asked_at).total_seconds())
        return replace(self, turn_pauses=pauses[-RECENT_PAUSES:])
