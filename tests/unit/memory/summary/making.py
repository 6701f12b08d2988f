"""Turns for the tests of summaries."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from parlour.memory.summary.stretch import Spoken, Turn

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def said(number: int, place: int, text: str, *, ours: bool = False) -> Spoken:
    """A message of a turn."""
    return Spoken(UUID(int=number * 10 + place), text, ours, AT + timedelta(minutes=number))


def turn(number: int, asked: str = "How is the crane?", replied: str = "It stands.", *, drawn: bool = False) -> Turn:
    """A turn with a message and a reply."""
    spoken = (said(number, 1, asked), said(number, 2, replied, ours=True))
    return Turn(UUID(int=number), number, tuple(one for one in spoken if one.text), 2, drawn=drawn)
