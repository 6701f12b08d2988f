"""Whether the user's own messages say what somebody took from them. Pure.

A model that reads a conversation is told what counts, and may be talked out of it; this file may not. A value whose
telling words stand in none of the named messages was not the user's to say. One that stands there only in a question,
a supposition or of somebody else was not said of the user.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from parlour.memory.facts import anchored, keys, other_tongues
from parlour.memory.facts.own_text import own_text
from parlour.memory.facts.wording import holds, is_negative, plain, says, telling, words
from parlour.text.sentences import sentences

_SUPPOSED = re.compile(
    r"\b(?:if|suppose|supposing|imagine|pretend|hypothetically|let's say|lets say|for example|e\.g\.|what about|unless"
    r"|whether|i wish|as if|as though)\b"
)
_ASKED = re.compile(
    r"^(?:who|whom|whose|what|when|where|which|why|how|can|could|may|might|should|shall|will|would|do|does|did|is|are"
    r"|was|were|has|have|any)\b"
)
_OTHERS = re.compile(
    r"\b(?:my|our) (?:wife|husband|partner|son|daughter|child|kid|mother|father|mom|mum|dad|brother|sister|friend|boss"
    r"|manager|colleague|neighbou?r|uncle|aunt|cousin|client|customer|landlord|tenant|roommate|flatmate|girlfriend"
    r"|boyfriend|parents|team ?mate|assistant)s?(?:'s)?\b|^(?:he|she|they|his|her|their)\b"
    r"|^(?!(?:who|that|what|it)\b)[\w'.]+(?: [\w'.]+)? (?:lives|resides|works|stays) (?:in|at|for|as|near)\b"
)
_REPORTED = re.compile(
    r"\b(?!(?:i|we)\b)[\w'.]+ (?:said|says|told|tells|claims|claimed|states|stated|wrote|writes|reads|thinks|believes"
    r"|assumes)\b|\b(?:they|you|people|documents) (?:say|tell|claim|state|write|think|believe|assume)\b"
    r"|[,\"'] ?(?:said|says|claims|claimed|wrote|writes|thinks|believes) (?!i\b)\w+|\baccording to\b"
    r"|^as (?!i\b|we\b)\w+ (?:puts?|said|says|wrote|told)\b"
    r"|\b(?!(?:i|we)\b)\w+ (?:asks?|asked|wants?|wanted|told|tells|requested|requests) (?:me|us) to"
    r" (?:tell|say|write|inform|let|pass|ask|forward)\b"
)
_CHANGED = re.compile(
    r"\b(?:now|no longer|not any ?more|any ?more|instead|moved|shifted|relocated|switched|changed|upgraded|downgraded"
    r"|new|from now on|actually|correction|used to|since (?:last|this)|these days|left|joined|became|become|turned"
    r"|got (?:married|divorced)|update|updated|rather than|stopped|quit|started|ab|badal)\b"
    r"|\u0905\u092c|\u092c\u0926\u0932|\u0b87\u0baa\u0bcd\u0baa\u0bcb\u0ba4\u0bc1|\u0bae\u0bbe\u0bb1"
)
_ENDED = re.compile(
    r"\b(?:forget|no longer|not any ?more|any ?more|don't|do not|doesn't|isn't|aren't|am not|i'm not|stopped|quit|left"
    r"|cancel(?:led)?|delete|erase|remove|ignore|never mind|sold|gave up|given up|without|over|ended|closed|not)\b"
    r"|nahi|\u0928\u0939\u0940\u0902|\u0bae\u0bb1\u0ba8\u0bcd\u0ba4\u0bc1|\u0b87\u0bb2\u0bcd\u0bb2\u0bc8"
)
_FOR_NOW = re.compile(
    r"\b(?:until|till|this (?:week|weekend|month)|today|tonight|tomorrow|visiting|travell?ing|passing through"
    r"|for (?:an?|the|two|three|\d+) (?:few )?(?:hours?|days?|weeks?|nights?|weekend)"
    r"|on (?:holiday|vacation|leave|an? (?:\w+ )?(?:trip|visit|tour)))\b"
)
_FOR_GOOD = re.compile(r"\b(?:live|living|moved|shifted|relocated|settled|reside|home|based)\b")
_WHEREABOUTS = frozenset({"city", "home_town", "address"})
"""Where somebody is for some days is not where they live."""

_LITTLE = frozenset({"in", "at", "by", "to", "be", "on", "for", "own", "is", "with", "time", "works", "current"})
"""Words in the names of keys that name nothing by themselves."""

_QUESTION_MARKS = ("?", "\u061f", "\uff1f")
_ASIDE = re.compile(
    r",? (?:if (?:you can|you could|possible|you like|you want|you don't mind|you wouldn't mind|it helps|that helps"
    r"|needed|necessary|at all possible|that's okay|that's ok|that is okay)|in case [^,.;!?]*)",
    re.IGNORECASE,
)
"""A polite or passing "if" that supposes nothing of what it stands beside."""

_BEFORE_ASKING = re.compile(
    r"\s*[,;:\u2013]\s+(?:so |and |but )?|\s+-\s+"
    r"|\s+(?:so|and|but)\s+(?=(?:can|could|do|does|is|are|will|what|when|which|how)\b)"
)
_FIRST_PERSON = re.compile(r"(?:i|we|i'm|i've|we're|we've|i'd|my|our)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:()]| - | but | and now | so | because ")


@dataclass(frozen=True, slots=True)
class Found:
    """What the messages say of a value. problem: None where they say it; changes: that it is otherwise now."""

    problem: Literal["not_users_own", "not_stated"] | None = None
    changes: bool = False


def evidence(key: str, value: str, bodies: Sequence[str], *, ends: bool = False) -> Found:
    """Hold a value against the texts of the user's own messages that it was taken from; `ends`: it is taken back."""
    said = [sentence for body in bodies for sentence in sentences(own_text(body))]
    wanted = telling(value)
    about = [one for one in said if _has_some(one, wanted)]
    if ends:
        return _taken_back(key, value, said)
    if not wanted or not says("\n".join(about), value):
        return Found("not_users_own")
    fitting = [part for one in about for part in statements(one) if _is_of_user(part, key, value)]
    if not fitting or not says("\n".join(fitting), value):
        return Found("not_stated")
    return Found(changes=any(_CHANGED.search(plain(one)) for one in fitting))


def statements(sentence: str) -> list[str]:
    """The parts of a sentence that say something of its speaker: the whole, or what they say before they ask; none of
    what is supposed or reported."""
    text = _ASIDE.sub("", sentence)
    if is_stated(text):
        return [text]
    if not text.rstrip(" \"')").endswith(_QUESTION_MARKS):
        return []
    said: list[str] = []
    for part in _BEFORE_ASKING.split(text):
        if not _FIRST_PERSON.match(part) or not is_stated(part):
            break
        said.append(part)
    return said


def is_stated(sentence: str) -> bool:
    """Whether a sentence says something of its speaker: it asks nothing, supposes nothing, reports nothing."""
    spoken = plain(sentence)
    return not (
        spoken.rstrip(" \"')").endswith(_QUESTION_MARKS)
        or _ASKED.match(spoken)
        or _SUPPOSED.search(spoken)
        or _REPORTED.search(spoken)
        or other_tongues.ASKED.search(spoken)
        or other_tongues.SUPPOSED.search(spoken)
        or other_tongues.REPORTED.search(spoken)
    )


def _is_of_user(stated: str, key: str, value: str) -> bool:
    clause = _clause(stated, value)
    of_others = key.partition(".")[0] not in ("family", "contact") and _is_of_others(plain(clause), value)
    is_own = anchored.is_named(stated, value) if key in ("name", "called") else True
    is_lasting = _is_lasting(plain(stated), key) and is_own and anchored.is_speakers(stated, clause, key, value)
    return is_lasting and not of_others and is_negative(clause) == is_negative(value)


def _is_of_others(clause: str, value: str) -> bool:
    """Whether the value is said of somebody else: who lives in Pune with their wife lives there, and who says
    that their wife does says nothing of themselves."""
    found = _OTHERS.search(clause)
    if found is None:
        return other_tongues.is_of_others(clause)
    before = clause[: found.start()]
    is_speakers = any(_FIRST_PERSON.match(word) for word in before.split())
    return not (is_speakers and any(word in before for word in telling(value)))


def _is_lasting(stated: str, key: str) -> bool:
    return key not in _WHEREABOUTS or not _FOR_NOW.search(stated) or bool(_FOR_GOOD.search(stated))


def _clause(sentence: str, value: str) -> str:
    """The part of a sentence that has most of the value's words; the whole, where they are spread."""
    wanted = telling(value)
    parts = [one for one in _CLAUSE.split(sentence) if one and _has_some(one, wanted)]
    whole = [one for one in parts if says(one, value)]
    return whole[-1] if whole else sentence


def _has_some(sentence: str, wanted: Sequence[str]) -> bool:
    there = frozenset(words(sentence))
    return any(holds(there, word) for word in wanted) or any(
        word in plain(sentence) for word in wanted if len(word) > 1
    )


def _is_ended(spoken: str, key: str) -> bool:
    """Whether an ending word is there; who has left a place may be back in the evening."""
    if key not in _WHEREABOUTS:
        return _ENDED.search(spoken) is not None
    ended = {one[0] for one in _ENDED.finditer(spoken)}
    return bool(ended) and (ended != {"left"} or "for good" in spoken)


def _taken_back(key: str, value: str, said: Sequence[str]) -> Found:
    """Something is taken back where the user says an ending word beside what the fact, or its key, is called."""
    wanted, names = telling(value), keys.known_names(key) - _LITTLE
    for one in said:
        is_named = bool(names & frozenset(words(one))) or (bool(wanted) and says(one, value))
        if is_named and _is_ended(plain(one), key) and statements(one):
            return Found(changes=True)
    return Found("not_stated")
