"""The obvious facts of a message, found by rules: what somebody says of themselves in so many words. Pure.

What is found here is written with the turn's reply, without a model. Whatever is asked, supposed, reported or quoted is
nobody's fact; what a rule does not understand is left to whoever reads the conversation later.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.memory.facts import keys, said_rules, sensitive
from parlour.memory.facts.evidence import statements
from parlour.memory.facts.fact import LONGEST_VALUE, Candidate
from parlour.memory.facts.own_text import own_text
from parlour.memory.facts.said_endings import ENDINGS
from parlour.memory.facts.said_rules import Rule
from parlour.memory.facts.said_values import EVERYTHING, cleaned, topic
from parlour.memory.facts.wording import plain, sentences, telling, words
from parlour.models.words import vocabulary

MOST = 12
"""Facts of one message; who says more is telling a story."""

_LEAD = re.compile(
    r"^(?:(?:hi|hello|hey|namaste|vanakkam|good (?:morning|afternoon|evening)|thanks|thank you|ok|okay|yes|yeah|sure"
    r"|well|also|and|but|so|btw|by the way|fyi|oh|please note(?: that)?|note|just so you know|to be clear|actually"
    r"|sorry|no)(?: there| again| so much| a lot)?\s*[,!.:\u2013-]*\s+)+",
    re.IGNORECASE,
)
_TITLE = re.compile(r"\b((?:Mr|Mrs|Ms|Dr|St|Prof|Smt|Sri|Shri))\.(?=\s)")
_REQUEST = re.compile(
    r"^(?:can|could|would|will|can't) (?:you|we) (?:please |kindly |just )?(?=(?:reply|answer|write|speak|talk|chat"
    r"|respond|switch|continue|call me|remember|note|forget|delete|erase|contact me|reach me|stop|always|only)\b)",
    re.IGNORECASE,
)
"""A question that is none: what follows is asked for."""

_CONFIRMS = re.compile(r"\b(?:also|too|as well|in addition|another)\b", re.IGNORECASE)
_CHANGES = re.compile(
    r"\b(?:now|new|from now on|instead|actually|no longer|any ?more|changed|these days)\b", re.IGNORECASE
)


_CALLED = frozenset({"city", "home_town", "company", "job"})
"""What has a name of its own: a city that is flooded is called something else."""

_SOMEBODY = vocabulary(
    "wife husband partner spouse son daughter child kid kids baby mother father mom mum dad brother sister friend "
    "friends boss manager colleague colleagues client clients customer customers landlord tenant roommate flatmate "
    "girlfriend boyfriend parents teammate neighbour neighbor uncle aunt cousin grandson granddaughter nephew niece"
)
"""What my colleague is on is theirs."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """A message of a user's: its text as it came, and when they sent it."""

    id: UUID
    text: str
    at: datetime


def said(messages: Sequence[Utterance]) -> list[Candidate]:
    """What the messages say of their writer, in the order in which they say it."""
    found: list[Candidate] = []
    for message in messages:
        text = _TITLE.sub(r"\1", own_text(message.text).replace("\u2019", "'"))
        told = [one for sentence in sentences(text) for one in _of(sentence)]
        found += [one.candidate(message) for one in _once(told)[:MOST]]
    return found


def preload() -> None:
    """Make the rules' patterns, which takes a tenth of a second."""
    for rule in (*said_rules.RULES, *ENDINGS):
        said_rules.compiled(rule.pattern)


@dataclass(frozen=True, slots=True)
class _Told:
    """Something that a sentence says."""

    key: str
    value: str
    confidence: float
    ends: bool = False
    everything: bool = False
    instead_of: str = ""
    adds: bool = False
    changes: bool = False

    def candidate(self, message: Utterance) -> Candidate:
        return Candidate(
            self.key, self.value, self.confidence, "said", message.at, (message.id,), self.ends, self.everything,
            self.instead_of, self.adds, self.changes,
        )  # fmt: skip


def _once(told: Sequence[_Told]) -> list[_Told]:
    """Each key once in a row: the surest of what one message says of it, unless it ends something."""
    kept: dict[tuple[str, bool, str], _Told] = {}
    for one in told:
        place = (one.key, one.ends, one.value if one.ends or not one.key or one.adds else "")
        if place not in kept or kept[place].confidence <= one.confidence or one.changes:
            kept[place] = one
    return list(kept.values())


def _of(sentence: str) -> Iterator[_Told]:
    spoken = _LEAD.sub("", sentence).strip()
    request = _REQUEST.match(spoken)
    if request:
        spoken = spoken[request.end() :].rstrip("? ")
    asked_to_remember = said_rules.compiled(said_rules.REMEMBER).match(spoken)
    if asked_to_remember:
        yield from _remembered(asked_to_remember["v"].strip(" ?"))
        return
    for part in statements(spoken):
        ended = list(_ended(part))
        yield from ended
        yield from _stated(part, ended)


def _stated(spoken: str, ended: Sequence[_Told] = ()) -> Iterator[_Told]:
    """What a sentence says; not again what it takes back."""
    gone = frozenset(word for one in ended for word in telling(one.value))
    told = _plainest(list(_by_rules(spoken))) or [*_corrected(spoken), *_attribute(spoken)]
    for one in told:
        if not gone or not set(telling(one.value)) <= gone:
            yield one


def _plainest(told: Sequence[_Told]) -> list[_Told]:
    """Without wishes that a key of the vocabulary says as much of (the language, where somebody is to write in it), and
    without how many children there are where one is named."""
    children = {one.key for one in told} & {"family.son", "family.daughter", "family.child"}
    told = [one for one in told if not (children and one.key == "family.children")]
    known = [frozenset(telling(one.value)) for one in told if one.key in keys.KEYS]
    return [
        one
        for one in told
        if not one.key.startswith("preference.") or not any(part <= set(telling(one.value)) for part in known)
    ]


def _remembered(spoken: str) -> Iterator[_Told]:
    """What somebody asks to be remembered, also where no rule knows it: they said that it matters."""
    told = [one for part in statements(spoken) for one in _stated(part)]
    yield from told
    own = frozenset(words(spoken)) & {"i", "i'm", "i've", "my", "me", "we", "our", "us", "we're"}
    if not told and own and len(spoken) <= LONGEST_VALUE and not sensitive.is_sensitive("", spoken):
        named = keys.key_of(f"about.{topic(spoken)}")
        if named:
            yield _Told(named, spoken.rstrip(". "), 0.85)


def _by_rules(spoken: str) -> Iterator[_Told]:
    for rule in said_rules.RULES:
        for match in said_rules.compiled(rule.pattern).finditer(spoken):
            told = _read(rule, match, spoken)
            if told is not None:
                yield told


def _ended(spoken: str) -> Iterator[_Told]:
    for rule in ENDINGS:
        match = said_rules.compiled(rule.pattern).search(spoken)
        if match is None:
            continue
        if rule.key == EVERYTHING:
            yield _Told("", "", rule.confidence, ends=True, everything=True)
        elif not rule.as_said:
            yield _Told("", "", rule.confidence, ends=True)
        else:
            yield from _taken_back(rule, match["v"])
        return


def _taken_back(rule: Rule, value: str) -> Iterator[_Told]:
    """What is ended: by its key where the words are what a key is called, else by the words themselves."""
    named = keys.key_named(value)
    if named and rule.kind == "worded":
        return  # the budget: whose, and of what?
    if rule.key or named:
        yield _Told(rule.key or named, value if rule.key else "", rule.confidence, ends=True)
    elif telling(value):
        yield _Told("", value, rule.confidence, ends=True)


def _read(rule: Rule, match: re.Match[str], spoken: str) -> _Told | None:
    named = match.groupdict()
    value = cleaned(named["v"], rule.kind)
    if value is None:
        return None
    key = _key(rule, named, value)
    if key is None or sensitive.is_sensitive(key, value):
        return None
    instead = (named.get("u") or "").strip()
    changes = rule.changes or bool(instead) or bool(_CHANGES.search(spoken))
    return _Told(
        key, rule.as_said.format(v=value), rule.confidence, instead_of=instead,
        adds=key in keys.ADDITIVE and bool(_CONFIRMS.search(spoken)), changes=changes,
    )  # fmt: skip


def _key(rule: Rule, named: dict[str, str | None], value: str) -> str | None:
    if rule.key == "who":
        return keys.relation(named["who"] or "")
    if rule.key == "what":
        return keys.key_of(f"preference.{named['what']}")
    if rule.key:
        return rule.key
    if rule.kind == "standing":
        return keys.standing(value)
    return keys.preference(value) if rule.kind in ("preferred", "usual") else keys.liking(value)


def _corrected(spoken: str) -> Iterator[_Told]:
    """It is this and not that: what it is about, the fact says that is known."""
    for pattern, confidence in ((said_rules.CORRECTION, 0.9), (said_rules.SWITCHED, 0.85)):
        match = said_rules.compiled(pattern).search(spoken)
        value = cleaned(match["v"], "short") if match else None
        if match and value and not sensitive.is_sensitive("", value):
            yield _Told("", value, confidence, instead_of=match["u"].strip(), changes=True)


def _attribute(spoken: str) -> Iterator[_Told]:
    """My so-and-so is such-and-such, of what people have for longer than a talk."""
    for match in said_rules.compiled(said_rules.ATTRIBUTE).finditer(spoken):
        value, what = cleaned(match["v"], "short"), plain(match["what"])
        lasting = keys.lasting(what)
        is_ones_own = _SOMEBODY.isdisjoint(words(what))
        if value is None or lasting is None or not is_ones_own or sensitive.is_sensitive(what, value):
            continue
        key = keys.key_of(what.removeprefix("new ").removeprefix("current "))
        is_sure = lasting and key not in _CALLED
        if (is_sure or value[:1].isupper() or any(map(str.isdigit, value))) and key and keys.fits(key, value):
            yield _Told(key, value, 0.85 if lasting else 0.7, changes=bool(_CHANGES.search(spoken)))
