"""Turns for the tests of summaries."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from parlour.memory.summaries.summary_window import WindowMessage, WindowTurn

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def make_message(number: int, place: int, text: str, *, from_agent: bool = False) -> WindowMessage:
    """A message of a turn."""
    return WindowMessage(UUID(int=number * 10 + place), text, from_agent, AT + timedelta(minutes=number))


def make_turn(
    number: int, asked: str = "How is the crane?", replied: str = "It stands.", *, has_reply_sources: bool = False
) -> WindowTurn:
    """A turn with a message and a reply."""
    spoken = (make_message(number, 1, asked), make_message(number, 2, replied, from_agent=True))
    return WindowTurn(
        UUID(int=number), number, tuple(one for one in spoken if one.text), 2, has_reply_sources=has_reply_sources
    )
