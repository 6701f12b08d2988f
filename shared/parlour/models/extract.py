"""Choosing the few sentences of some documents that come nearest to answering a question. Deterministic, no model."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parlour.models.words import sentences, stems

MOST_QUOTES = 3

_ECHO = 0.3
"""What a sentence is worth that says no more than the question: a subject line, a heading, the question itself."""

_LONGEST = 480
"""Characters; what has no end within this is cut after a word."""

_ENOUGH = 0.25
"""Of the question's weight: a sentence that shares less with it is not an answer."""

_ABOUT = 0.4
"""What a word in the title or heading is worth, against one in the sentence itself."""

_CONTEXT = 0.3
"""What a word of the question before is worth, against one of the question itself."""

_TOLD = 0.6
"""What a word is still worth once a chosen sentence has it: further sentences should say something new."""

_AS_GOOD = 0.5
"""Of the first quote's score: what a further one must reach."""

_MEASURE = re.compile(
    r"\b(how (much|many|long|far|old|big|large|wide|high|deep)|amount|cost|price|total|number|percent|rate|budget)\b"
)
_MOMENT = re.compile(r"\b(when|date|day|deadline|due|until|since|what time|how soon)\b")
_DAY = re.compile(
    r"\d{4}-\d\d|\d\d?[/.]\d\d?[/.]\d{2,4}|\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b|\bdays?\b|\bweeks?\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Document:
    """A numbered search result; `about` is its title and whatever else names what it is about."""

    number: int
    about: str
    contents: str


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence, verbatim, and the number of the document it is from."""

    text: str
    number: int


@dataclass(frozen=True, slots=True)
class _Candidate:
    quote: Quote
    said: frozenset[str]
    about: frozenset[str]
    rank: int


def quotes(asked: str, documents: Sequence[Document], context: str = "", most: int = MOST_QUOTES) -> list[Quote]:
    """The sentences that best answer the question `asked`, best first; none when nothing comes near.

    Documents count in the order given. A word weighs more the fewer sentences have it; each chosen sentence makes
    its words weigh less for the next. `context` is the question before, for one that leans on it.
    """
    candidates = _candidates(documents)
    weights = _weights(stems(asked), stems(context), candidates)
    fitting = _fitting(stems(asked), weights, candidates)
    chosen: list[Quote] = []
    bar = 0.0
    while fitting and len(chosen) < most:
        best = max(fitting, key=lambda candidate: _score(candidate, weights, asked.lower()))
        score = _score(best, weights, asked.lower())
        if score < bar:
            break
        bar = bar or score * _AS_GOOD
        chosen.append(best.quote)
        weights = {word: weight * _TOLD if word in best.said else weight for word, weight in weights.items()}
        fitting = [candidate for candidate in fitting if not _repeats(candidate, best)]
    return chosen


def _fitting(asked: set[str], weights: Mapping[str, float], candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """The sentences that share enough with the question; what only the context shares counts if nothing else does."""
    floor = _ENOUGH * sum(weight for word, weight in weights.items() if word in asked or not asked)
    near = [candidate for candidate in candidates if 0 < floor <= _shared(candidate, weights)]
    return [candidate for candidate in near if asked & candidate.said] or near


def _candidates(documents: Sequence[Document]) -> list[_Candidate]:
    return [
        _Candidate(
            Quote(_shortened(sentence.text), document.number),
            frozenset(stems(sentence.text)),
            frozenset(stems(f"{document.about} {sentence.heading}")),
            rank,
        )
        for rank, document in enumerate(documents)
        for sentence in sentences(document.contents)
    ]


def _weights(asked: set[str], context: set[str], candidates: Sequence[_Candidate]) -> dict[str, float]:
    held = Counter(word for candidate in candidates for word in candidate.said)
    return {
        word: math.log(1 + (len(candidates) + 1) / (held[word] + 1)) * (1 if word in asked else _CONTEXT)
        for word in sorted(asked | context)
    }


def _shared(candidate: _Candidate, weights: Mapping[str, float]) -> float:
    """The weight of the question's words that the sentence has; its title helps, but is no answer by itself."""
    said = sum(weight for word, weight in weights.items() if word in candidate.said)
    about = sum(weight for word, weight in weights.items() if word in candidate.about - candidate.said)
    return said + _ABOUT * about if said else 0.0


def _score(candidate: _Candidate, weights: Mapping[str, float], question: str) -> float:
    text = candidate.quote.text
    fits = 1.0
    if _MEASURE.search(question) and re.search(r"\d", text):
        fits += 0.25
    if _MOMENT.search(question) and _DAY.search(text):
        fits += 0.5
    if candidate.said <= weights.keys():
        fits *= _ECHO
    brevity = 1 / (1 + max(0, len(candidate.said) - 20) / 40)
    return _shared(candidate, weights) * fits * brevity * (1 + 0.1 / (1 + candidate.rank))


def _repeats(candidate: _Candidate, chosen: _Candidate) -> bool:
    either = len(candidate.said | chosen.said)
    return either == 0 or len(candidate.said & chosen.said) / either > 0.8


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return text[:_LONGEST].rsplit(None, 1)[0] + " …"
