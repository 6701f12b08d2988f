"""The rules by which memory changes: what becomes of a candidate beside the fact that is known. Pure.

A fact is superseded, never overwritten: the old row keeps the time for which it was so. Only what the user said later
replaces what is known, and only when they said it in a fixed phrase, or when the model that read it is as sure as of
what it replaces, or as sure as a model can be.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from parlour.memory.facts import keys
from parlour.memory.facts.fact import FLOOR, LONGEST_VALUE, SUREST_OF_MODELS, Candidate, Decision, Known
from parlour.memory.facts.wording import holds, is_negative, stem, telling
from parlour.text.words import normalized, words

_OWN_WORDS = ("said", "edited")
_READ_BY_MODELS = ("extracted", "consolidated")

#: Rooms under which a model may put what stands under a key of the vocabulary.
_OPEN = ("preference", "about")

#: No repetition makes a fact surer than this.
_SURE = 0.99

#: How far "forget that" reaches back.
_JUST_NOW = timedelta(minutes=30)

_NUMBERS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8"}
_ARTICLES = frozenset({"the", "a", "an", "my", "our"})
_CALLABLE = re.compile(r"[+\d][\d ()./-]{6,}")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a candidate. value, confidence: those of the fact that is live then, where one is."""

    decision: Decision
    value: str = ""
    confidence: float = 0.0


def decide(candidate: Candidate, latest: Known | None) -> Verdict:
    """Compare a candidate with the newest fact of its key, live or ended; None when there never was one."""
    if candidate.confidence < FLOOR:
        return Verdict("below_floor")
    if candidate.ends:
        return _ended(candidate, latest)
    if latest is None:
        return Verdict("new", candidate.value, candidate.confidence)
    if not latest.is_live:
        is_from_before = latest.valid_until is not None and candidate.at <= latest.valid_until
        return Verdict("older") if is_from_before else Verdict("new", candidate.value, candidate.confidence)
    if is_same(candidate.value, latest.value):
        return _confirmed(candidate, latest)
    return _differing(candidate, latest)


def resolve(candidate: Candidate, live: Sequence[Known]) -> list[Candidate]:
    """Return the candidate with the key of the fact that it is about; one for each fact that it takes back, and none
    when nothing of the kind is known."""
    if candidate.ends:
        return [replace(candidate, key=fact.key, value=fact.value) for fact in _taken_back(candidate, live)]
    if candidate.origin in _READ_BY_MODELS and candidate.key.partition(".")[0] in _OPEN:
        known = [fact for fact in live if is_same(fact.value, candidate.value) and _is_that(fact, candidate)]
        return [replace(candidate, key=known[0].key)] if known else [candidate]
    return [candidate]


def is_same(first: str, second: str) -> bool:
    """Return whether two values mean the same, however they are written."""
    return normalized(first) == normalized(second) or (
        _content(first) == _content(second) and is_negative(first) == is_negative(second)
    )


def is_fuller(first: str, second: str) -> bool:
    """Return whether `first` says all that `second` says, and more."""
    return _content(first) > _content(second) and is_negative(first) == is_negative(second)


def surer(known: float, said: float) -> float:
    """Return how sure a fact is that is known and said again."""
    return max(known, min(_SURE, 1 - (1 - known) * (1 - said / 2)))


def merged_messages(known: Sequence[UUID], said: Sequence[UUID], most: int = 20) -> list[UUID]:
    """Return the messages of both, oldest first, the newest of them where they are many."""
    return list(dict.fromkeys((*known, *said)))[-most:]


def _content(value: str) -> frozenset[str]:
    if _CALLABLE.fullmatch(value.strip()):
        return frozenset({"".join(letter for letter in value if letter.isdigit())[-10:]})
    return frozenset(_NUMBERS.get(word, stem(word)) for word in telling(value))


def _is_that(fact: Known, candidate: Candidate) -> bool:
    """Whether a known fact of the same value is what a model put under an open key: it stands under a key of the
    vocabulary, or in the same room, and the value itself says what it is about (a high floor, of room and of floor)."""
    room, _, what = candidate.key.partition(".")
    is_said = set(what.split("_")) <= set(words(candidate.value))
    return fact.key in keys.KEYS or (is_said and fact.key.partition(".")[0] == room)


def _taken_back(candidate: Candidate, live: Sequence[Known]) -> list[Known]:
    if candidate.everything:
        return list(live)
    if candidate.key:
        return [fact for fact in live if fact.key == candidate.key and _is_about(candidate.value, fact)]
    if candidate.value:
        return _named(candidate.value, live)
    recent = [fact for fact in live if timedelta() <= candidate.at - fact.sure_at <= _JUST_NOW]
    newest = max((fact.sure_at for fact in recent), default=None)
    return [fact for fact in recent if fact.sure_at == newest]


def _is_about(told: str, fact: Known) -> bool:
    """Whether the words that take something back are the fact's, or what its key is called, and no others: who sold a
    car in Pune has not moved."""
    there, names = frozenset(words(fact.value)), keys.known_names(fact.key)
    wanted = telling(told) if told else []
    own = [word for word in wanted if holds(there, word)]
    return not wanted or (bool(own) and all(word in own or word in names for word in wanted))


def _named(told: str, live: Sequence[Known]) -> list[Known]:
    """The facts that the words name: by what their key is called, else by their value. Of several whose value they may
    be, those whose key they name too, and whose whole value they are: the Studio plan is not the Shaikh Studio."""
    spoken = frozenset(words(told)) - _ARTICLES
    by_key = [fact for fact in live if spoken <= keys.known_names(fact.key)]
    exact = [fact for fact in by_key if spoken == frozenset(fact.key.rpartition(".")[2].split("_"))]
    if exact or len(by_key) == 1:
        return exact or by_key
    by_value = [fact for fact in live if _is_about(told, fact)]
    nearness = [(bool(spoken & keys.known_names(fact.key)), is_same(fact.value, told)) for fact in by_value]
    return [fact for fact, near in zip(by_value, nearness, strict=True) if near == max(nearness)]


def _ended(candidate: Candidate, latest: Known | None) -> Verdict:
    """Words that a fact was taken from do not take it back, whatever a model reads in them."""
    if latest is None or not latest.is_live:
        return Verdict("nothing_to_end")
    if candidate.at < latest.sure_at:
        return Verdict("older", latest.value, latest.confidence)
    if candidate.origin in _READ_BY_MODELS and set(candidate.messages) <= set(latest.messages):
        return Verdict("duplicate", latest.value, latest.confidence)
    return Verdict("retracted")


def _confirmed(candidate: Candidate, latest: Known) -> Verdict:
    """Said again, it is surer; read again in the same message, it is not."""
    if set(candidate.messages) <= set(latest.messages) and candidate.origin != "edited":
        return Verdict("duplicate", latest.value, latest.confidence)
    return Verdict("same", latest.value, surer(latest.confidence, candidate.confidence))


def _differing(candidate: Candidate, latest: Known) -> Verdict:
    if candidate.at < latest.sure_at:
        return Verdict("older", latest.value, latest.confidence)
    if is_fuller(candidate.value, latest.value):
        return Verdict("refines", candidate.value, max(candidate.confidence, latest.confidence))
    if latest.key in keys.GRADED | keys.ADDITIVE and is_fuller(latest.value, candidate.value):
        return _confirmed(candidate, latest)
    both = f"{latest.value}, {candidate.value}"
    is_added = latest.key in keys.ADDITIVE and is_negative(latest.value) == is_negative(candidate.value)
    if is_added and len(both) <= LONGEST_VALUE:
        return Verdict("refines", both, candidate.confidence)
    if not _may_replace(candidate, latest):
        return Verdict("weaker", latest.value, latest.confidence)
    return Verdict("contradicts", candidate.value, candidate.confidence)


def _may_replace(candidate: Candidate, latest: Known) -> bool:
    if candidate.origin in _OWN_WORDS:
        return True
    if latest.origin == "edited" or candidate.at == latest.sure_at:
        return False
    return candidate.confidence >= min(latest.confidence, SUREST_OF_MODELS)
