"""What becomes of a candidate beside the fact that is known: the rules by which memory changes. Pure.

A fact is superseded, never overwritten: the old row keeps the time for which it was so. Only what the user said later
replaces what is known, and only when they said it in so many words, when they said that something changed, or when
whoever read it is at least as sure as of what it replaces.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from parlour.memory.facts import keys, values
from parlour.memory.facts.fact import FLOOR, Candidate, Decision, Known
from parlour.memory.facts.wording import holds, says, telling, words

_OWN_WORDS = ("said", "edited")
_READ_BY_MODELS = ("extracted", "consolidated")
_OPEN = ("preference", "about")
"""Rooms under which a model may put what stands under a key of the vocabulary."""

_SURE = 0.99
"""No repetition makes a fact surer than this."""

_MANY = frozenset({"place", "home", "number", "position", "role", "channel"})
"""What a key is called, and much else too."""

_JUST_NOW = timedelta(minutes=30)
"""How far "forget that" reaches back."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a candidate. value, confidence: those of the fact that is live then, where one is."""

    decision: Decision
    value: str = ""
    confidence: float = 0.0


def decide(candidate: Candidate, latest: Known | None) -> Verdict:
    """Hold a candidate against the newest fact of its key, live or ended; None when there never was one."""
    if candidate.confidence < FLOOR:
        return Verdict("below_floor")
    if candidate.ends:
        return _ended(candidate, latest)
    if latest is None:
        return Verdict("new", candidate.value, candidate.confidence)
    if not latest.is_live:
        return _after_the_end(candidate, latest)
    if values.same(candidate.value, latest.value):
        return _confirmed(candidate, latest)
    return _differing(candidate, latest)


def resolve(candidate: Candidate, live: Sequence[Known]) -> list[Candidate]:
    """The candidate with the key of the fact that it is about, where it says so by that fact's words; one for each
    fact that it takes back. None when nothing of the kind is known."""
    if candidate.ends:
        return [replace(candidate, key=one.key, value=one.value) for one in _taken_back(candidate, live)]
    if candidate.instead_of:
        replaced = [one for one in live if says(one.value, candidate.instead_of)]
        named = [one for one in replaced if one.key == candidate.key] or _closest(candidate.instead_of, replaced)
        if named:
            return [replace(candidate, key=named[0].key)]
    if candidate.origin in _READ_BY_MODELS and candidate.key.partition(".")[0] in _OPEN:
        known = [one for one in live if values.same(one.value, candidate.value) and _is_that(one, candidate)]
        return [replace(candidate, key=known[0].key)] if known else [candidate]
    return [candidate] if candidate.key else []


def _is_that(one: Known, candidate: Candidate) -> bool:
    """Whether a known fact of the same value is what a model put under an open key: it stands under a key of the
    vocabulary, or in the same room, and the value itself says what it is about (a high floor, of room and of floor)."""
    room, _, what = candidate.key.partition(".")
    is_said = set(what.split("_")) <= set(words(candidate.value))
    return one.key in keys.KEYS or (is_said and one.key.partition(".")[0] == room)


def _taken_back(candidate: Candidate, live: Sequence[Known]) -> list[Known]:
    if candidate.everything:
        return list(live)
    if candidate.key:
        meant = candidate.key if any(one.key == candidate.key for one in live) else keys.INSTEAD.get(candidate.key)
        return [one for one in live if one.key == meant and _is_about(candidate.value, one)]
    if not candidate.value:
        recent = [one for one in live if timedelta() <= candidate.at - one.sure_at <= _JUST_NOW]
        newest = max((one.sure_at for one in recent), default=None)
        return [one for one in recent if one.sure_at == newest]
    return _best(candidate.value, live)


def _is_about(told: str, one: Known) -> bool:
    """Whether the words that take something back are the fact's, or what its key is called, and no others: who sold a
    car in Pune has not moved."""
    there, names = frozenset(words(one.value)), keys.known_names(one.key)
    wanted = telling(told) if told else []
    own = [word for word in wanted if holds(there, word)]
    return not wanted or (bool(own) and all(word in own or word in names for word in wanted))


def _best(told: str, live: Sequence[Known]) -> list[Known]:
    """The facts that the words name: by their value, else by what their key is called. Where they end with what a key
    is called, it is a fact of that key or none: the Studio plan, once it is gone, is not the Shaikh Studio."""
    *others, last = words(told) or [""]
    of = keys.key_named(last) if others and last not in _MANY else ""
    live = [one for one in live if not of or one.key == of]
    by_value = [one for one in live if _is_about(told, one)]
    if by_value:
        return _closest(told, by_value)
    wanted = frozenset(telling(told))
    named = [one for one in live if wanted and wanted <= keys.known_names(one.key)]
    return named if len({one.key for one in named}) == 1 else [one for one in named if _is_named(one, wanted)]


def _closest(told: str, found: Sequence[Known]) -> list[Known]:
    """Of several facts that words may mean, those whose key they name, and whose whole value they are: who cancels the
    Studio plan has not left the studio."""
    spoken = frozenset(words(told))

    def nearness(one: Known) -> tuple[bool, bool]:
        return bool(spoken & keys.known_names(one.key)), values.same(one.value, told)

    best = max(map(nearness, found), default=None)
    return [one for one in found if nearness(one) == best]


def _is_named(one: Known, wanted: frozenset[str]) -> bool:
    return wanted == frozenset(one.key.rpartition(".")[2].split("_"))


def _ended(candidate: Candidate, latest: Known | None) -> Verdict:
    if latest is None or not latest.is_live:
        return Verdict("nothing_to_end")
    if candidate.at < latest.sure_at:
        return Verdict("older", latest.value, latest.confidence)
    return Verdict("retracted")


def _after_the_end(candidate: Candidate, latest: Known) -> Verdict:
    """What was said before something was taken back does not bring it back."""
    if latest.valid_until is not None and candidate.at <= latest.valid_until:
        return Verdict("older")
    return Verdict("new", candidate.value, candidate.confidence)


def _confirmed(candidate: Candidate, latest: Known) -> Verdict:
    """Said again, it is surer; read again in the same message, it is not."""
    if set(candidate.messages) <= set(latest.messages) and candidate.origin != "edited":
        return Verdict("duplicate", latest.value, latest.confidence)
    return Verdict("same", latest.value, surer(latest.confidence, candidate.confidence))


def _differing(candidate: Candidate, latest: Known) -> Verdict:
    if candidate.at < latest.sure_at:
        return Verdict("older", latest.value, latest.confidence)
    if candidate.adds and latest.key in keys.ADDITIVE:
        return Verdict("refines", values.joined(latest.value, candidate.value), candidate.confidence)
    if values.fuller(candidate.value, latest.value) and not candidate.changes:
        return Verdict("refines", candidate.value, max(candidate.confidence, latest.confidence))
    if latest.key in keys.GRADED and values.fuller(latest.value, candidate.value):
        return _confirmed(candidate, latest)
    if not _may_replace(candidate, latest):
        return Verdict("weaker", latest.value, latest.confidence)
    return Verdict("contradicts", candidate.value, candidate.confidence)


def _may_replace(candidate: Candidate, latest: Known) -> bool:
    if candidate.origin in _OWN_WORDS:
        return True
    if latest.origin == "edited" or candidate.at == latest.sure_at:
        return False
    return candidate.changes or candidate.confidence >= latest.confidence


def surer(known: float, said: float) -> float:
    """How sure a fact is that is known and said again."""
    return max(known, min(_SURE, 1 - (1 - known) * (1 - said / 2)))


def merged_messages(known: Sequence[UUID], said: Sequence[UUID], most: int = 20) -> list[UUID]:
    """The messages of both, oldest first, the newest of them where they are many."""
    return list(dict.fromkeys((*known, *said)))[-most:]
