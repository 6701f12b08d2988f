"""What a model took from a conversation, held against the user's own messages: what may be a fact, what may not, and
why. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from parlour.memory.extracting.answers import Answered, EpisodeItem, FactItem
from parlour.memory.extracting.reading import Line, Stretch
from parlour.memory.facts import evidence, keys, obvious
from parlour.memory.facts.evidence import own_text
from parlour.memory.facts.fact import SUREST_OF_MODELS, Candidate, Origin, Refusal
from parlour.memory.facts.wording import holds, says, telling
from parlour.text.sensitive import is_sensitive
from parlour.text.words import words

_OWN_SHARE = 0.5
"""Of an episode's telling words, how many are the user's."""


@dataclass(frozen=True, slots=True)
class Told:
    """An episode that holds: its text, the user's messages that it is of, and from when to when they are."""

    text: str
    messages: tuple[UUID, ...]
    from_at: datetime
    until_at: datetime


@dataclass(frozen=True, slots=True)
class Checked:
    """What holds, and what does not and why."""

    candidates: tuple[Candidate, ...]
    refusals: tuple[Refusal, ...]
    episodes: tuple[Told, ...]


def check(answered: Answered, stretch: Stretch, origin: Origin = "extracted") -> Checked:
    """Check an answer against the stretch that it was given for, together with what the user obviously takes back
    there: a fact that only a model finds may have been taken back before anybody had found it."""
    by_number = stretch.labelled()
    candidates: list[Candidate] = [one for one in obvious.find_facts(stretch.utterances) if one.ends]
    refusals: list[Refusal] = [Refusal("", "malformed", "entry") for _ in range(answered.malformed)]
    for item in answered.facts:
        found = _fact(item, by_number, origin)
        (candidates if isinstance(found, Candidate) else refusals).append(found)  # type: ignore[arg-type]
    episodes: list[Told] = []
    for told in answered.episodes:
        kept = _episode(told, by_number, stretch)
        if isinstance(kept, Told):
            episodes.append(kept)
        else:
            refusals.append(kept)
    return Checked(tuple(candidates), tuple(replace(one, origin=origin) for one in refusals), tuple(episodes))


def _fact(item: FactItem, by_number: Mapping[int, Line], origin: Origin) -> Candidate | Refusal:
    key = keys.key_of(item.key)
    named = [by_number[number] for number in item.lines if number in by_number]
    ids = tuple(line.id for line in named)
    if key is None or not (item.ends or keys.fits(key, item.value)):
        return Refusal(key or "", "malformed", "key" if key is None else "value", item.confidence, ids)
    if len(named) < len(item.lines) or not named:
        return Refusal(key, "unknown_message", "", item.confidence, ids)
    if is_sensitive(key, item.value):
        return Refusal(key, "sensitive", "", item.confidence, ids)
    problem = evidence.find_problem(key, item.value, [line.body for line in named], ends=item.ends)
    if problem is not None:
        return Refusal(key, problem, "", item.confidence, ids)
    at = max(line.at for line in _saying(named, item.value))
    return Candidate(key, item.value, min(item.confidence, SUREST_OF_MODELS), origin, at, ids, ends=item.ends)


def _saying(named: Sequence[Line], value: str) -> Sequence[Line]:
    """Of the named messages, those that say the value; all, where it takes them together."""
    return [line for line in named if says(own_text(line.body), value)] or named


def _episode(item: EpisodeItem, by_number: Mapping[int, Line], stretch: Stretch) -> Told | Refusal:
    """An episode may put things in its own words; what has a digit, and most of what tells anything, is the user's. It
    is of every turn whose reply has words of it, named or not: what that was drawn from may be closed one day."""
    named = [by_number[number] for number in item.lines if number in by_number]
    ids = tuple(line.id for line in named)
    if not named or len(named) < len(item.lines):
        return Refusal("episode", "unknown_message", "", None, ids)
    if is_sensitive("", item.text):
        return Refusal("episode", "sensitive", "", None, ids)
    own = frozenset(words("\n".join(own_text(line.body) for line in by_number.values())))
    wanted = telling(item.text)
    figures = [word for word in wanted if any(map(str.isdigit, word))]
    shared = sum(holds(own, word) for word in wanted)
    if not all(holds(own, word) for word in figures) or shared < _OWN_SHARE * len(wanted):
        return Refusal("episode", "not_users_own", "", None, ids)
    times = [line.at for line in named]
    return Told(item.text, (*ids, *_also_of(wanted, named, stretch)), min(times), max(times))


def _also_of(wanted: Sequence[str], named: Sequence[Line], stretch: Stretch) -> list[UUID]:
    """The user's messages in further turns, whose replies say what those named do not."""
    said = frozenset(words("\n".join(own_text(line.body) for line in named)))
    foreign = [word for word in wanted if not holds(said, word)]
    turns = {
        line.turn
        for line in stretch.lines
        if not line.is_users and any(holds(frozenset(words(line.body)), word) for word in foreign)
    }
    ids = {line.id for line in named}
    return [line.id for line in stretch.lines if line.is_users and line.turn in turns and line.id not in ids]


def unanswered(problem: str = "") -> Refusal:
    """What is written down of a stretch that is gone past: for this problem, or since the answer could not be read a
    second time either."""
    return Refusal("", "malformed", problem or "answer")
