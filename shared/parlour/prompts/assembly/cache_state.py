"""What a session's next prompt continues from: what its earlier prompts fixed. Pure; stored as JSON between turns."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from parlour.prompts.assembly.breakpoints import RECENT_PAUSES, RECENT_TURNS
from parlour.prompts.assembly.briefing_cache import CachedBriefing
from parlour.prompts.assembly.cache_hits import BlockFingerprint
from parlour.prompts.assembly.compaction import CompactedHistory
from parlour.prompts.assembly.stored_text import HASH_LENGTH


@dataclass(frozen=True, slots=True)
class PromptCacheState:
    """What the prompts of a session so far have fixed.

    cached_briefing    the briefing as it was rendered.
    compacted_history  what replaces the turns before the history.
    token_factors      real tokens per estimated token, by script, fixed when the session began.
    last_asked_at      when the last turn began that asked a model. The cache stays warm a little longer than this says.
    model              the model that it asked (provider/model).
    fingerprints       the blocks of that prompt.
    breakpoints        after how many of those blocks it had cache breakpoints.
    turn_pauses        seconds between the newest turns, oldest first.
    steps_per_turn     how many steps each of the newest turns took, oldest first.
    withheld_ids       past turns and attachments whose text was withheld.
    hash_length        hex digits of the hashes that the prompt's texts were stored under.
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
    hash_length: int = 64

    def after_prompt(
        self, at: datetime, model: str, fingerprints: tuple[BlockFingerprint, ...], breakpoints: tuple[int, ...]
    ) -> "PromptCacheState":
        """Return the state after this prompt was sent."""
        return replace(
            self,
            last_asked_at=at,
            model=model,
            fingerprints=fingerprints,
            breakpoints=breakpoints,
            hash_length=HASH_LENGTH,
        )

    def after_turn(self, steps: int) -> "PromptCacheState":
        """Return the state after a turn of `steps` steps: the next prompt repeats neither its tail nor its calls."""
        kept = tuple(itertools.takewhile(lambda one: one.is_in_next_turn, self.fingerprints))
        marked = tuple(place for place in self.breakpoints if place <= len(kept))
        return replace(
            self, fingerprints=kept, breakpoints=marked, steps_per_turn=(*self.steps_per_turn, steps)[-RECENT_TURNS:]
        )

    def without_text(self, *, is_history_erased: bool) -> "PromptCacheState":
        """Return the state without the text of its briefing, and with `is_history_erased` without its compacted
        history.

        The next turn compacts the remaining turns again.
        """
        pinned = self.cached_briefing.tombstone() if self.cached_briefing else None
        return replace(
            self,
            cached_briefing=pinned,
            compacted_history=CompactedHistory() if is_history_erased else self.compacted_history,
        )

    def at_turn_start(self, now: datetime) -> "PromptCacheState":
        """Return the state as a new turn begins: with the pause since the last turn."""
        if self.last_asked_at is None:
            return self
        pauses = (*self.turn_pauses, (now - self.last_asked_at).total_seconds())
        return replace(self, turn_pauses=pauses[-RECENT_PAUSES:])
