"""The pinned briefing: its bytes stay the same from turn to turn until a named cause changes them. Pure.

Everything before the tail is read from the prompt cache at a tenth of its price as long as not one byte changes. So a
briefing that was rendered once stays, although the record goes on changing; what changed since stands in the tail
(layer 7), until a cause on this page has it rendered anew.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, get_args

from parlour.infra.json_values import JsonObject
from parlour.prompts.assembly.segment import Item, Segment, Source
from parlour.prompts.assembly.stored_text import StoredText

type RefreshCause = Literal[
    "first",
    "record_changed",
    "config",
    "clearance",
    "classification",
    "erasure",
    "compaction",
    "deltas",
    "age",
    "cold",
    "budget",
]
"""Why a briefing was rendered anew: the session has none yet, is about another record, the persona or its tools were
changed, its reader may see more or less than then, something in it was reclassified or deleted, something in it was
forgotten, the history was cut (the cache is lost from there on anyway, and what comes before is due), what changed
since grew too long, it is old, the cache is cold, or the rest of the prompt left it less room."""

REFRESH_CAUSES: tuple[str, ...] = get_args(RefreshCause.__value__)

CACHE_LIFETIME = timedelta(minutes=5)
"""How long a provider keeps a prompt's prefix after its last use (Anthropic's default)."""

_MAX_BRIEFING_AGE = timedelta(minutes=30)
_MAX_DELTA_TOKENS = 300
"""Tokens of changes that the tail takes before the briefing is due (design section 7, stability)."""


@dataclass(frozen=True, slots=True)
class BriefingEntry:
    """What a briefing holds of one candidate: the item without its words, which stand in the piece of that place."""

    item: Item
    tokens: int
    piece_index: int
    is_shortened: bool = False


@dataclass(frozen=True, slots=True)
class CachedBriefing:
    """A rendered briefing.

    segment     its bytes.
    sources     what it was made of.
    about       the record, or "" for none.
    versions    the persona's parts, as they were.
    clearance   its reader's.
    at          when it was rendered: what changed later is not in it.
    held        the candidates that are in it.
    forgotten   something that it was made of was forgotten since, and its words are gone.
    """

    segment: Segment
    sources: tuple[Source, ...]
    record_handle: StoredText
    persona_versions: JsonObject
    clearance: int
    rendered_at: datetime
    entries: tuple[BriefingEntry, ...] = ()
    is_erased: bool = False

    def tombstone(self) -> "CachedBriefing":
        """Return the briefing without its text and what it was made of; the next prompt renders a new one."""
        return replace(self, segment=replace(self.segment, blocks=()), entries=(), sources=(), is_erased=True)


@dataclass(frozen=True, slots=True)
class BriefingConditions:
    """What a pin is held against.

    last_asked      when the last turn began in which the session's model was asked, None when it never was.
    reclassified    whether a source of the pin was deleted since, or is above the reader's clearance by now.
    forgotten       whether a source of the pin was forgotten.
    was_cut         whether the history is cut in this turn.
    delta_tokens    what changed since, in tokens.
    """

    at: datetime
    record_handle: str
    persona_versions: JsonObject
    clearance: int
    last_asked_at: datetime | None
    is_compacted: bool = False
    has_restricted_source: bool = False
    has_erased_source: bool = False
    delta_tokens: int = 0


def is_cache_warm(last_asked_at: datetime | None, now: datetime) -> bool:
    """Whether the provider still has the session's last prompt."""
    return last_asked_at is not None and now - last_asked_at <= CACHE_LIFETIME


def refresh_causes(cached_briefing: CachedBriefing | None, conditions: BriefingConditions) -> tuple[RefreshCause, ...]:
    """Every reason why the briefing is rendered anew, the one that is told first; none when the pinned one stays."""
    if cached_briefing is None:
        return ("first",)
    known: list[tuple[RefreshCause, bool]] = [
        ("record_changed", cached_briefing.record_handle != conditions.record_handle),
        ("config", cached_briefing.persona_versions != conditions.persona_versions),
        ("clearance", cached_briefing.clearance != conditions.clearance),
        ("classification", conditions.has_restricted_source),
        ("erasure", conditions.has_erased_source or cached_briefing.is_erased),
        ("compaction", conditions.is_compacted),
        ("deltas", conditions.delta_tokens > _MAX_DELTA_TOKENS),
        ("age", conditions.at - cached_briefing.rendered_at > _MAX_BRIEFING_AGE),
        ("cold", not is_cache_warm(conditions.last_asked_at, conditions.at)),
    ]
    return tuple(name for name, holds in known if holds)
