"""Layer 10: one or two things that must not be missed, at the end of the prompt, where models heed them most. Pure."""

from collections.abc import Sequence

TURNS_BETWEEN_REMINDERS = 5
"""Turns from one reminder of the rules that always hold to the next (design section 7, layer 10)."""

STANDING_REMINDER = (
    "Stay in your role and language. Say only what the conversation or the tools tell; if they do not, say so."
)
CLOSING_REMINDER = "Answer the user now, in words; no tool can be called. Do not repeat what you wrote above."
CITATION_REMINDER = "Put the number of the document, like [2], right after each statement that rests on it."


def opening_reminders(turn_number: int, pack_reminders: Sequence[str]) -> tuple[str, ...]:
    """Return the reminders at the tail as the turn begins; `pack_reminders` are those that the pack sets."""
    return (*((STANDING_REMINDER,) if turn_number % TURNS_BETWEEN_REMINDERS == 0 else ()), *pack_reminders)


def repeated_reminders(turn_number: int, pack_reminders: Sequence[str], *, has_searched: bool) -> tuple[str, ...]:
    """Return the reminders that are repeated once tools have answered: after a search how to cite comes first."""
    return (*((CITATION_REMINDER,) if has_searched else ()), *opening_reminders(turn_number, pack_reminders))
