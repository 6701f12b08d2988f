"""The pinned briefing: its bytes stay the same from turn to turn until a named cause changes them. Pure.

Everything before the tail is read from the prompt cache at a tenth of its price as long as not one byte changes. So a
briefing that was rendered once stays, although the record goes on changing; what changed since stands in the tail
(layer 7), until a cause on this page has it rendered anew.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, get_args

from parlour.context.segment import Item, Segment, Source
from parlour.context.stored_text import StoredText
from parlour.infra.jsonable import JsonObject

type Cause = Literal[
    "first", "focus", "config", "clearance", "classification", "forget", "cut", "deltas", "age", "cold", "budget"
]
"""Why a briefing was rendered anew: the session has none yet, is about another record, the persona or its tools were
changed, its reader may see more or less than then, something in it was reclassified or deleted, something in it was
forgotten, the history was cut (the cache is lost from there on anyway, and what comes before is due), what changed
since grew too long, it is old, the cache is cold, or the rest of the prompt left it less room."""

CAUSES: tuple[str, ...] = get_args(Cause.__value__)

WARM_FOR = timedelta(minutes=5)
"""How long a provider keeps a prompt's prefix after its last use (Anthropic's default)."""

_LONGEST = timedelta(minutes=30)
_MOST_DELTAS = 300
"""Tokens of changes that the tail takes before the briefing is due (design section 7, stability)."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a briefing holds of one candidate: the item without its words, which stand in the piece of that place."""

    item: Item
    tokens: int
    place: int
    shortened: bool = False


@dataclass(frozen=True, slots=True)
class Pinned:
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
    about: StoredText
    versions: JsonObject
    clearance: int
    at: datetime
    held: tuple[Held, ...] = ()
    forgotten: bool = False

    def tombstone(self) -> "Pinned":
        """Return the briefing without its text and what it was made of; the next prompt renders a new one."""
        return replace(self, segment=replace(self.segment, blocks=()), held=(), sources=(), forgotten=True)


@dataclass(frozen=True, slots=True)
class Now:
    """What a pin is held against.

    last_asked      when the last turn began in which the session's model was asked, None when it never was.
    reclassified    whether a source of the pin was deleted since, or is above the reader's clearance by now.
    forgotten       whether a source of the pin was forgotten.
    was_cut         whether the history is cut in this turn.
    delta_tokens    what changed since, in tokens.
    """

    at: datetime
    about: str
    versions: JsonObject
    clearance: int
    last_asked: datetime | None
    was_cut: bool = False
    reclassified: bool = False
    forgotten: bool = False
    delta_tokens: int = 0


def is_warm(last_asked: datetime | None, now: datetime) -> bool:
    """Whether the provider still has the session's last prompt."""
    return last_asked is not None and now - last_asked <= WARM_FOR


def causes(pinned: Pinned | None, now: Now) -> tuple[Cause, ...]:
    """Every reason why the briefing is rendered anew, the one that is told first; none when the pinned one stays."""
    if pinned is None:
        return ("first",)
    known: list[tuple[Cause, bool]] = [
        ("focus", pinned.about != now.about),
        ("config", pinned.versions != now.versions),
        ("clearance", pinned.clearance != now.clearance),
        ("classification", now.reclassified),
        ("forget", now.forgotten or pinned.forgotten),
        ("cut", now.was_cut),
        ("deltas", now.delta_tokens > _MOST_DELTAS),
        ("age", now.at - pinned.at > _LONGEST),
        ("cold", not is_warm(now.last_asked, now.at)),
    ]
    return tuple(name for name, holds in known if holds)
