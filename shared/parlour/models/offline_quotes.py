"""What the offline model quotes of search results. Pure: words are counted, not understood."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from parlour.infra.json_values import JsonObject
from parlour.text.quotable_sentences import Sentence, quotable_sentences
from parlour.text.words import stems

_MAX_QUOTE_CHARS = 480
_MAX_PASSAGE_CHARS = 800
_MAX_QUOTES = 3

#: Of the best sentence's score: what a further sentence must reach to be quoted too.
_MIN_OF_BEST = 0.6

#: Of the weight of the question's words: what the best sentence must share, or the search's first passage says more.
_MIN_OF_QUESTION = 0.35

#: The same: what the best sentence, or that passage, must share to be about the question at all.
_MIN_RELEVANT = 0.25

#: How much more a sentence counts that has what the question asks for: a name, a date, a number.
_ANSWER_BONUS = 1.5

_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w'-]+ [A-Z][\w'-]+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\b\d{1,2}(?:\.|st|nd|rd|th)? (?:of )?[A-Z][a-z]{2,8}\b|\b\d\d?:\d\d\b")
_AMOUNT = re.compile(r"\d")
#: What a question asks for by its first words, and what an answer to it has.
_WANTED = (
    (re.compile(r"\bwho(?:m|se)?\b", re.IGNORECASE), _NAME),
    (re.compile(r"\b(?:when|what time|which day|what date)\b", re.IGNORECASE), _DATE),
    (
        re.compile(r"\bhow (?:much|many|long|wide|deep|high|tall|heavy|old|far|big|large|often|late)\b", re.IGNORECASE),
        _AMOUNT,
    ),
)
#: A sentence that begins so is about the one before it.
_REFERS_BACK = re.compile(r"(?:It|They|Both|This|These|That|Those|He|She|Then)\b")
_LIST_WORDS = re.compile(r"\b(?:which|what|list|show|name|all|any|how many)\b", re.IGNORECASE)

#: Everyday words that a question and its answer often put differently; the first of each names the others.
_SYNONYMS = (
    "wide width broad",
    "long length duration last",
    "deep depth",
    "high height tall",
    "heavy weigh weight",
    "old age",
    "far distance away",
    "large size big area",
    "cost price charge fee amount",
    "pay payable paid owe owed",
    "late delay overdue",
    "start begin begun commence open",
    "finish complete end finished",
    "owner responsible keeper own looks charge manager",
    "phone telephone mobile",
    "buy purchase bought",
    "least minimum lowest smallest below",
    "most maximum highest limit cap",
    "move shift postpone",
    "cancel terminate",
    "holiday vacation leave",
    "day daily",
    "keep retain retention withhold withheld",
    "hurt injure accident",
    "send deliver ship",
    "employee staff personnel",
    "choose decide select decision chosen",
    "lead leader run chair",
)
#: Endings by which words of one root differ after stemming: settled and settlement.
_ROOT_ENDINGS = (
    "ement",
    "ment",
    "ation",
    "ition",
    "ion",
    "ance",
    "ence",
    "ity",
    "th",
    "or",
    "er",
    "ly",
    "al",
    "y",
    "i",
    "e",
)


@dataclass(frozen=True, slots=True)
class Quote:
    """A text that is quoted, and the number of its document."""

    text: str
    number: int


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A sentence, and the words of the question that it, its heading or its document's title has."""

    quote: Quote
    shared: frozenset[str]


def find_listed_type(question: str, documents: Sequence[JsonObject]) -> str | None:
    """Return the record type whose records a question asks to be listed ("Which tasks are due?"), if one was found."""
    if not _LIST_WORDS.search(question):
        return None
    asked = f" {' '.join(re.findall(r'[^\W_]+', question.lower()))} "
    kinds = dict.fromkeys(
        str(document.get(name, "")).partition("/")[0] for document in documents for name in ("handle", "about")
    )
    return next((kind for kind in kinds if kind and f" {_plural(kind.replace('_', ' '))} " in asked), None)


def list_records(kind: str, documents: Sequence[JsonObject]) -> list[Quote]:
    """Return what the results say of each record of a type, in the order of their keys."""
    rows: dict[str, Quote] = {}
    for entry in documents:
        record, number = str(entry.get("handle", "")), entry.get("n")
        if record.startswith(f"{kind}/") and isinstance(number, int):
            rows.setdefault(record, Quote(_shorten(str(entry.get("contents", "")), _MAX_QUOTE_CHARS), number))
    return [rows[record] for record in sorted(rows)]


def choose_quotes(question: str, documents: Sequence[JsonObject]) -> list[Quote]:
    """Return the sentences that share the most with the question, best first.

    The words of title and heading count as the sentence's own, once the sentence itself shares one. A word that fewer
    sentences have weighs more, and a sentence that has what the question asks for (a name, a date, a number) counts
    more. Of sentences that share the same, the search's first comes first. Where no sentence shares enough, the passage
    that the search found first is quoted; nothing, where that one is about something else.
    """
    wanted = synonym_groups(question)
    candidates, counts = _candidates(wanted, documents)
    if not candidates:
        return []
    weights = {word: math.log(1 + counts.total() / (1 + counts[word])) for word in wanted}
    patterns = [pattern for asks, pattern in _WANTED if asks.search(question)]

    def score(one: _Candidate) -> float:
        bonus = _ANSWER_BONUS if any(pattern.search(one.quote.text) for pattern in patterns) else 1.0
        return bonus * math.fsum(weights[word] for word in one.shared)

    ranked = sorted(candidates, key=lambda one: -score(one))
    best = ranked[0]
    total = math.fsum(weights.values())
    passage = _first_passage(documents)

    def part_shared(shared: Iterable[str]) -> float:
        return math.fsum(weights[word] for word in shared) / total if total else 0.0

    if passage and part_shared(best.shared) < _MIN_OF_QUESTION:
        return [passage] if part_shared(wanted & synonym_groups(passage.text)) >= _MIN_RELEVANT else []
    chosen: list[Quote] = []
    for one in ranked[:_MAX_QUOTES]:
        is_near = score(one) >= _MIN_OF_BEST * score(best) and len(one.shared) >= min(2, len(best.shared))
        if is_near and not any(one.quote.text in quote.text for quote in chosen):
            chosen.append(one.quote)
    return chosen


def _candidates(wanted: set[str], documents: Sequence[JsonObject]) -> tuple[list[_Candidate], Counter[str]]:
    """Return the sentences that share a word with the question, each once, and how many sentences have each word."""
    found: dict[Quote, _Candidate] = {}
    counts = Counter[str]()
    for number, about, sentence, before in _read(documents):
        own = synonym_groups(sentence.text)
        counts.update(own)
        if wanted & own:
            quote = Quote(_shorten(f"{before} {sentence.text}", _MAX_QUOTE_CHARS), number)
            shared = wanted & (own | about | synonym_groups(sentence.heading))
            found[quote] = _Candidate(quote, frozenset(shared))
    return list(found.values()), counts


def _read(documents: Sequence[JsonObject]) -> Iterator[tuple[int, set[str], Sentence, str]]:
    """Yield each sentence with its document's number and words, and the sentence before it that it refers to, or ""."""
    for entry in documents:
        about, number = synonym_groups(f"{entry.get('title', '')} {entry.get('metadata', '')}"), entry.get("n")
        if not isinstance(number, int):
            continue
        before = ""
        for sentence in quotable_sentences(str(entry.get("contents", ""))):
            yield number, about, sentence, before if _REFERS_BACK.match(sentence.text) else ""
            before = sentence.text


def _first_passage(documents: Sequence[JsonObject]) -> Quote | None:
    """Return the text of the first document that says something, without its headings."""
    for entry in documents:
        number, texts = entry.get("n"), [one.text for one in quotable_sentences(str(entry.get("contents", "")))]
        if isinstance(number, int) and texts:
            return Quote(_shorten(" ".join(texts), _MAX_PASSAGE_CHARS), number)
    return None


def _shorten(text: str, length: int) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= length else joined[:length].rsplit(None, 1)[0] + " …"


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def synonym_groups(text: str) -> set[str]:
    """Return what the words of a text share with related words: settled and settlement, wide and width."""
    return {_GROUPS.get(root, root) for root in map(_root, stems(text))}


def _root(stem: str) -> str:
    ending = next((ending for ending in _ROOT_ENDINGS if stem.endswith(ending) and len(stem) - len(ending) >= 4), "")
    return stem.removesuffix(ending)


_GROUPS = {_root(stem): line.split()[0] for line in _SYNONYMS for word in line.split() for stem in stems(word)}
