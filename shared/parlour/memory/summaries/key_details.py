"""What of a text must survive word for word: identifiers, amounts, dates, names, decisions, approvals, promises. Pure.

Found by their form, in any script where they have one: figures, codes and addresses look alike everywhere. Names are
found where a script has capitals, and what was decided, approved or promised by the words that English and Hindi have
for it. A model may summarise as it likes: what this finds and the summary lacks is kept beside it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from parlour.prompts.assembly.compaction import KeyDetailKind
from parlour.text import dates
from parlour.text.numbers import Figures, Number, ascii_digits, find_digit_numbers, find_figures
from parlour.text.sentences import stripped_sentences
from parlour.text.words import MONTH_NUMBERS, WEEKDAY_NAMES, word_parts

MAX_CONTEXT_WORDS, MAX_CONTEXT_CHARS = 24, 200
"""What a line is kept with; a sentence that is longer is kept around what it tells."""

_WORDS_BEFORE, _WORDS_AFTER = 8, 6
"""Words around what is told, of a sentence that is too long."""

_MAX_VALUE_CHARS = 160
_MAX_DETAILS = 40
"""What one text gives at most: a pasted table is found again by a search."""

_MIN_SHARED_WORDS = 0.6
"""The share of a sentence's telling words that a summary must have to say the same."""

_MIN_WORD_LETTERS = 4

_MASK = "|"
"""What stands where something was found: nothing is read across it."""

_CONTEXT_SEPARATOR = " | "
"""Between a weekday or an hour and what it is said of: by itself it tells nothing."""

#: Characters of a sentence that are read at once: each detail is looked for in all of them.
_MAX_SENTENCE_CHARS = 1_000

_WEEKDAYS_AND_TIMES = (
    re.compile(rf"(?<![^\W\d_])(?:{'|'.join(WEEKDAY_NAMES)})(?![^\W\d_])", re.IGNORECASE),
    re.compile(r"(?<!\d)\d{1,2}(?:[:.]\d{2})?\s?(?:[ap]\.?m\b\.?)|(?<![\d:])\d{1,2}:\d{2}(?![\d:])", re.IGNORECASE),
)
_ADDRESSES = re.compile(r"https?://[^\s<>\"']+|(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++")
_PHONE = re.compile(r"(?<![A-Za-z0-9+])\+?\d[\d ()/-]{7,}\d(?![A-Za-z0-9])")
_CODE = re.compile(
    r"(?<![A-Za-z0-9_#])#?(?=[A-Za-z0-9])"  # before it reads on: most places have neither
    r"(?=[A-Za-z0-9/_.-]*\d)(?=[A-Za-z0-9/_.-]*[A-Za-z])[A-Za-z0-9]+(?:[-/_.][A-Za-z0-9]+)*(?![A-Za-z0-9_])"
)
_LONG_NUMBER = re.compile(r"(?<![A-Za-z0-9.,])#?\d{5,}(?![A-Za-z0-9]|[.,]\d)|(?<![A-Za-z0-9])#\d+")
_NAMED_CODE = re.compile(r"(?<=\bcode )(?:is |no\.? )?\d{3,}|(?<=\b(?:gate|room|flat|slot) )\d{3,}", re.IGNORECASE)
_CODES = (_PHONE, _CODE, _LONG_NUMBER, _NAMED_CODE)
_NOT_A_CODE = re.compile(r"\d+(?:st|nd|rd|th|am|pm|[kmgx]|bn|mn|kg|km|cm|mm|ml|kw|mw|hrs?|mins?|m[23])", re.IGNORECASE)
_NAME = r"(?-i:[A-Z])[^\W\d_]*(?:['\u2019-][^\W\d_]+)*(?=[\s.,;:!?)\]\"]|$)"
_INTRODUCED_NAME = re.compile(
    r"(?:\b(?:my name is|name's|i am|i'm|this is|call me|called|named|ask for|speak (?:to|with))"
    rf"|\b(?:Mr|Mrs|Ms|Dr|Shri|Smt)\b\.?)\s+(?P<name>{_NAME}(?:\s{_NAME}){{0,2}})",
    re.IGNORECASE,
)
_CAPITALIZED_NAME = re.compile(rf"(?<=[a-z0-9,;:'\u2019)] ){_NAME}(?: {_NAME}){{1,3}}", re.IGNORECASE)
_DECISION_WORDS = re.compile(
    r"\bdecid\w+|\b(?:we|i|you)(?:'ll| will) (?:go (?:with|for)|use|take|keep|stay with|proceed)\b"
    r"|\blet(?:'|\u2019)?s (?:go (?:with|for)|use|take|keep|do|make it)\b|\b(?:going|go) with\b"
    r"|\bagreed?\b|\bsettled on\b|\bchose\b|\bchosen\b|\binstead of\b|\bmake (?:it|that)\b"
    r"|\u0924\u092f|\u092b\u093c\u0948\u0938\u0932\u093e|\u092b\u0948\u0938\u0932\u093e",
    re.IGNORECASE,
)
_APPROVAL_WORDS = re.compile(
    r"\bapprov(?:e|ed|es|al|als)\b|\bauthori[sz]\w+|\bsign(?:ed)?[ -]off\b|\bgo ahead\b|\bgreen light\b"
    r"|\bconfirm(?:ed|s)?\b|\bpermission (?:is )?(?:granted|given)\b"
    r"|\u092e\u0902\u091c\u093c?\u0942\u0930|\u092e\u0902\u091c\u0942\u0930|\u0938\u094d\u0935\u0940\u0915\u0943\u0924",
    re.IGNORECASE,
)
_PROMISE_WORDS = re.compile(
    r"\b(?:i|we)(?:['\u2019]ll| will| shall)\b(?! (?:not sure|be honest))|\bpromis\w+|\bguarantee\w*"
    r"|\bcommit(?:ted)? to\b"
    r"|\bwill (?:be )?(?:sen[dt]|deliver\w*|call(?:ed)?|paid?|pay|refund\w*|repl(?:y|ied)|complet\w+|ship\w*|arrive)\b"
    r"|\u0935\u093e\u0926\u093e|\u0942[\u0901\u0902]?\u0917[\u093e\u0940]|\u0915\u0930\u0947\u0902\u0917\u0947",
    re.IGNORECASE,
)
_SENTENCE_PATTERNS: tuple[tuple[KeyDetailKind, re.Pattern[str]], ...] = (
    ("approval", _APPROVAL_WORDS),
    ("decision", _DECISION_WORDS),
    ("promise", _PROMISE_WORDS),
)
_NOT_A_NAME = MONTH_NUMBERS.keys() | WEEKDAY_NAMES | {"i", "ok", "hello", "sorry"}


@dataclass(frozen=True, slots=True)
class KeyDetail:
    """One thing that must survive: `value` is what a summary must have to say it, `text` the words around it."""

    kind: KeyDetailKind
    value: str
    text: str


@dataclass(frozen=True, slots=True)
class SearchableText:
    """A text as it is searched for what must survive: its letters and digits alone, its figures, dates and words."""

    alphanumerics: str
    figures: Figures
    words: frozenset[str]


def key_details(text: str) -> list[KeyDetail]:
    """Return the details of a text that must survive, each value once, in the order of the text."""
    found: dict[tuple[str, str], KeyDetail] = {}
    for sentence in stripped_sentences(text):
        words = " ".join(sentence.split())
        for start in range(0, len(words), _MAX_SENTENCE_CHARS):
            for one in _sentence_details(words[start : start + _MAX_SENTENCE_CHARS]):
                found.setdefault((one.kind, one.value), one)
        if len(found) >= _MAX_DETAILS:
            break
    return [*found.values()][:_MAX_DETAILS]


def parse_text(text: str) -> SearchableText:
    """Return the text in a form in which details can be looked up."""
    text = " ".join(text.split())
    plain = ascii_digits(text).casefold()
    words = frozenset(word_parts(plain))
    known = find_figures(text)
    if "one" in words:
        known = replace(known, numbers=(*known.numbers, Number(frozenset({Decimal(1)}))))
    return SearchableText(_alphanumerics(plain), known, words)


def is_in_text(detail: KeyDetail, searchable: SearchableText) -> bool:
    """Return whether a text contains the detail, in these words or in an equivalent form."""
    if detail.kind == "amount":
        return any(
            wanted.is_same_amount(there)
            for wanted in find_digit_numbers(detail.value)
            for there in searchable.figures.numbers
        )
    value, _, about = detail.value.partition(_CONTEXT_SEPARATOR)
    if detail.kind == "date":
        if not about and (date := dates.parse_stored_value(value)):
            return date.is_in(searchable.figures.dates)
        return _alphanumerics(value) in searchable.alphanumerics and _contains_sentence(about, searchable)
    if detail.kind == "identifier":
        return _alphanumerics(value) in searchable.alphanumerics
    if detail.kind == "name":
        return searchable.words.issuperset(word_parts(value))
    return _contains_sentence(value, searchable)


def _contains_sentence(sentence: str, searchable: SearchableText) -> bool:
    """Whether enough of a sentence's telling words are there."""
    words = [word for word in word_parts(sentence) if len(word) >= _MIN_WORD_LETTERS]
    return sum(word in searchable.words for word in words) >= len(words) * _MIN_SHARED_WORDS


def _sentence_details(sentence: str) -> Iterator[KeyDetail]:
    """Yield the details of one sentence. A match is masked for later patterns: a date is no amount."""
    rest = ascii_digits(sentence)
    yield from _pattern_details("identifier", (_ADDRESSES,), sentence, rest)
    days, rest = dates.extract_dates(_mask_matches((_ADDRESSES,), rest))
    for day in days:
        rest = rest[: day.start] + _MASK * (day.end - day.start) + rest[day.end :]
        if day.date.day:
            yield KeyDetail("date", day.date.stored_value, _surrounding_text(sentence, day.start, day.end))
    yield from _pattern_details("date", _WEEKDAYS_AND_TIMES, sentence, rest)
    rest = _mask_matches(_WEEKDAYS_AND_TIMES, rest)
    for number in find_digit_numbers(rest):
        if number.is_amount:
            value = rest[number.start : number.end].strip().casefold()[:_MAX_VALUE_CHARS].rstrip(".,/-")
            yield KeyDetail("amount", value, _surrounding_text(sentence, number.start, number.end))
            rest = rest[: number.start] + _MASK * (number.end - number.start) + rest[number.end :]
    yield from _pattern_details("identifier", _CODES, sentence, rest)
    for found in (*_INTRODUCED_NAME.finditer(sentence), *_CAPITALIZED_NAME.finditer(sentence)):
        name = found["name"] if "name" in found.re.groupindex else found[0]
        if name.casefold().split()[0] not in _NOT_A_NAME:
            yield KeyDetail(
                "name", name.casefold()[:_MAX_VALUE_CHARS], _surrounding_text(sentence, found.start(), found.end())
            )
    if sentence.rstrip().endswith(("?", "\uff1f")):  # a question decides, approves and promises nothing
        return
    for kind, pattern in _SENTENCE_PATTERNS:
        if words := pattern.search(sentence):
            value = " ".join(word_parts(sentence.casefold()))[:_MAX_VALUE_CHARS]
            yield KeyDetail(kind, value, _surrounding_text(sentence, words.start(), words.end()))


def _pattern_details(
    kind: KeyDetailKind, patterns: Sequence[re.Pattern[str]], sentence: str, rest: str
) -> Iterator[KeyDetail]:
    """Yield the matches of the patterns; each match is masked for the patterns after it."""
    for pattern in patterns:
        for found in pattern.finditer(rest):
            if value := _detail_value(kind, found[0].strip().casefold(), sentence):
                yield KeyDetail(kind, value, _surrounding_text(sentence, found.start(), found.end()))
        rest = _mask_matches((pattern,), rest)


def _mask_matches(patterns: Sequence[re.Pattern[str]], text: str) -> str:
    for pattern in patterns:
        text = pattern.sub(lambda found: _MASK * len(found[0]), text)
    return text


def _detail_value(kind: KeyDetailKind, match_text: str, sentence: str) -> str:
    """Return the value that identifies a detail; "" when it only looks like one."""
    if kind == "date":
        return f"{match_text}{_CONTEXT_SEPARATOR}{' '.join(word_parts(sentence.casefold()))}"[:_MAX_VALUE_CHARS]
    if _NOT_A_CODE.fullmatch(match_text) or len(_alphanumerics(match_text)) < 3:
        return ""
    return match_text[:_MAX_VALUE_CHARS].rstrip(".,/-")


def _surrounding_text(sentence: str, start: int, end: int) -> str:
    """Return the sentence, or the words around a match in a long one; very long words are clipped."""
    words = sentence.split(" ")
    if len(words) > MAX_CONTEXT_WORDS:
        first, last = sentence[:start].count(" "), sentence[:end].count(" ")
        cut = words[max(0, first - _WORDS_BEFORE) : last + _WORDS_AFTER + 1]
        lead, rest = "... " if first > _WORDS_BEFORE else "", " ..." if last + _WORDS_AFTER + 1 < len(words) else ""
        sentence = f"{lead}{' '.join(cut)}{rest}"
        start = sentence.find(words[first])
    if len(sentence) <= MAX_CONTEXT_CHARS:
        return sentence
    begin = max(0, min(start - MAX_CONTEXT_CHARS // 2, len(sentence) - MAX_CONTEXT_CHARS))
    return sentence[begin : begin + MAX_CONTEXT_CHARS].strip()


def _alphanumerics(text: str) -> str:
    """Letters and digits alone: a number is the same with and without its blanks and dashes."""
    return "".join(one for one in text.casefold() if one.isalnum() or one in "+@")
