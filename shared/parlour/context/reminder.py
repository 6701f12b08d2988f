"""Layer 10: one or two things that must not be missed, at the end of the prompt, where models heed them most. Pure."""

from collections.abc import Sequence

EVERY = 5
"""Turns from one reminder of the rules that always hold to the next (design section 7, layer 10)."""

ALWAYS = "Stay in your role and language. Say only what the conversation or the tools tell; if they do not, say so."
CITING = "Put the number of the document, like [2], right after each statement that rests on it."


def opening(turn: int, own: Sequence[str]) -> tuple[str, ...]:
    """What the tail reminds of as turn number `turn` begins; `own` are the reminders that the pack sets."""
    return (*((ALWAYS,) if turn % EVERY == 0 else ()), *own)


def repeated(turn: int, own: Sequence[str], *, searched: bool) -> tuple[str, ...]:
    """What stands last again once tools have answered: after a search how to cite comes first."""
    return (*((CITING,) if searched else ()), *opening(turn, own))
