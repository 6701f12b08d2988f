"""Which turns a summary takes in next, and when one is wanted at all. Pure.

A summary is wanted before a cut needs it, so that it is there by then; it leaves out the newest messages, which stand
in the prompt word for word for a while. It never takes in more at once than fits one question to a model, however long
the conversation has become.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.prompts.assembly import history
from parlour.prompts.assembly.compaction import CompactedHistory, Summary, is_summary_withheld
from parlour.prompts.assembly.past_turn import PastTurn
from parlour.text.token_counter import TokenCounter

MIN_VERBATIM_MESSAGES = 16
"""Past so many messages that are told word for word, a summary is wanted: a cut comes past 20."""

MAX_EXCLUDED_MESSAGES = 6
"""The newest messages that a summary leaves out. Wanted at 18, it then tells of what the cut at 22 takes away."""

MAX_EXCLUDED_SHARE = 0.4
"""And how much of what a history may take they may be: a cut leaves at most 0.6 of it."""

MIN_HISTORY_SHARE = 0.6
"""A summary is wanted, too, once its history takes so much of its room."""

MAX_WINDOW_TOKENS = 6_000
"""Words of messages that are taken in at once."""

MAX_MESSAGE_TOKENS = 600
"""Tokens of one message that are read; what follows is found again by a search."""

MAX_TURNS = 60
"""Turns that are looked at for one summary."""


@dataclass(frozen=True, slots=True)
class WindowMessage:
    """A message that a summary adds; `from_agent` says that the agent wrote it."""

    id: UUID
    text: str
    from_agent: bool
    sent_at: datetime


@dataclass(frozen=True, slots=True)
class WindowTurn:
    """A turn that a summary adds.

    is_reply_withheld  its reply must be withheld now, and is not among the messages.
    has_reply_sources  its reply was written from sources.
    actions            what its tool calls did, failed to do or were refused, a line each.
    """

    id: UUID
    number: int
    messages: tuple[WindowMessage, ...]
    message_count: int
    is_reply_withheld: bool = False
    has_reply_sources: bool = False
    actions: tuple[str, ...] = ()


def is_summary_due(
    meter: TokenCounter,
    compacted_history: CompactedHistory,
    turns: Sequence[PastTurn],
    summary: Summary | None,
    max_history_tokens: int,
) -> bool:
    """Whether a summary is wanted once these turns are over; `turns` are those that are told word for word, `cap` the
    tokens that they may take. Also where a cut took away what no summary tells of, or the one that stood for it is told
    no more."""
    until = summary.until_turn if summary else 0
    if compacted_history.since_turn - 1 > until or is_summary_withheld(compacted_history):
        return True
    told = [one for one in turns if one.number >= compacted_history.since_turn]
    new = [one for one in told if one.number > until]
    is_long = _message_count(told) > MIN_VERBATIM_MESSAGES and _message_count(new) > history.MESSAGES_AFTER_CUT
    return is_long or (len(new) > 1 and history.history_tokens(meter, new) > max_history_tokens * MIN_HISTORY_SHARE)


def next_window(
    turns: Sequence[WindowTurn],
    max_history_tokens: int,
    count_tokens: Callable[[str], int],
    *,
    has_later_turns: bool = False,
) -> list[WindowTurn]:
    """Return the turns that the next summary adds, from the turns without a summary, oldest first.

    The newest turns stay out: at least one, and as many as compaction keeps. `has_later_turns` says that `turns` is
    only the beginning, so that none has to stay out.
    """
    left = 0 if has_later_turns else _excluded_turns(turns, max_history_tokens, count_tokens)
    taken: list[WindowTurn] = []
    tokens = 0
    for one in turns[: len(turns) - left]:
        tokens += sum(min(MAX_MESSAGE_TOKENS, count_tokens(message.text)) for message in one.messages)
        if taken and tokens > MAX_WINDOW_TOKENS:
            break
        taken.append(one)
    return taken


def _excluded_turns(turns: Sequence[WindowTurn], max_history_tokens: int, count_tokens: Callable[[str], int]) -> int:
    """How many of the newest turns a summary leaves out."""
    messages, tokens = 0, 0
    for place, one in enumerate(reversed(turns)):
        messages += one.message_count
        tokens += sum(count_tokens(message.text) for message in one.messages)
        if place and (messages > MAX_EXCLUDED_MESSAGES or tokens > max_history_tokens * MAX_EXCLUDED_SHARE):
            return place
    return len(turns)


def _message_count(turns: Sequence[PastTurn]) -> int:
    return sum(one.message_count for one in turns)
