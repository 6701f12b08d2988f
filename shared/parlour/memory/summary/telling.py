"""What of a text must survive word for word: identifiers, amounts, dates, names, decisions, approvals, promises. Pure.

Found by their form, in any script where they have one: figures, codes and addresses look alike everywhere. Names are
found where a script has capitals, and what was decided, approved or promised by the words that English and Hindi have
for it. A model may summarise as it likes: what this finds and the summary lacks is kept beside it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, get_args

from parlour.text import dates
from parlour.text.numbers import Figures, Number, ascii_digits, digit_numbers, figures
from parlour.text.sentences import sentences
from parlour.text.words import MONTH_NUMBERS, WEEKDAY_NAMES, word_parts

type Kind = Literal["identifier", "amount", "date", "name", "decision", "approval", "promise"]

KINDS: tuple[str, ...] = get_args(Kind.__value__)

MOST_WORDS, MOST_CHARACTERS = 24, 200
"""What a line is kept with; a sentence that is longer is kept around what it tells."""

_BEFORE, _AFTER = 8, 6
"""Words around what is told, of a sentence that is too long."""

_LONGEST_VALUE = 160
_MOST = 40
"""What one text gives at most: a pasted table is found again by a search."""

_ENOUGH = 0.6
"""The share of a sentence's telling words that a summary must have to say the same."""

_TELLING_FROM = 4

_LOOKED_AT = "|"
"""What stands where something was found: nothing is read across it."""

_OF = " | "
"""Between a weekday or an hour and what it is said of: by itself it tells nothing."""

_OTHER_DATES = (
    re.compile(rf"(?<![^\W\d_])(?:{'|'.join(WEEKDAY_NAMES)})(?![^\W\d_])", re.IGNORECASE),
    re.compile(r"(?<!\d)\d{1,2}(?:[:.]\d{2})?\s?(?:[ap]\.?m\b\.?)|(?<![\d:])\d{1,2}:\d{2}(?![\d:])", re.IGNORECASE),
)
_ADDRESSES = re.compile(r"https?://[^\s<>\"']+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"(?<![A-Za-z0-9+])\+?\d[\d ()/-]{7,}\d(?![A-Za-z0-9])")
_CODE = re.compile(
    r"(?<![A-Za-z0-9_#])#?(?=[A-Za-z0-9/_.-]*\d)(?=[A-Za-z0-9/_.-]*[A-Za-z])[A-Za-z0-9]+(?:[-/_.][A-Za-z0-9]+)*(?![A-Za-z0-9_])"
)
_LONG_NUMBER = re.compile(r"(?<![A-Za-z0-9.,])#?\d{5,}(?![A-Za-z0-9]|[.,]\d)|(?<![A-Za-z0-9])#\d+")
_NAMED_CODE = re.compile(r"(?<=\bcode )(?:is |no\.? )?\d{3,}|(?<=\b(?:gate|room|flat|slot) )\d{3,}", re.IGNORECASE)
_CODES = (_PHONE, _CODE, _LONG_NUMBER, _NAMED_CODE)
_NO_CODE = re.compile(r"\d+(?:st|nd|rd|th|am|pm|[kmgx]|bn|mn|kg|km|cm|mm|ml|kw|mw|hrs?|mins?|m[23])", re.IGNORECASE)
_NAME = r"(?-i:[A-Z])[^\W\d_]*(?:['\u2019-][^\W\d_]+)*(?=[\s.,;:!?)\]\"]|$)"
_CALLED = re.compile(
    r"(?:\b(?:my name is|name's|i am|i'm|this is|call me|called|named|ask for|speak (?:to|with))"
    rf"|\b(?:Mr|Mrs|Ms|Dr|Shri|Smt)\b\.?)\s+(?P<name>{_NAME}(?:\s{_NAME}){{0,2}})",
    re.IGNORECASE,
)
_CAPITALS = re.compile(rf"(?<=[a-z0-9,;:'\u2019)] ){_NAME}(?: {_NAME}){{1,3}}", re.IGNORECASE)
_DECIDED = re.compile(
    r"\bdecid\w+|\b(?:we|i|you)(?:'ll| will) (?:go (?:with|for)|use|take|keep|stay with|proceed)\b"
    r"|\blet(?:'|\u2019)?s (?:go (?:with|for)|use|take|keep|do|make it)\b|\b(?:going|go) with\b"
    r"|\bagreed?\b|\bsettled on\b|\bchose\b|\bchosen\b|\binstead of\b|\bmake (?:it|that)\b"
    r"|\u0924\u092f|\u092b\u093c\u0948\u0938\u0932\u093e|\u092b\u0948\u0938\u0932\u093e",
    re.IGNORECASE,
)
_APPROVED = re.compile(
    r"\bapprov(?:e|ed|es|al|als)\b|\bauthori[sz]\w+|\bsign(?:ed)?[ -]off\b|\bgo ahead\b|\bgreen light\b"
    r"|\bconfirm(?:ed|s)?\b|\bpermission (?:is )?(?:granted|given)\b"
    r"|\u092e\u0902\u091c\u093c?\u0942\u0930|\u092e\u0902\u091c\u0942\u0930|\u0938\u094d\u0935\u0940\u0915\u0943\u0924",
    re.IGNORECASE,
)
_PROMISED = re.compile(
    r"\b(?:i|we)(?:['\u2019]ll| will| shall)\b(?! (?:not sure|be honest))|\bpromis\w+|\bguarantee\w*"
    r"|\bcommit(?:ted)? to\b"
    r"|\bwill (?:be )?(?:sen[dt]|deliver\w*|call(?:ed)?|paid?|pay|refund\w*|repl(?:y|ied)|complet\w+|ship\w*|arrive)\b"
    r"|\u0935\u093e\u0926\u093e|\u0942[\u0901\u0902]?\u0917[\u093e\u0940]|\u0915\u0930\u0947\u0902\u0917\u0947",
    re.IGNORECASE,
)
_SENTENCES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("approval", _APPROVED), ("decision", _DECIDED), ("promise", _PROMISED),
)  # fmt: skip
_NO_NAMES = MONTH_NUMBERS.keys() | WEEKDAY_NAMES | {"i", "ok", "hello", "sorry"}


@dataclass(frozen=True, slots=True)
class Telling:
    """One thing that must survive: `value` is what a summary must have to say it, `text` the words around it."""

    kind: Kind
    value: str
    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """A text as it is searched for what must survive: its letters and digits alone, its figures, dates and words."""

    squashed: str
    figures: Figures
    words: frozenset[str]


def telling(text: str) -> list[Telling]:
    """What of a text must survive, each value once, in the order of the text."""
    found: dict[tuple[str, str], Telling] = {}
    for sentence in sentences(text):
        for one in _of(" ".join(sentence.split())):
            found.setdefault((one.kind, one.value), one)
        if len(found) >= _MOST:
            break
    return [*found.values()][:_MOST]


def read(text: str) -> Said:
    """A text to look things up in."""
    plain = ascii_digits(text).casefold()
    words = frozenset(word_parts(plain))
    known = figures(text)
    if "one" in words:
        known = replace(known, numbers=(*known.numbers, Number(frozenset({Decimal(1)}))))
    return Said(_squashed(plain), known, words)


def is_told(one: Telling, said: Said) -> bool:
    """Whether a text says this, in these words or in other ones that mean the same to anybody."""
    if one.kind == "amount":
        return any(
            wanted.is_same_amount(there) for wanted in digit_numbers(one.value) for there in said.figures.numbers
        )
    value, _, about = one.value.partition(_OF)
    if one.kind == "date":
        if not about and (date := dates.from_value(value)):
            return date.is_in(said.figures.dates)
        return _squashed(value) in said.squashed and _says(about, said)
    if one.kind == "identifier":
        return _squashed(value) in said.squashed
    if one.kind == "name":
        return said.words.issuperset(word_parts(value))
    return _says(value, said)


def _says(sentence: str, said: Said) -> bool:
    """Whether enough of a sentence's telling words are there."""
    words = [word for word in word_parts(sentence) if len(word) >= _TELLING_FROM]
    return sum(word in said.words for word in words) >= len(words) * _ENOUGH


def _of(sentence: str) -> Iterator[Telling]:
    """What one sentence tells. What was found is not looked at again: a date is no amount, an amount no code."""
    rest = ascii_digits(sentence)
    yield from _matches("identifier", (_ADDRESSES,), sentence, rest)
    days, rest = dates.take_dates(_without((_ADDRESSES,), rest))
    for day in days:
        if day.date.day:
            yield Telling("date", day.date.value, _around(sentence, day.start, day.end))
    yield from _matches("date", _OTHER_DATES, sentence, rest)
    rest = _without(_OTHER_DATES, rest)
    for number in digit_numbers(rest):
        if number.is_amount:
            value = rest[number.start : number.end].strip().casefold()[:_LONGEST_VALUE].rstrip(".,/-")
            yield Telling("amount", value, _around(sentence, number.start, number.end))
            rest = rest[: number.start] + _LOOKED_AT * (number.end - number.start) + rest[number.end :]
    yield from _matches("identifier", _CODES, sentence, rest)
    for found in (*_CALLED.finditer(sentence), *_CAPITALS.finditer(sentence)):
        name = found["name"] if "name" in found.re.groupindex else found[0]
        if name.casefold().split()[0] not in _NO_NAMES:
            yield Telling("name", name.casefold()[:_LONGEST_VALUE], _around(sentence, found.start(), found.end()))
    if not sentence.rstrip().endswith(("?", "\uff1f")):
        yield from _settled(sentence)


def _settled(sentence: str) -> Iterator[Telling]:
    """What a sentence decides, approves or promises; a question does nothing of it."""
    for kind, pattern in _SENTENCES:
        if found := pattern.search(sentence):
            value = " ".join(word_parts(sentence.casefold()))[:_LONGEST_VALUE]
            yield Telling(kind, value, _around(sentence, found.start(), found.end()))


def _matches(kind: Kind, patterns: Sequence[re.Pattern[str]], sentence: str, rest: str) -> Iterator[Telling]:
    """What the patterns find in what is left of the sentence, each pattern in what those before it left."""
    for pattern in patterns:
        for found in pattern.finditer(rest):
            if value := _value(kind, found[0].strip().casefold(), sentence):
                yield Telling(kind, value, _around(sentence, found.start(), found.end()))
        rest = _without((pattern,), rest)


def _without(patterns: Sequence[re.Pattern[str]], text: str) -> str:
    for pattern in patterns:
        text = pattern.sub(lambda found: _LOOKED_AT * len(found[0]), text)
    return text


def _value(kind: Kind, said: str, sentence: str) -> str:
    """What identifies it; "" for what only looks like one."""
    if kind == "date":
        return f"{said}{_OF}{' '.join(word_parts(sentence.casefold()))}"[:_LONGEST_VALUE]
    if _NO_CODE.fullmatch(said) or len(_squashed(said)) < 3:
        return ""
    return said[:_LONGEST_VALUE].rstrip(".,/-")


def _around(sentence: str, start: int, end: int) -> str:
    """The sentence, or what stands around a place of it where it is long; clipped where words are endless."""
    words = sentence.split(" ")
    if len(words) > MOST_WORDS:
        first, last = sentence[:start].count(" "), sentence[:end].count(" ")
        cut = words[max(0, first - _BEFORE) : last + _AFTER + 1]
        lead, rest = "... " if first > _BEFORE else "", " ..." if last + _AFTER + 1 < len(words) else ""
        sentence = f"{lead}{' '.join(cut)}{rest}"
        start = sentence.find(words[first])
    if len(sentence) <= MOST_CHARACTERS:
        return sentence
    begin = max(0, min(start - MOST_CHARACTERS // 2, len(sentence) - MOST_CHARACTERS))
    return sentence[begin : begin + MOST_CHARACTERS].strip()


def _squashed(text: str) -> str:
    """Letters and digits alone: a number is the same with and without its blanks and dashes."""
    return "".join(one for one in text.casefold() if one.isalnum() or one in "+@")
