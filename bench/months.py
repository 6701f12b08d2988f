"""Scripts of months: what people tell an agent of themselves, change and take back, as `bench.memory` plays it.

    {"name": "A month at the site desk",
     "begins": "2026-03-02T00:00:00+05:30",
     "sessions": [
       {"who": "priya",                    whose; a name is a person, with one phone
        "channel": "whatsapp",             or "web". All of one person's on whatsapp are one thread that goes on; each
                                           on the web is a conversation of its own
        "day": 9, "at": "18:45",           days after the beginning, and the time of the first turn
        "every": 60,                       seconds from one turn to the next (default 60)
        "shared": false,                   others may read it (default false)
        "turns": [
          {"user": "I live in Chennai.", "agent": "Noted.",
           "tool": "...",                  what a tool says in this turn, before the reply
           "tells": {"city": "Chennai"},   facts of the person that the user says here. A name that was told before with
                                           another value has changed; with the same one it is said again. A list holds
                                           spellings of one value: ["Hindi", "..."]
           "retracts": ["vehicle"],        facts that are so no longer, and nothing takes their place
           "may": {"family.sister": "Divya"},   true too, but counted neither way
           "keeps": [{"kind": "identifier", "value": "HB-2291-C", "ask": "What is the reference of my booking?"}],
                                           what must survive word for word, and a question that names its subject
           "model": [...],                 what a model takes from this message; by default what is told and retracted
           "wrong": [{"why": "stale", "key": "city", "value": "Chennai"}]}]}]}     and what it takes wrongly

Entries of `model` and `wrong` are {"key", "value", "confidence": 0.9, "ends": false, "lines": "here"}; with `lines`
"nowhere" they name a message that there is not, without `value` they are malformed. `why` is for the report alone.
Names of facts are keys as the product has them, or others that mean the same (`city`, `location`, `preference.floor`).
Every turn needs `user` and `agent`; everything else may be left out.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bench.talks import Malformed, Reader

CHANNELS = ("whatsapp", "web")
_SURE, _EVERY = 0.9, 60
_HOURS, _MINUTES = 24, 60


@dataclass(frozen=True, slots=True)
class Taken:
    """What a model takes from a message. value: None for an entry without one; why: what is wrong with it."""

    key: str
    value: str | None
    confidence: float = _SURE
    ends: bool = False
    nowhere: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """What must survive word for word, and what is asked for it."""

    kind: str
    value: str
    ask: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a script, with when it begins; see the module for the rest."""

    who: str
    at: datetime
    user: str
    agent: str
    tool: str = ""
    tells: dict[str, tuple[str, ...]] = field(default_factory=dict)
    retracts: tuple[str, ...] = ()
    may: dict[str, tuple[str, ...]] = field(default_factory=dict)
    keeps: tuple[Kept, ...] = ()
    model: tuple[Taken, ...] = ()
    wrong: tuple[Taken, ...] = ()


@dataclass(frozen=True, slots=True)
class Visit:
    """Turns of one person in a row."""

    who: str
    channel: str
    shared: bool
    turns: tuple[Turn, ...]

    @property
    def at(self) -> datetime:
        """When it begins."""
        return self.turns[0].at


@dataclass(frozen=True, slots=True)
class Month:
    """A script, its visits in the order of their beginning."""

    name: str
    begins: datetime
    visits: tuple[Visit, ...]

    @property
    def turns(self) -> list[Turn]:
        """All turns, in the order of their time."""
        return sorted((turn for visit in self.visits for turn in visit.turns), key=lambda turn: turn.at)

    @property
    def people(self) -> list[str]:
        """Everybody who has a say, in the order in which they came."""
        return list(dict.fromkeys(visit.who for visit in self.visits))

    @property
    def sessions(self) -> int:
        """How many conversations there are."""
        return len({one.who if one.channel == "whatsapp" else one.at for one in self.visits})


def read(path: Path) -> Month:
    """The script of a file. Malformed names the file, and the line or the turn that cannot be played."""
    try:
        given = json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise Malformed(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Malformed(f"{path}: not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise Malformed(f"{path}, line {error.lineno}, column {error.colno}: {error.msg}") from error
    reader = Reader(str(path))
    month = reader.mapping(given, "name begins sessions")
    begins = _begins(reader, month.get("begins"))
    sessions = month.get("sessions")
    if not isinstance(sessions, list) or not sessions:
        raise reader.fail("`sessions` is a list of at least one session")
    visits = [_visit(reader.at(f"session {number}"), one, begins) for number, one in enumerate(sessions, start=1)]
    _check_retractions(reader, visits)
    return Month(str(month.get("name", "unnamed")), begins, tuple(sorted(visits, key=lambda one: one.at)))


def _begins(reader: Reader, given: Any) -> datetime:
    try:
        begins = datetime.fromisoformat(str(given))
    except ValueError:
        raise reader.fail('`begins` is a time such as "2026-03-02T00:00:00+05:30"') from None
    if begins.tzinfo is None:
        raise reader.fail("`begins` has no time zone")
    return begins


def _visit(reader: Reader, given: Any, begins: datetime) -> Visit:
    session = reader.mapping(given, "who channel day at every shared turns")
    who, channel, turns = session.get("who"), session.get("channel", "whatsapp"), session.get("turns")
    if not isinstance(who, str) or not who.strip():
        raise reader.fail("`who` names a person")
    if channel not in CHANNELS:
        raise reader.fail(f"`channel` is one of {', '.join(CHANNELS)}")
    if not isinstance(turns, list) or not turns:
        raise reader.fail("`turns` is a list of at least one turn")
    times = _times(reader, session, begins, len(turns))
    return Visit(
        who, channel, bool(session.get("shared", False)),
        tuple(
            _turn(reader.at(f"turn {number}"), one, who, at)
            for number, (one, at) in enumerate(zip(turns, times, strict=True), start=1)
        ),
    )  # fmt: skip


def _times(reader: Reader, session: dict[str, Any], begins: datetime, turns: int) -> list[datetime]:
    """When each turn of a session begins."""
    days = reader.at("day").number(session.get("day", 0))
    every = reader.at("every").number(session.get("every", _EVERY))
    at = _time(reader, session.get("at", "09:00"))
    try:
        return [begins + timedelta(days=days, seconds=place * every) + at for place in range(turns)]
    except (OverflowError, ValueError):
        raise reader.fail("its turns are in no year that there is") from None


def _time(reader: Reader, given: Any) -> timedelta:
    hours, _, minutes = str(given).partition(":")
    if not (hours.isdecimal() and minutes.isdecimal() and int(hours) < _HOURS and int(minutes) < _MINUTES):
        raise reader.fail('`at` is a time of the day such as "18:45"')
    return timedelta(hours=int(hours), minutes=int(minutes))


def _turn(reader: Reader, given: Any, who: str, at: datetime) -> Turn:
    turn = reader.mapping(given, "user agent tool tells retracts may keeps model wrong")
    if missing := [name for name in ("user", "agent") if not str(turn.get(name) or "").strip()]:
        raise reader.fail(f"`{missing[0]}` is missing")
    tells = _values(reader.at("tells"), turn.get("tells", {}))
    retracts = reader.at("retracts").texts(turn.get("retracts", []))
    right = tuple(_taken(reader.at("model"), turn["model"])) if "model" in turn else _as_told(tells, retracts)
    return Turn(
        who, at, str(turn["user"]), str(turn["agent"]), str(turn.get("tool") or ""), tells, retracts,
        _values(reader.at("may"), turn.get("may", {})), tuple(_kept(reader.at("keeps"), turn.get("keeps", []))),
        right, tuple(_taken(reader.at("wrong"), turn.get("wrong", []))),
    )  # fmt: skip


def _as_told(tells: dict[str, tuple[str, ...]], retracts: tuple[str, ...]) -> tuple[Taken, ...]:
    told = [Taken(name, spellings[0]) for name, spellings in tells.items()]
    return (*told, *(Taken(name, "", ends=True) for name in retracts))


def _values(reader: Reader, given: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(given, dict):
        raise reader.fail(f"expected an object, found {given!r:.60}")
    for name, value in given.items():
        if not all(isinstance(one, str) for one in (value if isinstance(value, list) else [value])):
            raise reader.fail(f"{name!r} is words, or a list of them")
    values = {str(name): reader.at(str(name)).texts(value) for name, value in given.items()}
    if empty := [name for name, spellings in values.items() if not any(one.strip() for one in spellings)]:
        raise reader.fail(f"{empty[0]!r} has no value")
    return values


def _kept(reader: Reader, given: Any) -> Iterator[Kept]:
    for one in _listed(reader, given):
        kept = reader.mapping(one, "kind value ask")
        if not kept.get("value") or not kept.get("ask"):
            raise reader.fail("an entry has a `value` and what to `ask` for it")
        yield Kept(str(kept.get("kind", "identifier")), str(kept["value"]), str(kept["ask"]))


def _taken(reader: Reader, given: Any) -> Iterator[Taken]:
    for one in _listed(reader, given):
        taken = reader.mapping(one, "why key value confidence ends lines")
        value = taken.get("value")
        yield Taken(
            str(taken.get("key", "")), None if value is None else str(value),
            reader.at("confidence").number(taken.get("confidence", _SURE)), bool(taken.get("ends", False)),
            taken.get("lines") == "nowhere", str(taken.get("why", "")),
        )  # fmt: skip


def _listed(reader: Reader, given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise reader.fail(f"expected a list, found {given!r:.60}")
    return given


def _check_retractions(reader: Reader, visits: list[Visit]) -> None:
    """Nobody takes back what they never said."""
    told: set[tuple[str, str]] = set()
    for turn in sorted((turn for visit in visits for turn in visit.turns), key=lambda turn: turn.at):
        told.update((turn.who, name) for name in turn.tells)
        if unknown := [name for name in turn.retracts if (turn.who, name) not in told]:
            raise reader.fail(f"{turn.who} retracts {unknown[0]!r} in {turn.user[:40]!r}, and never told it before")
