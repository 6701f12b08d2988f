"""The ledger of one prompt: every candidate with the reason why it is in or out, and the blocks that were sent."""

from dataclasses import dataclass
from typing import Literal, get_args

from parlour.prompts.assembly.briefing_cache import RefreshCause
from parlour.prompts.assembly.cache_hits import CacheMiss
from parlour.prompts.assembly.segment import Item, Layer, Segment

type OmissionReason = Literal[
    "over_budget", "covered_by_pulse", "below_floor", "duplicate", "clearance", "too_large", "unreadable", "compacted"
]
"""Why a candidate is out: no room; the Pulse says it already, and there was no room for it besides; its score is too
low to help; another one says the same; its reader may not see it; it alone is larger than its layer may be; it is a
file of which there is only a name; the history was cut and the recap speaks for it."""

OMISSION_REASONS: tuple[str, ...] = get_args(OmissionReason.__value__)


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A candidate with its tokens. `reason` says why it is out; None when it is in.

    is_shortened  it is in with a shorter text.
    """

    item: Item
    tokens: int
    reason: OmissionReason | None = None
    is_shortened: bool = False


@dataclass(frozen=True, slots=True)
class PromptLedger:
    """The ledger of one prompt.

    entries        every candidate of the turn and the results of its calls. Of a cached briefing only the items in it:
                   the others were recorded when it was rendered.
    segments       the prompt's blocks.
    breakpoints    after how many blocks it has cache breakpoints.
    refresh_cause  why the briefing was rendered again; None when the cached one stayed.
    cache_miss     what of the last prompt was lost; None when nothing was.
    """

    entries: tuple[LedgerEntry, ...]
    segments: tuple[Segment, ...]
    breakpoints: tuple[int, ...]
    refresh_cause: RefreshCause | None = None
    cache_miss: CacheMiss | None = None

    @property
    def tokens_by_layer(self) -> dict[str, int]:
        """The tokens of each layer that has any, in the order of the layers."""
        found: dict[Layer, int] = {}
        for segment in self.segments:
            found[segment.layer] = found.get(segment.layer, 0) + segment.tokens
        return {layer.name.lower(): found[layer] for layer in sorted(found) if found[layer]}
