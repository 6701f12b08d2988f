"""Scripts of what people tell an agent of themselves, change and take back, as `bench.memory` plays them.

    {"name": "A month at the site desk",
     "begins": "2026-03-02T00:00:00+05:30",
     "sessions": [
       {"who": "priya",                    whose; a name is a person, with one phone
        "channel": "whatsapp",             or "web". All of one person's on whatsapp are one conversation; each on the
                                           web is a conversation of its own
        "day": 9, "at": "18:45",           days after the beginning, and the time of the first turn
        "every": 60,                       seconds from one turn to the next
        "shared": false,                   others may read it
        "turns": [
          {"user": "I live in Chennai.", "agent": "Noted.",
           "tool": "...",                  what a tool says in this turn, before the reply
           "tells": {"city": "Chennai"},   facts that the user states here; a list holds spellings of one value. Another
                                           value of a name that was told before is a change
           "retracts": ["vehicle"],        facts that are so no longer, and nothing takes their place
           "may": {"family.sister": "Divya"},   true too, but counted neither way
           "keeps": [{"kind": "identifier", "value": "HB-2291-C", "ask": "What is the reference of my booking?"}],
                                           what must survive word for word, and a question that names its subject
           "wrong": [{"why": "stale", "key": "city", "value": "Chennai"}]}]}]}     what the model takes wrongly

The scripted model reads what people tell and retract, and the misreadings in `wrong`. Entries of `wrong` are
{"key", "value", "confidence": 0.9, "ends": false, "lines": "here"}; with `lines` "nowhere"
they name a message that does not exist, without `value` they are malformed.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from bench.conversation_scripts import Malformed

type Spellings = Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]

_WORD = re.compile(r"[^\s.,;:!?()\"\u201c\u201d]+")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Taken(_Strict):
    """What the model takes from a message. value: None for an entry without one; why: what is wrong with it."""

    key: str
    value: str | None = None
    confidence: float = 0.9
    ends: bool = False
    lines: Literal["here", "nowhere"] = "here"
    why: str = ""


class Kept(_Strict):
    """What must survive word for word, and the question for it."""

    value: str
    ask: str
    kind: str = "identifier"


class Turn(_Strict):
    """One turn of a session; `who` and `at` come from the session."""

    user: str
    agent: str
    tool: str = ""
    tells: dict[str, Spellings] = Field(default_factory=dict)
    retracts: list[str] = Field(default_factory=list)
    may: dict[str, Spellings] = Field(default_factory=dict)
    keeps: list[Kept] = Field(default_factory=list)
    wrong: list[Taken] = Field(default_factory=list)
    who: str = ""
    at: datetime = datetime.min.replace(tzinfo=UTC)

    @property
    def right(self) -> list[Taken]:
        """What the model takes that is so."""
        told = [Taken(key=name, value=spellings[0]) for name, spellings in self.tells.items()]
        return [*told, *(Taken(key=name, value="", ends=True) for name in self.retracts)]


class Session(_Strict):
    """Turns of one person in a row."""

    who: str
    turns: list[Turn] = Field(min_length=1)
    channel: Literal["whatsapp", "web"] = "whatsapp"
    day: int = 0
    at: time = time(9)
    every: float = 60
    shared: bool = False


class Month(_Strict):
    """A script."""

    name: str
    begins: AwareDatetime
    sessions: list[Session] = Field(min_length=1)

    def model_post_init(self, _context: object, /) -> None:
        """Give every turn its person and its time."""
        for session in self.sessions:
            start = self.begins + timedelta(days=session.day, hours=session.at.hour, minutes=session.at.minute)
            for place, turn in enumerate(session.turns):
                turn.who, turn.at = session.who, start + timedelta(seconds=place * session.every)

    @property
    def turns(self) -> list[Turn]:
        """All turns, in the order of their time."""
        return sorted((turn for session in self.sessions for turn in session.turns), key=lambda turn: turn.at)

    @property
    def people(self) -> list[str]:
        """Everybody who has a say, in the order in which they are named."""
        return list(dict.fromkeys(session.who for session in self.sessions))


@dataclass(frozen=True, slots=True)
class Planted:
    """A value of the script, from when somebody tells it, in `text`, until they say otherwise, if they do."""

    who: str
    name: str
    spellings: Sequence[str]
    since: datetime
    text: str
    until: datetime | None = None
    ended: Literal["", "changed", "retracted"] = ""


def read(path: Path) -> Month:
    """Read the script of a file. Raises Malformed, which names the file and what is wrong."""
    try:
        return Month.model_validate_json(path.read_text("utf-8-sig"))
    except (OSError, ValidationError) as error:
        raise Malformed(f"{path}: {error}") from error


def planted(month: Month) -> list[Planted]:
    """Return every value of the script, in the order in which they are told."""
    live: dict[tuple[str, str], Planted] = {}
    over: list[Planted] = []
    for turn in month.turns:
        gone = [live.pop((turn.who, name)) for name in turn.retracts if (turn.who, name) in live]
        over += [replace(value, until=turn.at, ended="retracted") for value in gone]
        for name, spellings in turn.tells.items():
            known = live.get((turn.who, name))
            if known is not None and not set(map(plain, known.spellings)).isdisjoint(map(plain, spellings)):
                continue
            if known is not None:
                over.append(replace(known, until=turn.at, ended="changed"))
            live[turn.who, name] = Planted(turn.who, name, spellings, turn.at, turn.user)
    return sorted([*over, *live.values()], key=lambda value: value.since)


def plain(text: str) -> str:
    """Return the text as it is compared: forms of letters and of quotation marks aside."""
    return unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")


def words(text: str) -> list[str]:
    """Return its words, marks aside."""
    return [word.strip("'") for word in _WORD.findall(plain(text))]
