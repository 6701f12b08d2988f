"""What of a text must survive word for word: identifiers, amounts, dates, names, decisions, approvals, promises. Pure.

Found by their form, in any script where they have one: figures, codes and addresses look alike everywhere. Names are
found where a script has capitals, and what was decided, approved or promised by the words that English and Hindi have
for it. A model may summarise as it likes: what this finds and the summary lacks is kept beside it.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from parlour.memory.summary import amounts
from parlour.memory.summary.amounts import Amount
from parlour.text.sentences import sentences
from parlour.text.words import word_parts

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

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_MONTH_AND_DAY = len("03-14")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY_MONTH = re.compile(rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH})(?:,?\s+(\d{{4}}))?", re.IGNORECASE)
_MONTH_DAY = re.compile(rf"\b({_MONTH})\s+(\d{{1,2}})(?:st|nd|rd|th)?(?![\d:])(?:,?\s+(\d{{4}}))?", re.IGNORECASE)
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)")
_OTHER_DATES = (
    re.compile(r"(?<![\d/.])\d{1,2}[/.]\d{1,2}[/.](?:\d{4}|\d{2})(?![\d/])"),
    re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE),
    re.compile(r"(?<!\d)\d{1,2}(?:[:.]\d{2})?\s?(?:[ap]\.?m\b\.?)|(?<![\d:])\d{1,2}:\d{2}(?![\d:])", re.IGNORECASE),
)
_ADDRESSES = re.compile(r"https?://[^\s<>\"']+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"(?<![A-Za-z0-9+])\+?\d[\d ()/-]{7,}\d(?![A-Za-z0-9])")
_CODE = re.compile(
    r"(?<![A-Za-z0-9_#])#?(?=[A-Za-z0-9/_.-]*\d)(?=[A-Za-z0-9/_.-]*[A-Za-z])[A-Za-z0-9]+(?:[-/_.][A-Za-z0-9]+)*(?![A-Za-z0-9_])"
)
_LONG_NUMBER = re.compile(r"(?<![A-Za-z0-9.,])#?\d{5,}(?![A-Za-z0-9]|[.,]\d)|(?<![A-Za-z0-9])#\d+")
_NAMED_CODE = re.compile(r"(?<=\bcode )(?:is |no\.? )?\d{3,}|(?<=\b(?:gate|room|flat|slot) )\d{3,}", re.IGNORECASE)
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
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NO_NAMES = frozenset({
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "i", "ok", "hello",
    "sorry",
})  # fmt: skip


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
    amounts: frozenset[Amount]
    days: frozenset[str]
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
    plain = _digits(text).casefold()
    words = frozenset(word_parts(plain))
    spelt = {Amount(str(number), "") for number, word in enumerate(_NUMBERS, start=1) if word in words}
    days = frozenset(_days(_digits(text)))
    figures = {one for found in telling(text) if found.kind == "amount" for one in amounts.of(found.value)}
    return Said(_squashed(plain), frozenset(amounts.of(_without_days(plain)) | figures | spelt), days, words)


def is_told(one: Telling, said: Said) -> bool:
    """Whether a text says this, in these words or in other ones that mean the same to anybody."""
    if one.kind == "amount":
        return any(wanted.is_told_by(there) for wanted in amounts.of(one.value) for there in said.amounts)
    value, _, about = one.value.partition(_OF)
    if one.kind == "date":
        return any(_is_day(value, there) for there in said.days) or (
            _squashed(value) in said.squashed and _says(about, said)
        )
    if one.kind == "identifier":
        return _squashed(value) in said.squashed
    if one.kind == "name":
        return said.words.issuperset(word_parts(value))
    return _says(value, said)


def _is_day(one: str, other: str) -> bool:
    """Whether two dates are one: the year counts where both name it."""
    return one == other or (len(one) != len(other) and one[-_MONTH_AND_DAY:] == other[-_MONTH_AND_DAY:])


def _without_days(text: str) -> str:
    for pattern in (*_DAYS, *_OTHER_DATES):
        text = pattern.sub(_LOOKED_AT, text)
    return text


def _says(sentence: str, said: Said) -> bool:
    """Whether enough of a sentence's telling words are there."""
    words = [word for word in word_parts(sentence) if len(word) >= _TELLING_FROM]
    return sum(word in said.words for word in words) >= len(words) * _ENOUGH


def _of(sentence: str) -> Iterator[Telling]:
    """What one sentence tells. What was found is not looked at again: a date is no amount, an amount no code."""
    rest = _digits(sentence)
    for kind, patterns in _FIGURES:
        for pattern in patterns:
            for found in pattern.finditer(rest):
                if value := _value(kind, found, sentence):
                    yield Telling(kind, value, _around(sentence, found.start(), found.end()))
            rest = pattern.sub(lambda one: _LOOKED_AT * len(one[0]), rest)
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


def _value(kind: Kind, found: re.Match[str], sentence: str) -> str:
    """What identifies it; "" for what only looks like one."""
    said = found[0].strip().casefold()
    if found.re in _DAYS:
        return next(iter(_days(found[0])), "")
    if kind == "date":
        return f"{said}{_OF}{' '.join(word_parts(sentence.casefold()))}"[:_LONGEST_VALUE]
    if kind == "identifier" and (_NO_CODE.fullmatch(said) or len(_squashed(said)) < 3):
        return ""
    return said[:_LONGEST_VALUE].rstrip(".,/-")


def _days(text: str) -> Iterator[str]:
    """The dates of a text as 2026-03-14, or 03-14 where none names the year. It may 5 times: that is no month."""
    for found in _ISO.finditer(text):
        yield f"{found[1]}-{int(found[2]):02}-{int(found[3]):02}"
    for pattern, month, day in ((_DAY_MONTH, 2, 1), (_MONTH_DAY, 1, 2)):
        for found in pattern.finditer(text):
            if found[month] != "may" or found[3]:
                year = f"{found[3]}-" if found[3] else ""
                yield f"{year}{_MONTHS.index(found[month][:3].lower()) + 1:02}-{int(found[day]):02}"


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


def _digits(text: str) -> str:
    """The text with the digits of any script as 0 to 9."""
    if text.isascii():
        return text
    return "".join(
        str(unicodedata.digit(one)) if one.isdecimal() and not one.isascii() else one for one in text
    )  # fmt: skip


def _squashed(text: str) -> str:
    """Letters and digits alone: a number is the same with and without its blanks and dashes."""
    return "".join(one for one in text.casefold() if one.isalnum() or one in "+@")


_DAYS = (_ISO, _DAY_MONTH, _MONTH_DAY)
_FIGURES: tuple[tuple[Kind, tuple[re.Pattern[str], ...]], ...] = (
    ("identifier", (_ADDRESSES,)),
    ("date", (*_DAYS, *_OTHER_DATES)),
    ("amount", amounts.PATTERNS),
    ("identifier", (_PHONE, _CODE, _LONG_NUMBER, _NAMED_CODE)),
)
