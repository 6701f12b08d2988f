"""A stretch of a conversation, as it is looked through. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.memory.facts.fact import UserMessage
from parlour.memory.facts.own_text import own_text

MAX_TURNS = 20
"""Turns that are read at once; of a longer stretch the rest follows."""

_MAX_MESSAGE_CHARS, _MAX_REPLY_CHARS = 2_000, 240
"""Letters of a message of the user's, and of a reply, which is there to be understood by and no more."""


@dataclass(frozen=True, slots=True)
class MessageLine:
    """One message. `turn`: the number of its turn; `at`: when we received it, as for what is noticed at once."""

    turn_number: int
    id: UUID
    direction: str
    body: str
    received_at: datetime

    @property
    def is_from_user(self) -> bool:
        return self.direction == "inbound"


@dataclass(frozen=True, slots=True)
class ExtractionWindow:
    """Turns that nobody looked through, in order. `until_turn`: the last of them; `is_full`: more may come after;
    `earlier_lines`: the messages of the turn before them."""

    lines: tuple[MessageLine, ...]
    until_turn: int
    is_full: bool = False
    earlier_lines: tuple[MessageLine, ...] = ()

    @property
    def user_lines(self) -> list[MessageLine]:
        """The user's messages that have words of their own: the only evidence there is."""
        return [line for line in self.lines if line.is_from_user and own_text(line.body)]

    @property
    def user_messages(self) -> list[UserMessage]:
        """Return the user's lines as `explicit_facts` reads them."""
        return [UserMessage(line.id, line.body, line.received_at) for line in self.user_lines]

    def numbered_user_lines(self) -> dict[int, MessageLine]:
        """Return the user's messages by their number in the prompt, from 1."""
        return dict(enumerate(self.user_lines, 1))


def split_lines(
    lines: Sequence[MessageLine], after_turn: int, until_turn: int, *, is_full: bool = False
) -> ExtractionWindow:
    """Return the window of the turns after `after_turn`; lines of earlier turns are there to be understood by."""
    earlier = tuple(line for line in lines if line.turn_number <= after_turn)
    return ExtractionWindow(tuple(lines[len(earlier) :]), until_turn, is_full, earlier)


def render_transcript(window: ExtractionWindow, agent_name: str) -> str:
    """Return the window as a model reads it: the user's own messages with numbers, the replies shortened."""
    numbers = {line.id: number for number, line in window.numbered_user_lines().items()}
    rendered: list[str] = []
    for line in window.lines:
        if line.id in numbers:
            said = shortened(own_text(line.body), _MAX_MESSAGE_CHARS)
            rendered.append(f"[{numbers[line.id]}] {line.received_at.date().isoformat()} user: {said}")
        elif not line.is_from_user and line.body.strip():
            rendered.append(f"({agent_name} replied, no evidence: {shortened(line.body, _MAX_REPLY_CHARS)})")
    return "\n".join(rendered)


def shortened(text: str, max_chars: int) -> str:
    """Return the text on one line, with a mark where it is cut."""
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= max_chars else one_line[: max_chars - 4].rstrip() + " ..."
