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

from parlour.memory.facts import fact_keys
from parlour.memory.facts.fact import (
    MAX_MODEL_CONFIDENCE,
    MAX_VALUE_CHARS,
    MIN_CONFIDENCE,
    FactCandidate,
    FactDecision,
    KnownFact,
)
from parlour.text.word_matching import contains_word, informative_words, is_negated, singular
from parlour.text.words import normalize, words

_USER_ORIGINS = ("stated", "edited")
_MODEL_ORIGINS = ("extracted", "consolidated")

#: Rooms under which a model may put what stands under a key of the vocabulary.
_OPEN_NAMESPACES = ("preference", "about")

#: No repetition makes a fact surer than this.
_MAX_REPEATED_CONFIDENCE = 0.99

#: How far "forget that" reaches back.
_FORGET_THAT_WINDOW = timedelta(minutes=30)

_NUMBER_WORDS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8"}
_ARTICLES = frozenset({"the", "a", "an", "my", "our"})
_PHONE_NUMBER = re.compile(r"[+\d][\d ()./-]{6,}")


@dataclass(frozen=True, slots=True)
class MergeVerdict:
    """What becomes of a candidate. value, confidence: those of the fact that is live then, where one is."""

    decision: FactDecision
    value: str = ""
    confidence: float = 0.0


def decide(candidate: FactCandidate, latest: KnownFact | None) -> MergeVerdict:
    """Compare a candidate with the newest fact of its key, live or ended; None when there never was one."""
    if candidate.confidence < MIN_CONFIDENCE:
        return MergeVerdict("low_confidence")
    if candidate.is_retraction:
        return _retraction_verdict(candidate, latest)
    if latest is None:
        return MergeVerdict("new", candidate.value, candidate.confidence)
    if not latest.is_live:
        is_from_before = latest.valid_until is not None and candidate.stated_at <= latest.valid_until
        return MergeVerdict("older") if is_from_before else MergeVerdict("new", candidate.value, candidate.confidence)
    if is_same_value(candidate.value, latest.value):
        return _confirmation_verdict(candidate, latest)
    return _conflict_verdict(candidate, latest)


def resolve_keys(candidate: FactCandidate, live_facts: Sequence[KnownFact]) -> list[FactCandidate]:
    """Return the candidate with the key of the fact that it is about; one for each fact that it takes back, and none
    when nothing of the kind is known."""
    if candidate.is_retraction:
        return [replace(candidate, key=fact.key, value=fact.value) for fact in _retracted_facts(candidate, live_facts)]
    if candidate.origin in _MODEL_ORIGINS and candidate.key.partition(".")[0] in _OPEN_NAMESPACES:
        known = [
            fact
            for fact in live_facts
            if is_same_value(fact.value, candidate.value) and _is_same_subject(fact, candidate)
        ]
        return [replace(candidate, key=known[0].key)] if known else [candidate]
    return [candidate]


def is_same_value(value: str, other: str) -> bool:
    """Return whether two values mean the same, however they are written."""
    return normalize(value) == normalize(other) or (
        _content_stems(value) == _content_stems(other) and is_negated(value) == is_negated(other)
    )


def is_more_specific(value: str, other: str) -> bool:
    """Return whether `first` says all that `second` says, and more."""
    return _content_stems(value) > _content_stems(other) and is_negated(value) == is_negated(other)


def combined_confidence(known_confidence: float, stated_confidence: float) -> float:
    """Return how sure a fact is that is known and said again."""
    return max(
        known_confidence, min(_MAX_REPEATED_CONFIDENCE, 1 - (1 - known_confidence) * (1 - stated_confidence / 2))
    )


def merge_message_ids(known_ids: Sequence[UUID], stated_ids: Sequence[UUID], limit: int = 20) -> list[UUID]:
    """Return the messages of both, oldest first, the newest of them where they are many."""
    return list(dict.fromkeys((*known_ids, *stated_ids)))[-limit:]


def _content_stems(value: str) -> frozenset[str]:
    if _PHONE_NUMBER.fullmatch(value.strip()):
        return frozenset({"".join(letter for letter in value if letter.isdigit())[-10:]})
    return frozenset(_NUMBER_WORDS.get(word, singular(word)) for word in informative_words(value))


def _is_same_subject(fact: KnownFact, candidate: FactCandidate) -> bool:
    """Whether a known fact of the same value is what a model put under an open key: it stands under a key of the
    vocabulary, or in the same room, and the value itself says what it is about (a high floor, of room and of floor)."""
    room, _, what = candidate.key.partition(".")
    is_said = set(what.split("_")) <= set(words(candidate.value))
    return fact.key in fact_keys.VOCABULARY or (is_said and fact.key.partition(".")[0] == room)


def _retracted_facts(candidate: FactCandidate, live_facts: Sequence[KnownFact]) -> list[KnownFact]:
    if candidate.retracts_everything:
        return list(live_facts)
    if candidate.key:
        return [
            fact for fact in live_facts if fact.key == candidate.key and _is_retraction_text_of(candidate.value, fact)
        ]
    if candidate.value:
        return _facts_named_by(candidate.value, live_facts)
    recent = [
        fact
        for fact in live_facts
        if timedelta() <= candidate.stated_at - fact.last_confirmed_at <= _FORGET_THAT_WINDOW
    ]
    newest = max((fact.last_confirmed_at for fact in recent), default=None)
    return [fact for fact in recent if fact.last_confirmed_at == newest]


def _is_retraction_text_of(text: str, fact: KnownFact) -> bool:
    """Whether the words that take something back are the fact's, or what its key is called, and no others: who sold a
    car in Pune has not moved."""
    there, names = frozenset(words(fact.value)), fact_keys.key_words(fact.key)
    wanted = informative_words(text) if text else []
    own = [word for word in wanted if contains_word(there, word)]
    return not wanted or (bool(own) and all(word in own or word in names for word in wanted))


def _facts_named_by(text: str, live_facts: Sequence[KnownFact]) -> list[KnownFact]:
    """Return the facts that the words name: by their key, otherwise by their value.

    Of several matching values, prefer those whose key is named, too, and whose whole value matches: "the Studio plan"
    is not "Shaikh Studio".
    """
    spoken = frozenset(words(text)) - _ARTICLES
    by_key = [fact for fact in live_facts if spoken <= fact_keys.key_words(fact.key)]
    exact = [fact for fact in by_key if spoken == frozenset(fact.key.rpartition(".")[2].split("_"))]
    if exact or len(by_key) == 1:
        return exact or by_key
    by_value = [fact for fact in live_facts if _is_retraction_text_of(text, fact)]
    nearness = [(bool(spoken & fact_keys.key_words(fact.key)), is_same_value(fact.value, text)) for fact in by_value]
    return [fact for fact, near in zip(by_value, nearness, strict=True) if near == max(nearness)]


def _retraction_verdict(candidate: FactCandidate, latest: KnownFact | None) -> MergeVerdict:
    """Words that a fact was taken from do not take it back, whatever a model reads in them."""
    if latest is None or not latest.is_live:
        return MergeVerdict("nothing_to_retract")
    if candidate.stated_at < latest.last_confirmed_at:
        return MergeVerdict("older", latest.value, latest.confidence)
    if candidate.origin in _MODEL_ORIGINS and set(candidate.message_ids) <= set(latest.message_ids):
        return MergeVerdict("duplicate", latest.value, latest.confidence)
    return MergeVerdict("retracted")


def _confirmation_verdict(candidate: FactCandidate, latest: KnownFact) -> MergeVerdict:
    """Said again, it is surer; read again in the same message, it is not."""
    if set(candidate.message_ids) <= set(latest.message_ids) and candidate.origin != "edited":
        return MergeVerdict("duplicate", latest.value, latest.confidence)
    return MergeVerdict("same", latest.value, combined_confidence(latest.confidence, candidate.confidence))


def _conflict_verdict(candidate: FactCandidate, latest: KnownFact) -> MergeVerdict:
    if candidate.stated_at < latest.last_confirmed_at:
        return MergeVerdict("older", latest.value, latest.confidence)
    if is_more_specific(candidate.value, latest.value):
        return MergeVerdict("refines", candidate.value, max(candidate.confidence, latest.confidence))
    if latest.key in fact_keys.REFINABLE_KEYS | fact_keys.MULTI_VALUE_KEYS and is_more_specific(
        latest.value, candidate.value
    ):
        return _confirmation_verdict(candidate, latest)
    both = f"{latest.value}, {candidate.value}"
    is_added = latest.key in fact_keys.MULTI_VALUE_KEYS and is_negated(latest.value) == is_negated(candidate.value)
    if is_added and len(both) <= MAX_VALUE_CHARS:
        return MergeVerdict("refines", both, candidate.confidence)
    if not _can_replace(candidate, latest):
        return MergeVerdict("weaker", latest.value, latest.confidence)
    return MergeVerdict("contradicts", candidate.value, candidate.confidence)


def _can_replace(candidate: FactCandidate, latest: KnownFact) -> bool:
    if candidate.origin in _USER_ORIGINS:
        return True
    if latest.origin == "edited" or candidate.stated_at == latest.last_confirmed_at:
        return False
    return candidate.confidence >= min(latest.confidence, MAX_MODEL_CONFIDENCE)
