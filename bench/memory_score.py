"""What came of a played month, held against its script: the figures of `bench.memory`, and every miss by name. Pure.

A row of memory is of a planted value when it is of its person, has all words of one of its spellings in its value (of a
preference also in its key), and does not stand under a key of the vocabulary that means something else.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bench import stale
from bench.months import Month, Turn
from bench.planted import Planted, begun, ending, plain, planted, words
from bench.stale import Prompt
from parlour.memory.facts import keys

_NOT = frozenset(["no", "not", "never", "dislikes", "hate", "can't", "cannot", "don't", "dont", "isn't", "doesn't"])


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


def score(
    month: Month, facts: Sequence[Fact], survived: Sequence[Survival], decided: Sequence[Decided],
    prompts: Sequence[Prompt],
) -> Scored:  # fmt: skip
    """All figures of one way of remembering. A share of nothing is None."""
    values = planted(month)
    of = {fact.id: _value_of(fact, values) for fact in facts}
    wrong = [fact for fact in facts if of[fact.id] is None and not _may_be(fact, month)]
    counted = [fact for fact in facts if of[fact.id] is not None or fact in wrong]
    found = {id(one) for one in of.values() if one is not None}
    retired = list(_wrongly_retired(facts, of))
    extra, remembered = _duplicates(facts, of)
    served = [(fact, [at for at in fact.served if _is_over(of[fact.id], month, fact.who, at)]) for fact in facts]
    looked = stale.looked_at(month, values, prompts)
    tried = [one for one in survived if one.compactions]
    scored = Scored({
        "extraction": {
            "precision": share(len(counted) - len(wrong), len(counted)),
            "recall": share(sum(id(one) in found for one in values), len(values)),
        },
        "wrong_retirements": len(retired),
        "duplicates_per_fact": share(len(extra), remembered),
        "stale_served": sum(len(at) for _, at in served),
        "stale_in_prompt": stale.figures(looked),
        "identifiers_survived": share(sum(one.in_prompt or one.recalled for one in tried), len(tried)),
        "identifiers": _identifiers(survived, tried),
        "values_planted": len(values),
        "facts_stored": len(facts),
        "decisions": dict(sorted(Counter(one.decision for one in decided).items())),
    })  # fmt: skip
    scored.misses += [("not found", _why(one, month, decided)) for one in values if id(one) not in found]
    scored.misses += [("not so", f"{_named(fact)} was kept ({fact.origin})") for fact in wrong]
    scored.misses += [("wrongly retired", line) for line in retired]
    scored.misses += [("twice", f"{_named(fact)} stands beside another row") for fact in extra]
    scored.misses += [("stale", _stale(fact, at, of[fact.id], month, decided)) for fact, at in served if at]
    scored.misses += [("stale in prompt", line) for line in stale.misses(month, looked)]
    scored.misses += list(_lost(survived))
    return scored


def _identifiers(survived: Sequence[Survival], tried: Sequence[Survival]) -> dict[str, object]:
    return {
        "planted": len(survived),
        "tried": len(tried),
        "in_prompt": share(sum(one.in_prompt for one in tried), len(tried)),
        "recalled": share(sum(one.recalled for one in tried), len(tried)),
        "compactions": min((one.compactions for one in tried), default=0),
    }


def _lost(survived: Sequence[Survival]) -> Iterator[tuple[str, str]]:
    """What did not survive, or only for who asks, and what nothing can be said of: it went through no compaction."""
    for one in survived:
        if not one.compactions:
            yield "not tried", f"{one.who}: {one.kind} {one.value!r} went through no compaction"
        elif not (one.in_prompt or one.recalled):
            yield "lost", f"{one.who}: {one.kind} {one.value!r}, asked: {one.ask}"
        elif not one.in_prompt:
            yield "when asked", f"{one.who}: {one.kind} {one.value!r} is in the prompt only with: {one.ask}"


def holds(text: str, value: str) -> bool:
    """Whether a prompt has the value as it was written, spaces and group marks aside."""
    return _squashed(value) in _squashed(text)


def share(part: int, whole: int) -> float | None:
    """What part of the whole it is; None where there was nothing."""
    return round(part / whole, 3) if whole else None


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
    own = {*words(fact.value), *(words(what.replace("_", " ")) if room == "preference" else ())}
    for spelling in spellings:
        wanted = set(words(spelling))
        denied = bool(_NOT & own) == bool(_NOT & wanted) or (bool(_NOT & own) and not _NOT.isdisjoint(words(text)))
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


def _is_over(one: Planted | None, month: Month, who: str, at: datetime) -> bool:
    """Whether the turn that the product began then was told what its user had said otherwise in an earlier one."""
    return one is not None and one.is_over(begun(month, who, at))


def _stale(
    fact: Fact, served: Sequence[datetime], one: Planted | None, month: Month, decided: Sequence[Decided]
) -> str:  # fmt: skip
    """How often a fact was told that was over, after which words, and what ended it at last."""
    turn = ending(month, one) if one else None
    if one is None or turn is None or one.until is None:
        return _named(fact)
    ended = f"then it was {fact.ended}" if fact.valid_until else "it is live still"
    return (
        f"{_named(fact)} was told {len(served)} times after {turn.user[:90]!r}: {_read(turn, decided)};"
        f" the last time {(max(served) - one.until).total_seconds() / 60:.0f} minutes later; {ended}"
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


def _squashed(text: str) -> str:
    return re.sub(r"[\s,]", "", plain(text))
