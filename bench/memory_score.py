"""What came of a played month, held against its script: the figures of `bench.memory`, and every miss by name. Pure.

A row of memory is of a planted value when it is of its person, has all words of one of its spellings in its value (of a
preference also in its key), and does not stand under a key of the vocabulary that means something else.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bench.months import Month, Turn
from parlour.memory.facts import keys

_WORD = re.compile(r"[^\s.,;:!?()\"\u201c\u201d]+")
_NOT = frozenset(["no", "not", "never", "dislikes", "hate", "can't", "cannot", "don't", "dont", "isn't", "doesn't"])


@dataclass(frozen=True, slots=True)
class Planted:
    """A value that the script has, from when somebody tells it, in `text`, until they say otherwise, if they do."""

    who: str
    name: str
    spellings: tuple[str, ...]
    since: datetime
    until: datetime | None = None
    ended: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A row of memory. served: when the turns began whose prompts it stood in."""

    id: str
    who: str
    key: str
    value: str
    origin: str
    valid_from: datetime
    valid_until: datetime | None = None
    ended: str = ""
    superseded_by: str = ""
    served: tuple[datetime, ...] = ()


@dataclass(frozen=True, slots=True)
class Survival:
    """What became of something that must survive: whether a later prompt has it as it is, or once a question names its
    subject. compactions: of its conversation, since it was said."""

    who: str
    kind: str
    value: str
    ask: str
    compactions: int
    in_prompt: bool
    recalled: bool


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of something that was proposed: for whom, of which message's words, under which key."""

    who: str
    text: str
    key: str
    decision: str


@dataclass(slots=True)
class Scored:
    """The figures, and every miss: its kind, and what happened in words."""

    figures: dict[str, object]
    misses: list[tuple[str, str]] = field(default_factory=list)


def planted(month: Month) -> list[Planted]:
    """Every value of the script, in the order in which they are told."""
    live: dict[tuple[str, str], Planted] = {}
    over: list[Planted] = []
    for turn in month.turns:
        for name in turn.retracts:
            over += _ended(live, turn, name, "retracted")
        for name, spellings in turn.tells.items():
            known = live.get((turn.who, name))
            if known is not None and _alike(known.spellings, spellings):
                continue
            over += _ended(live, turn, name, "changed")
            live[turn.who, name] = Planted(turn.who, name, spellings, turn.at, text=turn.user)
    return sorted([*over, *live.values()], key=lambda one: one.since)


def score(month: Month, facts: Sequence[Fact], survived: Sequence[Survival], decided: Sequence[Decided]) -> Scored:
    """All figures of one way of remembering."""
    values = planted(month)
    of = {fact.id: _value_of(fact, values) for fact in facts}
    scored = Scored({})
    wrong = [fact for fact in facts if of[fact.id] is None and not _may_be(fact, month)]
    counted = [fact for fact in facts if of[fact.id] is not None or fact in wrong]
    found = {id(one) for one in of.values() if one is not None}
    retired = list(_wrongly_retired(facts, of))
    extra, remembered = _duplicates(facts, of)
    tried = [one for one in survived if one.compactions] or survived
    served = [
        (fact, [at for at in fact.served if _is_stale(of[fact.id], _begun(month, fact.who, at))]) for fact in facts
    ]
    stale = [(fact, at) for fact, at in served if at]
    scored.figures = {
        "extraction": {
            "precision": _share(len(counted) - len(wrong), len(counted)),
            "recall": _share(sum(id(one) in found for one in values), len(values)),
        },
        "wrong_retirements": len(retired),
        "duplicates_per_fact": _share(len(extra), remembered, none=0.0),
        "stale_served": sum(len(at) for _, at in stale),
        "identifiers_survived": _share(sum(one.in_prompt or one.recalled for one in tried), len(tried)),
        "identifiers": {
            "planted": len(tried),
            "in_prompt": _share(sum(one.in_prompt for one in tried), len(tried)),
            "recalled": _share(sum(one.recalled for one in tried), len(tried)),
            "compactions": min((one.compactions for one in tried), default=0),
        },
        "values_planted": len(values),
        "facts_stored": len(facts),
        "decisions": dict(sorted(Counter(one.decision for one in decided).items())),
    }
    scored.misses += [("not found", _why(one, month, decided)) for one in values if id(one) not in found]
    scored.misses += [("not so", f"{_named(fact)} was kept ({fact.origin})") for fact in wrong]
    scored.misses += [("wrongly retired", line) for line in retired]
    scored.misses += [("twice", f"{_named(fact)} stands beside another row") for fact in extra]
    scored.misses += [("stale", _stale(fact, at, of[fact.id], month, decided)) for fact, at in stale]
    scored.misses += [
        ("lost", f"{one.who}: {one.kind} {one.value!r}, asked: {one.ask}")
        for one in tried
        if not (one.in_prompt or one.recalled)
    ]
    return scored


def holds(text: str, value: str) -> bool:
    """Whether a prompt has the value as it was written, spaces and group marks aside."""
    return _squashed(value) in _squashed(text)


def _ended(live: dict[tuple[str, str], Planted], turn: Turn, name: str, how: str) -> list[Planted]:
    known = live.pop((turn.who, name), None)
    if known is None:
        return []
    return [replace(known, until=turn.at, ended=how)]


def _alike(known: Sequence[str], said: Sequence[str]) -> bool:
    return not {_plain(one) for one in known}.isdisjoint(_plain(one) for one in said)


def _value_of(fact: Fact, values: Sequence[Planted]) -> Planted | None:
    """The planted value that the row is of: one that held when it was said, best one of the same key."""
    fitting = [one for one in values if one.who == fact.who and _says(fact, one.name, one.spellings, one.text)]
    fitting = [one for one in fitting if one.until is None or fact.valid_from < one.until]
    return max(fitting, key=lambda one: (keys.key_of(one.name) == fact.key, one.since), default=None)


def _says(fact: Fact, name: str, spellings: Sequence[str], text: str) -> bool:
    """Whether the row says the value. What is denied is said where its user denied something, too."""
    meant = keys.key_of(name)
    if meant != fact.key and meant in keys.KEYS and fact.key in keys.KEYS:
        return False
    room, _, what = fact.key.partition(".")
    own = {*_words(fact.value), *(_words(what.replace("_", " ")) if room == "preference" else ())}
    for spelling in spellings:
        wanted = set(_words(spelling))
        denied = bool(_NOT & own) == bool(_NOT & wanted) or (bool(_NOT & own) and not _NOT.isdisjoint(_words(text)))
        if wanted and wanted <= own and denied:
            return True
    return False


def _may_be(fact: Fact, month: Month) -> bool:
    """Whether it is true as well, though nobody counts it."""
    return any(
        turn.who == fact.who and _says(fact, name, spellings, turn.user)
        for turn in month.turns
        for name, spellings in turn.may.items()
    )


def _wrongly_retired(facts: Sequence[Fact], of: Mapping[str, Planted | None]) -> Iterator[str]:
    """Values that were ended while they held, and that no other row goes on with."""
    for fact in facts:
        one, ended = of[fact.id], fact.valid_until
        if one is None or ended is None or (one.until is not None and one.until <= ended):
            continue
        if not any(_goes_on(other, one, of, ended) for other in facts if other.id != fact.id):
            after = next((_named(other) for other in facts if other.id == fact.superseded_by), "nothing")
            yield f"{_named(fact)} was {fact.ended}; in its place is {after}"


def _goes_on(other: Fact, one: Planted, of: Mapping[str, Planted | None], ended: datetime) -> bool:
    return (
        of[other.id] is one and other.valid_from <= ended and (other.valid_until is None or other.valid_until > ended)
    )


def _duplicates(facts: Sequence[Fact], of: Mapping[str, Planted | None]) -> tuple[list[Fact], int]:
    """Live rows beyond the first of a planted fact, and of how many facts there is one."""
    first: dict[tuple[str, str], Fact] = {}
    extra: list[Fact] = []
    for fact in facts:
        one = of[fact.id]
        if fact.valid_until is None and one is not None and first.setdefault((one.who, one.name), fact) is not fact:
            extra.append(fact)
    return extra, len(first)


def _begun(month: Month, who: str, at: datetime) -> datetime:
    """When the script's turn began that the product worked on at that time."""
    return max((turn.at for turn in month.turns if turn.who == who and turn.at <= at), default=at)


def _is_stale(one: Planted | None, at: datetime) -> bool:
    """Whether the turn that began then was told what the user had said otherwise in an earlier one."""
    return one is not None and one.until is not None and one.until < at


def _stale(
    fact: Fact, served: Sequence[datetime], one: Planted | None, month: Month, decided: Sequence[Decided]
) -> str:  # fmt: skip
    """How often a fact was told that was over, after which words, and what ended it at last."""
    until = one.until if one else None
    turn = next((turn for turn in month.turns if turn.who == fact.who and turn.at == until), None)
    if one is None or turn is None or until is None:
        return _named(fact)
    ended = f"then it was {fact.ended}" if fact.valid_until else "it is live still"
    return (
        f"{_named(fact)} was told {len(served)} times after {turn.user[:90]!r}: {_read(turn, decided)};"
        f" the last time {(max(served) - until).total_seconds() / 60:.0f} minutes later; {ended}"
    )


def _why(one: Planted, month: Month, decided: Sequence[Decided]) -> str:
    """What became of a value that is in no row."""
    turn = next(turn for turn in month.turns if turn.who == one.who and turn.at == one.since)
    return f"{one.who}: {one.name} = {one.spellings[0]!r} in {turn.user[:80]!r}: {_read(turn, decided)}"


def _read(turn: Turn, decided: Sequence[Decided]) -> str:
    """What was made of a message's words."""
    codes = [
        f"{each.key or '?'}: {each.decision}" for each in decided if each.who == turn.who and each.text == turn.user
    ]
    if codes:
        return f"decided {', '.join(dict.fromkeys(codes))}"
    return "no rule reads it, and no model was there or proposed anything"


def _named(fact: Fact) -> str:
    return f"{fact.who}: {fact.key} = {fact.value!r}"


def _share(part: int, whole: int, none: float = 1.0) -> float:
    return round(part / whole, 3) if whole else none


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")


def _words(text: str) -> list[str]:
    return [word.strip("'") for word in _WORD.findall(_plain(text))]


def _squashed(text: str) -> str:
    return re.sub(r"[\s,]", "", _plain(text))
