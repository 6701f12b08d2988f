"""Scripts of what people tell an agent of themselves, change and take back, as `bench.memory` plays them.

    {"name": "A month at the site desk",
     "begins": "2026-03-02T00:00:00+05:30",
     "people": {"priya": {"language": "en-IN"}},     optional: figures by language
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
           "trap": "other person",         what makes the message hard
           "truth": [{"key": "city", "value": ["Chennai"], "change": "holds", "quote": "I live in Chennai",
                      "subject": "self", "duration": "lasting"}],
           "may": [{"key": "family.sister", "value": "Divya"}],     true too, but counted neither way
           "keeps": [{"kind": "identifier", "value": "HB-2291-C", "ask": "What is the reference of my booking?"}],
                                           what must survive word for word, and a question that names its subject
           "wrong": [{"why": "other person", "key": "diet", "value": "vegan", "quote": "Maddie's gone vegan now",
                      "subject": "self", "polarity": "holds", "duration": "lasting", "certainty": 0.9,
                      "second": "other person"}]}]}]}

truth: every durable fact about the writer that the message says. value: the user's words first, then other spellings.
change: "holds"; "corrects" a slip; "ends" what is over, with the value that it had. Another value of a key takes the
place of the one before, unless the key has several values (allergy, vehicle, family.*, ...), the message tells both, or
the new one has an end date ("duration": "until", "until": "2026-06-01").

wrong: what a weak model takes from the message. why: what is wrong with it. An entry without a value is malformed; one
with "line": "nowhere" names a message that does not exist. second: the right answer of the second look at it, where it
does not follow from `why`.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from bench.conversation_scripts import Malformed
from parlour.memory.facts import fact_keys
from parlour.memory.facts.fact import SecondAnswer

type Spellings = Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]
type Change = Literal["holds", "ends", "corrects"]
type Duration = Literal["lasting", "until", "temporary", "planned", "supposed"]
type Ending = Literal["", "changed", "corrected", "retracted", "expired"]

_WORD = re.compile(r"[^\s.,;:!?()\"\u201c\u201d]+")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Truth(_Strict):
    """A fact that a message says."""

    key: str
    value: Spellings = Field(min_length=1)
    change: Change = "holds"
    quote: str
    subject: str = "self"
    duration: Duration = "lasting"
    until: date | None = None


class Wrong(_Strict):
    """What a weak model takes from a message. value: None for a malformed entry."""

    key: str
    value: str | None = None
    quote: str = ""
    subject: str = "self"
    polarity: Literal["holds", "ends"] = "holds"
    duration: Duration = "lasting"
    until: date | None = None
    certainty: float = 0.9
    why: str
    line: Literal["here", "nowhere"] = "here"
    second: SecondAnswer | None = None


class May(_Strict):
    """What is true as well."""

    key: str
    value: Spellings


class Kept(_Strict):
    """What must survive word for word, and the question for it."""

    value: str
    ask: str
    kind: str = "identifier"


class Person(_Strict):
    """Somebody of the script."""

    language: str = ""
    about: str = ""


class Turn(_Strict):
    """One turn of a session; `who` and `at` come from the session."""

    user: str
    agent: str
    tool: str = ""
    trap: str = ""
    truth: list[Truth] = Field(default_factory=list)
    may: list[May] = Field(default_factory=list)
    keeps: list[Kept] = Field(default_factory=list)
    wrong: list[Wrong] = Field(default_factory=list)
    who: str = ""
    at: datetime = datetime.min.replace(tzinfo=UTC)


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
    persons: dict[str, Person] = Field(default_factory=dict, alias="people")

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

    def language_of(self, who: str) -> str:
        """Return the language of a person; "" where the script says none."""
        return self.persons[who].language if who in self.persons else ""


@dataclass(frozen=True, slots=True)
class Planted:
    """A value of the script, from when somebody tells it until they say otherwise, if they do.

    key       as it is stored.
    told_in   the turn that tells it; ended_in: the one that ends it, None for an end date.
    """

    who: str
    key: str
    spellings: Sequence[str]
    since: datetime
    told_in: Turn
    until: datetime | None = None
    ended: Ending = ""
    ended_in: Turn | None = None

    @property
    def is_one_of_several(self) -> bool:
        """Whether other values of its key stand beside it."""
        return fact_keys.has_several_values(self.key)


def read(path: Path) -> Month:
    """Read the script of a file. Raises Malformed, which names the file and what is wrong."""
    try:
        return Month.model_validate_json(path.read_text("utf-8-sig"))
    except (OSError, ValidationError) as error:
        raise Malformed(f"{path}: {error}") from error


def planted(month: Month) -> list[Planted]:
    """Return every value of the script, in the order in which they are told."""
    values: list[Planted] = []
    for turn in month.turns:
        for truth in turn.truth:
            key = fact_keys.normalize_key(truth.key) or truth.key
            live = [one for one in values if (one.who, one.key) == (turn.who, key) and _holds_at(one, turn.at)]
            if truth.change == "ends":
                _end(values, _meant(truth, live), turn, "retracted")
            elif truth.duration in ("lasting", "until"):
                _tell(values, live, turn, key, truth, month)
    return sorted(values, key=lambda value: value.since)


def plain(text: str) -> str:
    """Return the text as it is compared: forms of letters and of quotation marks aside."""
    return unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")


def words(text: str) -> list[str]:
    """Return its words, marks aside."""
    return [word.strip("'") for word in _WORD.findall(plain(text))]


def _tell(values: list[Planted], live: Sequence[Planted], turn: Turn, key: str, truth: Truth, month: Month) -> None:
    end = None
    if truth.until is not None and truth.duration == "until":
        end = datetime.combine(truth.until, time(), month.begins.tzinfo) + timedelta(days=1)
    same = next((one for one in live if _shares_spelling(one, truth.value)), None)
    if same is not None:
        if end is not None:
            values[values.index(same)] = replace(same, until=end, ended="expired")
        return
    _end(values, list(_replaced(live, turn, truth)), turn, "corrected" if truth.change == "corrects" else "changed")
    values.append(Planted(turn.who, key, truth.value, turn.at, turn, end, "expired" if end else ""))


def _replaced(live: Sequence[Planted], turn: Turn, truth: Truth) -> Iterator[Planted]:
    """Yield the values whose place the new one takes."""
    if truth.change == "corrects" and live and live[0].is_one_of_several:
        yield live[-1]
    elif truth.duration == "lasting":
        yield from (one for one in live if one.told_in is not turn and not one.is_one_of_several)


def _meant(truth: Truth, live: Sequence[Planted]) -> list[Planted]:
    """Return the values that an end means: those that it names, otherwise the only one."""
    named = [one for one in live if _shares_spelling(one, truth.value)]
    return named or (list(live) if len(live) == 1 else [])


def _end(values: list[Planted], gone: Sequence[Planted], turn: Turn, ended: Ending) -> None:
    for one in gone:
        values[values.index(one)] = replace(one, until=turn.at, ended=ended, ended_in=turn)


def _holds_at(value: Planted, at: datetime) -> bool:
    return value.until is None or value.until > at


def _shares_spelling(value: Planted, spellings: Sequence[str]) -> bool:
    return not set(map(plain, value.spellings)).isdisjoint(map(plain, spellings))
