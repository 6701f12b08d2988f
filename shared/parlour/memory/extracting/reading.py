"""A stretch of a conversation, as it is looked through. Pure."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.memory.facts.evidence import own_text
from parlour.memory.facts.fact import Utterance

MOST_TURNS = 20
"""Turns that are read at once; of a longer stretch the rest follows."""

_OWN, _REPLY = 2_000, 240
"""Letters of a message of the user's, and of a reply, which is there to be understood by and no more."""


@dataclass(frozen=True, slots=True)
class Line:
    """One message. `turn`: the number of its turn; `at`: when we received it, as for what is noticed at once."""

    turn: int
    id: UUID
    direction: str
    body: str
    at: datetime

    @property
    def is_users(self) -> bool:
        return self.direction == "inbound"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Turns that nobody looked through, in order. `until_turn`: the last of them; `is_full`: more may come after."""

    lines: tuple[Line, ...]
    until_turn: int
    is_full: bool = False

    @property
    def own(self) -> list[Line]:
        """The user's messages that have words of their own: the only evidence there is."""
        return [line for line in self.lines if line.is_users and own_text(line.body)]

    @property
    def utterances(self) -> list[Utterance]:
        """The same, as `obvious` reads them."""
        return [Utterance(line.id, line.body, line.at) for line in self.own]

    def labelled(self) -> dict[int, Line]:
        """The user's messages by the numbers that a prompt gives them, from 1."""
        return dict(enumerate(self.own, 1))


def transcript(stretch: Stretch, agent: str) -> str:
    """The stretch as a model reads it: what the user wrote themselves, numbered; what was replied, shortened."""
    numbers = {line.id: number for number, line in stretch.labelled().items()}
    return "\n".join(_told(line, numbers.get(line.id), agent) for line in stretch.lines if _is_told(line, numbers))


def _is_told(line: Line, numbers: dict[UUID, int]) -> bool:
    return line.id in numbers or (not line.is_users and bool(line.body.strip()))


def _told(line: Line, number: int | None, agent: str) -> str:
    if number is None:
        return f"({agent} replied, no evidence: {_clipped(line.body, _REPLY)})"
    return f"[{number}] {line.at.date().isoformat()} user: {_clipped(own_text(line.body), _OWN)}"


def _clipped(text: str, most: int) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= most else one_line[: most - 4].rstrip() + " ..."
