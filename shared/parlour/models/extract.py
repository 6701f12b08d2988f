"""Choosing the one or two sentences of some documents that come nearest to answering a question.

Deterministic, no model. The worths below were set on 86 questions with known answers about three businesses: a building
site, a clinic and a bank; moving any one of them by a third changes at most three answers.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parlour.models.question import fit, wording
from parlour.models.words import Sentence, family, sentences, stems

MOST_QUOTES = 2

_LONGEST = 480
"""Characters; what has no end within this is cut after a word."""

_ENOUGH = 0.28
"""Of the question's weight: a sentence that shares less with it is not an answer."""

_RELATED = 0.7
"""What a related word is worth, against the question's own."""

_ABOUT = 0.8
"""What a word in the title or heading is worth, against one in the sentence itself."""

_NEAR = 0.25
"""The same for a word in the sentence before or after."""

_WORDING = 0.7
"""What the words are worth that say which form the answer has: how wide, who, the price."""

_CONTEXT = 0.35
"""What a word of the question before is worth, against one of the question itself."""

_TOLD = 0.6
"""What a word is still worth once a chosen sentence has it: further sentences should say something new."""

_AS_GOOD = 0.7
"""Of the first quote's score: what a further one must reach."""

_FITTING = 0.8
"""What it adds to have the form of an answer: a date where somebody asks when."""

_ECHO = 0.3
"""What a sentence is worth that says no more than the question: a subject line, a heading, the question itself."""

_FURTHER_DOWN = 0.06
"""What each place further down in the search results takes off: the search knows meanings, this file only words."""

_NAMED = 1.6
"""What a row or field is worth more whose own label is what was asked for."""

_ANY_FORM = 0.36
"""The same where no form is expected."""

_OTHER_FORM = 0.42
"""Of the question's weight: what a sentence must share that has not the form of an answer."""

_LABEL = re.compile(r"(?:^|; )([^\W\d_][\w /()&-]{0,30}):\s")
_SHORT = 80
"""Characters: a field or row; a longer text with a colon is a sentence."""

_RECORD = 300
"""Characters: so short a text is a record, whose terse sentences say little without its title."""

_TERSE = 5
"""Words of content."""

_BESIDE = 2
"""Sentences away: where the figure or name may stand that the best sentence leaves out."""

_POLITE = re.compile(
    r"^(?:dear|hello|hi|hey|welcome|thank you|thanks|kind regards|best (?:wishes|regards)|regards|yours|sincerely"
    r"|i hope|i was\b.*(?:today|yesterday|morning|afternoon|evening)|it was good|please find|see you"
    r"|good (?:morning|day))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Document:
    """A numbered search result; `about` is its title and whatever else names what it is about."""

    number: int
    about: str
    contents: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence, verbatim, and the number of the document it is from."""

    text: str
    number: int


@dataclass(frozen=True, slots=True)
class _Words:
    """The stems of a text, and the families they belong to."""

    stems: frozenset[str]
    families: frozenset[str]

    def have(self, stem: str) -> float:
        if stem in self.stems:
            return 1.0
        return _RELATED if family(stem) in self.families else 0.0


@dataclass(frozen=True, slots=True)
class _Candidate:
    quote: Quote
    said: _Words
    about: _Words
    near: _Words
    labels: tuple[str, ...]
    rank: int
    place: int

    @property
    def row(self) -> int:
        """Its place in a table, 0 elsewhere: of rows that fit alike the last is the newest, as in a log of readings."""
        return self.place if len(self.labels) > 1 else 0

    def has(self, stem: str) -> float:
        """How far the sentence speaks of it: by itself, by what it stands under, or by what stands beside it."""
        return max(self.said.have(stem), _ABOUT * self.about.have(stem), _NEAR * self.near.have(stem))


def quotes(asked: str, documents: Sequence[Document], context: str = "", most: int = MOST_QUOTES) -> list[Quote]:
    """The sentences that best answer the question `asked`, best first; none when nothing comes near.

    Documents count in the order given. A word weighs more the fewer sentences have it; each chosen sentence makes
    its words weigh less for the next. `context` is the question before, for one that leans on it.
    """
    candidates = _candidates(documents)
    weights = _weights(asked, context, candidates)
    fitting = _fitting(asked, weights, candidates)
    chosen: list[_Candidate] = []
    bar = 0.0
    while fitting and len(chosen) < most:
        best = max(fitting, key=lambda candidate: (_score(candidate, weights, asked), candidate.row))
        score = _score(best, weights, asked)
        if score < bar:
            break
        bar = bar or score * _AS_GOOD
        chosen.append(best)
        weights = {word: weight * (_TOLD if best.said.have(word) else 1) for word, weight in weights.items()}
        fitting = [candidate for candidate in fitting if not _repeats(candidate, best)]
    return [candidate.quote for candidate in _completed(asked, chosen, candidates, most)]


def _completed(
    asked: str, chosen: list[_Candidate], candidates: Sequence[_Candidate], most: int
) -> Sequence[_Candidate]:
    """With what stands beside the best sentence and has the form of an answer, when the sentence has not."""
    if not chosen or most < 2 or (fit(asked, chosen[0].quote.text) or 1) == 1:
        return chosen
    best = chosen[0]
    beside = [
        candidate
        for candidate in candidates
        if candidate.quote.number == best.quote.number and 0 < abs(candidate.place - best.place) <= _BESIDE
    ]
    fuller = max(beside, key=lambda candidate: fit(asked, candidate.quote.text) or 0, default=best)
    return [best, fuller] if (fit(asked, fuller.quote.text) or 0) > (fit(asked, best.quote.text) or 0) else chosen


def _fitting(asked: str, weights: Mapping[str, float], candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """The sentences that share enough with the question; what only the context shares counts if nothing else does."""
    own = stems(asked)
    whole = sum(weight for word, weight in weights.items() if word in own or not own)
    near = [candidate for candidate in candidates if whole * _floor(asked, candidate) <= _shared(candidate, weights)]
    near = [candidate for candidate in near if whole]
    return [candidate for candidate in near if any(map(candidate.has, own))] or near


def _floor(asked: str, candidate: _Candidate) -> float:
    fitting = fit(asked, candidate.quote.text)
    return _ANY_FORM if fitting is None else _ENOUGH if fitting else _OTHER_FORM


def _candidates(documents: Sequence[Document]) -> list[_Candidate]:
    found: list[_Candidate] = []
    for rank, document in enumerate(documents):
        spoken = [sentence for sentence in sentences(document.contents) if not _POLITE.match(sentence.text)]
        for place, sentence in enumerate(spoken):
            beside = [*spoken[max(0, place - 1) : place], *spoken[place + 1 : place + 2]]
            opening = spoken[0].text if _is_field(sentence.text) else ""
            found.append(_candidate(document, sentence, opening, beside, rank, place))
    return found


def _candidate(
    document: Document, sentence: Sentence, opening: str, beside: Sequence[Sentence], rank: int, place: int
) -> _Candidate:
    is_field = _is_field(sentence.text)
    return _Candidate(
        Quote(_shortened(_lead(document, sentence.text, is_field) + sentence.text), document.number),
        _words(sentence.text),
        _words(f"{document.about} {sentence.heading} {opening}"),
        _words(" ".join(other.text for other in beside)),
        tuple(_LABEL.findall(sentence.text)) if is_field else (),
        rank,
        place,
    )


def _lead(document: Document, text: str, is_field: bool) -> str:
    """The title, before what is not understood without it."""
    needed = is_field or (len(document.contents) <= _RECORD and len(stems(text)) <= _TERSE)
    return f"{document.title}: " if needed and document.title and document.title.lower() not in text.lower() else ""


def _is_field(text: str) -> bool:
    """Whether it is a record's field or a table's row, which say nothing without what they stand under."""
    labels = len(_LABEL.findall(text))
    return labels > 1 or (labels == 1 and len(text) <= _SHORT)


def _words(text: str) -> _Words:
    found = frozenset(stems(text))
    return _Words(found, frozenset(map(family, found)))


def _weights(asked: str, context: str, candidates: Sequence[_Candidate]) -> dict[str, float]:
    held = Counter(name for candidate in candidates for name in candidate.said.families)
    own, formal = stems(asked), stems(wording(asked))
    return {
        word: math.log(1 + (len(candidates) + 1) / (held[family(word)] + 1))
        * (1 if word in own else _CONTEXT)
        * (_WORDING if word in formal else 1)
        for word in sorted(own | stems(context))
    }


def _shared(candidate: _Candidate, weights: Mapping[str, float]) -> float:
    """The weight of the question's words that the sentence has; its title helps, but is no answer by itself."""
    if not any(map(candidate.said.have, weights)):
        return 0.0
    return sum(weight * candidate.has(word) for word, weight in weights.items())


def _score(candidate: _Candidate, weights: Mapping[str, float], question: str) -> float:
    said = candidate.said.stems
    worth = 1 + _FITTING * (fit(question, candidate.quote.text) or 0)
    if any(map(_words(" ".join(candidate.labels)).have, stems(wording(question)))):
        worth *= _NAMED
    if all(word in weights for word in said):
        worth *= _ECHO
    brevity = 1 / (1 + max(0, len(said) - 20) / 40)
    return _shared(candidate, weights) * worth * brevity * (1 - min(0.6, _FURTHER_DOWN * candidate.rank))


def _repeats(candidate: _Candidate, chosen: _Candidate) -> bool:
    """Whether it says the same, or is another row of the same table."""
    if len(chosen.labels) > 1 and candidate.labels == chosen.labels:
        return True
    either = len(candidate.said.stems | chosen.said.stems)
    return either == 0 or len(candidate.said.stems & chosen.said.stems) / either > 0.8


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return text[:_LONGEST].rsplit(None, 1)[0] + " …"
