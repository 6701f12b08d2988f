"""The rules by which memory changes: what becomes of a candidate beside the facts that are known. Pure.

A fact is superseded, never overwritten: the old row keeps the time for which it held. Only what the user said later
replaces what is known. Values of a key that has several stand beside each other, and so do values of one message. A
model's reading replaces what a rule took from the same words. What a person edited, no model changes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from parlour.memory.facts import fact_keys
from parlour.memory.facts.fact import (
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
    """What becomes of a candidate.

    value, confidence  those of the fact that is live then, where one is.
    compared           the known facts that the candidate confirms, or that end.
    """

    decision: FactDecision
    value: str = ""
    confidence: float = 0.0
    compared: tuple[KnownFact, ...] = ()


def decide(candidate: FactCandidate, known: Sequence[KnownFact]) -> MergeVerdict:
    """Compare a candidate with the live facts of its key, and with those that ended last."""
    if candidate.confidence < MIN_CONFIDENCE:
        return MergeVerdict("low_confidence")
    live = [fact for fact in known if fact.is_live]
    if candidate.is_retraction:
        return _retraction_verdict(candidate, live)
    if any(_is_from_before(candidate, fact) for fact in known):
        return MergeVerdict("older")
    for fact in live:
        verdict = _same_subject_verdict(candidate, fact)
        if verdict is not None:
            return verdict
    return _other_value_verdict(candidate, live)


def resolve_keys(candidate: FactCandidate, live_facts: Sequence[KnownFact]) -> list[FactCandidate]:
    """Return the candidate with the key of the fact that it is about; one for each fact that it takes back, and none
    when nothing of the kind is known."""
    if candidate.is_retraction:
        return [replace(candidate, key=fact.key, value=fact.value) for fact in retracted_facts(candidate, live_facts)]
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


def retracted_facts(candidate: FactCandidate, live_facts: Sequence[KnownFact]) -> list[KnownFact]:
    """Return the facts that a retraction means."""
    if candidate.retracts_everything:
        return list(live_facts)
    if candidate.key:
        of_key = [fact for fact in live_facts if fact.key == candidate.key]
        if not candidate.value:
            return of_key
        named = [fact for fact in of_key if _is_retraction_text_of(candidate.value, fact)]
        # A model may name the only one in other words.
        return of_key if not named and len(of_key) == 1 and candidate.answers else named
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


def _retraction_verdict(candidate: FactCandidate, live: Sequence[KnownFact]) -> MergeVerdict:
    """Words that a fact was taken from do not take it back, whatever a model reads in them."""
    meant = tuple(fact for fact in live if is_same_value(fact.value, candidate.value))
    if not meant:
        return MergeVerdict("nothing_to_retract")
    if any(candidate.stated_at < fact.last_confirmed_at for fact in meant):
        return MergeVerdict("older", compared=meant)
    if candidate.origin in _MODEL_ORIGINS and any(
        set(candidate.message_ids) <= set(fact.message_ids) for fact in meant
    ):
        return MergeVerdict("duplicate", compared=meant)
    return MergeVerdict("retracted", compared=meant)


def _is_from_before(candidate: FactCandidate, fact: KnownFact) -> bool:
    """Return whether the candidate was said before a fact of its key ended, and would bring it back. The words that end
    a value may tell the next one."""
    if fact.valid_until is None or candidate.stated_at > fact.valid_until:
        return False
    is_only_value = fact.member is None and candidate.stated_at < fact.valid_until
    return is_only_value or is_same_value(fact.value, candidate.value)


def _same_subject_verdict(candidate: FactCandidate, fact: KnownFact) -> MergeVerdict | None:
    """Return what becomes of a candidate that says a live fact again, more exactly or less; None when it says another
    value."""
    if is_same_value(candidate.value, fact.value):
        if candidate.holds_until not in (None, fact.holds_until) and candidate.stated_at > fact.last_confirmed_at:
            return MergeVerdict("refines", candidate.value, candidate.confidence, (fact,))
        return _confirmation_verdict(candidate, fact)
    if _is_models_reading(candidate, fact) and not candidate.stands_beside:
        return MergeVerdict("corrects", candidate.value, candidate.confidence, (fact,))
    is_later = candidate.stated_at >= fact.last_confirmed_at
    if is_more_specific(candidate.value, fact.value) and is_later:
        return MergeVerdict("refines", candidate.value, max(candidate.confidence, fact.confidence), (fact,))
    can_be_shorter = fact.key in fact_keys.REFINABLE_KEYS or fact_keys.has_several_values(fact.key)
    if can_be_shorter and is_later and is_more_specific(fact.value, candidate.value):
        return _confirmation_verdict(candidate, fact)
    return None


def _is_models_reading(candidate: FactCandidate, fact: KnownFact) -> bool:
    """Return whether a model read the very words from which a rule took the fact."""
    return (
        candidate.origin in _MODEL_ORIGINS
        and fact.origin == "stated"
        and bool(candidate.message_ids)
        and set(fact.message_ids) <= set(candidate.message_ids)
    )


def _confirmation_verdict(candidate: FactCandidate, fact: KnownFact) -> MergeVerdict:
    """Said again, it is surer; read again in the same message, it is not."""
    if set(candidate.message_ids) <= set(fact.message_ids) and candidate.origin != "edited":
        return MergeVerdict("duplicate", fact.value, fact.confidence, (fact,))
    return MergeVerdict("same", fact.value, combined_confidence(fact.confidence, candidate.confidence), (fact,))


def _other_value_verdict(candidate: FactCandidate, live: Sequence[KnownFact]) -> MergeVerdict:
    """Return what becomes of another value: it takes the place of those that it cannot stand beside."""
    rivals = tuple(fact for fact in live if not _can_stand_beside(candidate, fact))
    if not rivals:
        return MergeVerdict("new", candidate.value, candidate.confidence)
    if any(candidate.stated_at < fact.last_confirmed_at for fact in rivals):
        return MergeVerdict("older", compared=rivals)
    if candidate.origin in _MODEL_ORIGINS and any(fact.origin == "edited" for fact in rivals):
        return MergeVerdict("weaker", compared=rivals)
    return MergeVerdict("contradicts", candidate.value, candidate.confidence, rivals)


def _can_stand_beside(candidate: FactCandidate, fact: KnownFact) -> bool:
    """Return whether both values hold: of a key that has several, for a while beside a lasting one, or of one message
    that a model read."""
    if candidate.stands_beside or fact_keys.has_several_values(candidate.key):
        return True
    if candidate.holds_until is not None and fact.holds_until is None:
        return True
    return (
        candidate.origin in _MODEL_ORIGINS
        and bool(candidate.message_ids)
        and set(candidate.message_ids) == set(fact.message_ids)
    )
