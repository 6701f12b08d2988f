"""What a script of `bench.months` says of its people: every value, from when it is told until it is said otherwise, and
words as they are compared. Pure."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bench.months import Month, Turn

_WORD = re.compile(r"[^\s.,;:!?()\"\u201c\u201d]+")


@dataclass(frozen=True, slots=True)
class Planted:
    """A value that the script has, from when somebody tells it, in `text`, until they say otherwise, if they do."""

    who: str
    name: str
    spellings: tuple[str, ...]
    since: datetime
    until: datetime | None = None
    ended: str = ""
    text: str = ""

    def is_over(self, at: datetime) -> bool:
        """Whether its person had said otherwise in an earlier turn than the one that begins then."""
        return self.until is not None and self.until < at


def planted(month: Month) -> list[Planted]:
    """Every value of the script, in the order in which they are told."""
    live: dict[tuple[str, str], Planted] = {}
    over: list[Planted] = []
    for turn in month.turns:
        for name in turn.retracts:
            over += _ended(live, turn, name, "retracted")
        for name, spellings in turn.tells.items():
            known = live.get((turn.who, name))
            if known is not None and _alike(known.spellings, spellings):
                continue
            over += _ended(live, turn, name, "changed")
            live[turn.who, name] = Planted(turn.who, name, spellings, turn.at, text=turn.user)
    return sorted([*over, *live.values()], key=lambda one: one.since)


def begun(month: Month, who: str, at: datetime) -> datetime:
    """When the script's turn began that the product worked on at that time."""
    return max((turn.at for turn in month.turns if turn.who == who and turn.at <= at), default=at)


def ending(month: Month, one: Planted) -> Turn | None:
    """The turn that ended a value."""
    return next((turn for turn in month.turns if turn.who == one.who and turn.at == one.until), None)


def plain(text: str) -> str:
    """The text as it is compared: forms of letters and quotation marks aside."""
    return unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")


def words(text: str) -> list[str]:
    """Its words, marks aside."""
    return [word.strip("'") for word in _WORD.findall(plain(text))]


def _ended(live: dict[tuple[str, str], Planted], turn: Turn, name: str, how: str) -> list[Planted]:
    known = live.pop((turn.who, name), None)
    if known is None:
        return []
    return [replace(known, until=turn.at, ended=how)]


def _alike(known: Sequence[str], said: Sequence[str]) -> bool:
    return not {plain(one) for one in known}.isdisjoint(plain(one) for one in said)
