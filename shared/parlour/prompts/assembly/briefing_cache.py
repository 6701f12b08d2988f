"""The cached briefing: its bytes stay the same from turn to turn until a named cause changes them. Pure.

The prompt cache serves everything before the tail at a tenth of its price while no byte changes. A rendered briefing
therefore stays although its record changes. The tail (layer 7) shows the changes until a cause on this page has the
briefing rendered again.
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
    """A candidate in a cached briefing: the item without its text, which is the piece at `piece_index`."""

    item: Item
    tokens: int
    piece_index: int
    is_shortened: bool = False


@dataclass(frozen=True, slots=True)
class CachedBriefing:
    """A rendered briefing.

    segment           its bytes.
    sources           the rows that it was rendered from.
    record_handle     the handle of its record, or "" for none.
    persona_versions  the versions of the persona's parts.
    clearance         the clearance of its reader.
    rendered_at       when it was rendered; later changes are not in it.
    entries           the candidates in it.
    is_erased         a source of it was erased since, and its text is deleted.
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
        """Return the briefing without text and sources; the next prompt renders a new one."""
        return replace(self, segment=replace(self.segment, blocks=()), entries=(), sources=(), is_erased=True)


@dataclass(frozen=True, slots=True)
class BriefingConditions:
    """The conditions of a turn that decide whether the cached briefing is still valid.

    last_asked_at          when the last turn began that asked a model, None without one.
    is_compacted           whether the history is cut in this turn.
    has_restricted_source  whether a source was deleted, or is above the reader's clearance now.
    has_erased_source      whether a source was erased.
    delta_tokens           tokens of the changes since the briefing was rendered.
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
    """Return whether the provider still has the session's last prompt."""
    return last_asked_at is not None and now - last_asked_at <= CACHE_LIFETIME


def refresh_causes(cached_briefing: CachedBriefing | None, conditions: BriefingConditions) -> tuple[RefreshCause, ...]:
    """Return every reason to render the briefing again, the most important first; none when the cached one stays."""
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
