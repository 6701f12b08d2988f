"""Layer 10: one or two things that must not be missed, at the end of the prompt, where models heed them most. Pure."""

from collections.abc import Mapping, Sequence
from typing import Literal

TURNS_BETWEEN_REMINDERS = 5
"""Turns from one reminder of the rules that always hold to the next (design section 7, layer 10)."""

STANDING_REMINDER = (
    "Stay in your role and language. Say only what the conversation or the tools tell; if they do not, say so."
)
type Closing = Literal["", "answer", "limit", "continue", "question"]
"""Why a step may call no tool: the step before had neither words nor calls, the turn's rounds of calls are used up, the
step before was cut by the limit of a reply's tokens, or a person is asked about one of its calls. "": it may call them.
"""

CLOSING_REMINDERS: Mapping[Closing, str] = {
    "answer": "Answer the user now, in words; no tool can be called. Do not repeat what you wrote above.",
    "limit": "No more look-ups in this turn. Answer now from what you have, and say what you did not look up. "
    "Do not repeat what you wrote above.",
    "continue": "Your reply reached the limit of its length. Go on with the sentence or table row that follows, and "
    "come to an end soon. Repeat nothing, not the head of a table either; no tool can be called.",
    "question": "Answer now from the other results. The runtime asks about the call that waits, below your reply: do "
    "not ask or announce it. Do not repeat what you wrote above; no tool can be called.",
}
CITATION_REMINDER = "Put the number of the document, like [2], right after each statement that rests on it."


def opening_reminders(turn_number: int, pack_reminders: Sequence[str]) -> tuple[str, ...]:
    """Return the reminders at the tail as the turn begins; `pack_reminders` are those that the pack sets."""
    return (*((STANDING_REMINDER,) if turn_number % TURNS_BETWEEN_REMINDERS == 0 else ()), *pack_reminders)


def repeated_reminders(turn_number: int, pack_reminders: Sequence[str], *, has_searched: bool) -> tuple[str, ...]:
    """Return the reminders that are repeated once tools have answered: after a search how to cite comes first."""
    return (*((CITATION_REMINDER,) if has_searched else ()), *opening_reminders(turn_number, pack_reminders))
