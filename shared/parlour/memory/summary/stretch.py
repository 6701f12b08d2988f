"""Which turns a summary takes in next, and when one is wanted at all. Pure.

A summary is wanted before a cut needs it, so that it is there by then; it leaves out the newest messages, which stand
in the prompt word for word for a while. It never takes in more at once than fits one question to a model, however long
the conversation has become.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.context import history
from parlour.context.lead import Lead, Summary, is_withdrawn
from parlour.context.past import PastTurn
from parlour.context.tokens import Meter

WANTED_FROM = 16
"""Past so many messages that are told word for word, a summary is wanted: a cut comes past 20."""

LEFT_MESSAGES = 6
"""The newest messages that a summary leaves out. Wanted at 18, it then tells of what the cut at 22 takes away."""

LEFT_SHARE = 0.4
"""And how much of what a history may take they may be: a cut leaves at most 0.6 of it."""

WANTED_SHARE = 0.6
"""A summary is wanted, too, once its history takes so much of its room."""

MOST_TOKENS = 6_000
"""Words of messages that are taken in at once."""

LONGEST = 600
"""Tokens of one message that are read; what follows is found again by a search."""

MOST_TURNS = 60
"""Turns that are looked at for one summary."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message that is taken in; `ours`: the agent said it."""

    id: UUID
    text: str
    ours: bool
    sent_at: datetime


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn that is taken in. is_closed: what it replied may not be told any more, and is not among its messages.
    drawn: what it replied was drawn from something."""

    id: UUID
    number: int
    messages: tuple[Spoken, ...]
    said: int
    is_closed: bool = False
    drawn: bool = False


def is_wanted(meter: Meter, lead: Lead, turns: Sequence[PastTurn], summary: Summary | None, cap: int) -> bool:
    """Whether a summary is wanted once these turns are over; `turns` are those that are told word for word, `cap` the
    tokens that they may take. Also where a cut took away what no summary tells of, or the one that stood for it is told
    no more."""
    until = summary.until if summary else 0
    if lead.since - 1 > until or is_withdrawn(lead):
        return True
    told = [one for one in turns if one.number >= lead.since]
    new = [one for one in told if one.number > until]
    is_long = _count(told) > WANTED_FROM and _count(new) > history.KEPT_MESSAGES
    return is_long or (len(new) > 1 and history.size(meter, new) > cap * WANTED_SHARE)


def next_stretch(turns: Sequence[Turn], cap: int, count: Callable[[str], int], *, more: bool = False) -> list[Turn]:
    """The turns that a summary takes in now, of those that it does not tell of yet, oldest first; `more` when later
    ones are not even among them. The newest are left out: at least one, and of more those that a cut leaves."""
    left = 0 if more else _left(turns, cap, count)
    taken: list[Turn] = []
    tokens = 0
    for one in turns[: len(turns) - left]:
        tokens += sum(min(LONGEST, count(message.text)) for message in one.messages)
        if taken and tokens > MOST_TOKENS:
            break
        taken.append(one)
    return taken


def _left(turns: Sequence[Turn], cap: int, count: Callable[[str], int]) -> int:
    """How many of the newest turns a summary leaves out."""
    messages, tokens = 0, 0
    for place, one in enumerate(reversed(turns)):
        messages += one.said
        tokens += sum(count(message.text) for message in one.messages)
        if place and (messages > LEFT_MESSAGES or tokens > cap * LEFT_SHARE):
            return place
    return len(turns)


def _count(turns: Sequence[PastTurn]) -> int:
    return sum(one.messages for one in turns)
