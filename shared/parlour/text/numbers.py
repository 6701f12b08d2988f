"""The numbers of a text with what they are of, however they are written, and whether another text names them too. Pure.

2,400,000 and 2.4M are one number, so are ₹1,00,000 and 1 lakh rupees. Nothing is added up or converted: what has to be
reckoned stands in no source.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from parlour.text.dates import Date, take_dates


def _spellings(text: str) -> dict[str, str]:
    """Return the first of each group of spellings by every one of them."""
    groups = [group.split() for group in text.split("|")]
    return {spelling: group[0] for group in groups for spelling in group}


#: What a number is multiplied by, as a power of ten. Behind a space only whole words are: 12 m are metres.
_SCALES = {
    word: 10 ** int(power)
    for word, power in _spellings(
        "3 k thousand tsd tausend हज़ार हजार ஆயிரம் ಸಾವಿರ|5 lakh lac लाख லட்சம் ಲಕ್ಷ లక్ష|6 m mn million mio millionen "
        "millón millone|7 cr crore करोड़ करोड கோடி ಕೋಟಿ కోటి|9 b bn billion mrd milliarden"
    ).items()
    if not word.isdigit()
}
_SCALE_WORDS = (
    "(?:" + "|".join(sorted((name for name in _SCALES if len(name) > 1), key=len, reverse=True)) + r")s?\.?(?![^\W\d_])"
)

#: Currencies and units by each of their spellings, without a plural s.
_CURRENCIES = _spellings("inr ₹ rs रु रू ரூ ರೂ ರು రూ|usd $|eur €|gbp £|jpy ¥|aed|chf")
_UNITS = (
    _CURRENCIES
    | dict.fromkeys(["rupee", "रुपये", "रुपए", "रुपया", "ரூபாய்", "ರೂಪಾಯಿ"], "inr")
    | {"dollar": "usd", "euro": "eur", "pound": "gbp", "per cent": "%"}
    | _spellings(
        "% percent prozent|hour hr|minute min|ton tonne|litre liter|people person|box boxe|°c|km|cm|mm|m|m2|m3|m²|m³"
        "|km2|km²|cm2|cm²|cm3|cm³|mm2|mm²|kg|g|mg|l|ml|kw|kwh|mw|v|day|week|month|year|piece|unit|bag|guest|night|room|seat"
    )
)
_SIGNS = r"[\u20a0-\u20bf$\u00a3\u00a5]"
_BEFORE = "|".join(sorted((name for name in _CURRENCIES if len(name) > 1), key=len, reverse=True))
_BEHIND = "|".join(map(re.escape, sorted(_UNITS, key=len, reverse=True)))
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w.,)])[-\u2212](?={_SIGNS}?\d))?"
    rf"(?:(?P<currency>{_SIGNS}|(?<![^\W\d_])(?:{_BEFORE})\.?(?![^\W\d_]))\s?)?"
    r"(?P<digits>\d+(?:[.,'\u2019\u00a0\u202f]\d+)*)(?P<ordinal>(?:st|nd|rd|th)\b)?"
    rf"(?P<scale>\s?{_SCALE_WORDS}|[kmb](?![\w²³]))?"
    rf"(?:\s?(?P<unit>{_SIGNS}|(?:{_BEHIND})s?(?![^\W\d_])))?",
    re.IGNORECASE,
)
_NEXT_WORD = re.compile(r"\s?([^\W\d_]+)")

#: Digits from which on a number means itself, whatever word is behind it: 45 folks are no 45 euros.
_LONG = 4

#: Million or metre: 12m.
_AMBIGUOUS = "m"

#: From two to nineteen.
_SMALL = re.findall(
    r"\w+",
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen",
)
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORDS = (
    {"a": 1, "one": 1}
    | {word: value for value, word in enumerate(_SMALL, start=2)}
    | {word: 10 * value for value, word in enumerate(_TENS, start=2)}
)
_TIMES = {"dozen": 12, "hundred": 100}
_WORDED = re.compile(
    rf"\b(?P<words>(?:{'|'.join(_TENS)})(?:[-\s](?:one|{'|'.join(_SMALL[:8])})\b)?|(?:{'|'.join(_SMALL)})\b"
    rf"|(?:a|one)(?=\s(?:dozen|hundred|{_SCALE_WORDS})))\b(?:\s(?P<times>dozen|hundred)\b)?(?P<scale>\s{_SCALE_WORDS})?",
    re.IGNORECASE,
)
_FALLING = re.compile(
    r"\b(?:behind|below|declin|decreas|deficit|down|drop|fall|fell|less|loss|lower|minus|negative|short|under)",
    re.IGNORECASE,
)
"""Beginnings of words that say the sign of a number."""

_SEPARATORS = re.compile(r"[,'\u2019\u00a0\u202f]")


@dataclass(frozen=True, slots=True)
class Number:
    """One number with everything that its spelling may mean: 1,234 and 1.234 are read both ways.

    scale    by what it is multiplied (2.4M), 1 for a number that is said in full; is_loose: or by nothing (12m).
    places   behind the point, which say how exact a number with a scale is.
    is_day   6th: of a month, or the sixth of something.
    unit     what it is of, in one spelling (inr, %, hour, kg), or the word behind it; "" where nothing says so.
    is_amount  whether a currency, a unit or a word like lakh says that it is one.
    start, end  its characters in the text, with currency and unit.
    """

    values: frozenset[Decimal]
    scale: int = 1
    places: int = 0
    is_loose: bool = False
    is_day: bool = False
    unit: str = ""
    is_amount: bool = False
    start: int = 0
    end: int = 0

    def is_same_amount(self, there: "Number") -> bool:
        """Return whether another number is exactly as much of the same, or of what it does not say."""
        is_same_unit = self.unit == there.unit or not self.unit or not there.unit
        return is_same_unit and not self.exact.isdisjoint(there.exact)

    def is_said(self, one: "Number", *, falling: bool) -> bool:
        """Whether the other is this one. falling: a word says the sign that this one does not have."""
        theirs = one.values | frozenset(map(abs, one.values)) if falling else one.values
        is_alike = self.scale == one.scale
        may_be = is_alike or (self.scale == 1 and one.is_loose) or (one.scale == 1 and self.is_loose)
        if is_alike or (may_be and self.values & theirs):
            return bool(self.values & theirs)
        off = self._off if one.scale == 1 else Decimal()
        return any(abs(mine - its) <= off for mine in self.full for its in one.full)

    @property
    def full(self) -> frozenset[Decimal]:
        """What it comes to."""
        return self.values if self.scale == 1 else frozenset({min(self.values, key=abs) * self.scale})

    @property
    def exact(self) -> frozenset[Decimal]:
        """What it comes to where a point before three digits parts thousands: 45.000 rupees are no 45 rupees."""
        value = max(self.values, key=abs)
        return frozenset({value * self.scale, *([value] if self.is_loose else [])})

    @property
    def _off(self) -> Decimal:
        """How far off a source may be that says it in full: half of its last place."""
        return Decimal(self.scale) / (2 * 10**self.places) if self.scale > 1 else Decimal()


@dataclass(frozen=True, slots=True)
class Figures:
    """The dates and numbers of a text; falling: it says of numbers that they are less than something."""

    dates: frozenset[Date]
    numbers: tuple[Number, ...]
    falling: bool = False

    def unsupported(self, others: "Figures") -> bool:
        """Whether it names a figure that the others do not."""
        if any(not date.is_in(others.dates) for date in self.dates):
            return True
        return any(not self._is_said(one, others) for one in self.numbers)

    def _is_said(self, one: Number, others: "Figures") -> bool:
        """By a number, or by the part of a date that people count with: its year, and the day where it is called so."""
        if any(one.is_said(other, falling=self.falling) for other in others.numbers):
            return True
        counted = {date.year for date in others.dates}
        if one.is_day:
            counted |= {date.day for date in others.dates}
        return one.scale == 1 and any(Decimal(part) in one.values for part in counted if part is not None)


def figures(text: str) -> Figures:
    """Return the dates and numbers of a text, number words from two on included."""
    dates, rest = take_dates(ascii_digits(text))
    numbers = (*digit_numbers(rest), *_worded(rest))
    return Figures(frozenset(found.date for found in dates), numbers, falling=bool(_FALLING.search(text)))


def ascii_digits(text: str) -> str:
    """Return the text with the digits of any script as 0 to 9, as long as before."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.digit(one)) if one.isdecimal() and not one.isascii() else one for one in text)


def digit_numbers(text: str) -> Iterator[Number]:
    """Yield the numbers that are written in digits 0 to 9, in order, dates among them as their parts."""
    for found in _NUMBER.finditer(text):
        sign = -1 if found["sign"] else 1
        values = frozenset(sign * value for value in _readings(found["digits"]))
        scale, is_loose = _scale(found["scale"])
        unit = _unit(found)
        if found["currency"] and scale == 1 and unit == _AMBIGUOUS:  # $5 m
            scale, unit = _SCALES[_AMBIGUOUS], ""
        exponent = min(values, key=abs).as_tuple().exponent
        places = -exponent if isinstance(exponent, int) and exponent < 0 else 0
        is_word_scale = len((found["scale"] or "").strip()) > 1
        is_apart = bool(found["currency"]) or not re.match(r"[\w.,]", text[max(0, found.start() - 1) : found.start()])
        yield Number(
            values,
            scale,
            places,
            is_loose and not found["currency"],
            bool(found["ordinal"]),
            _currency(found) or unit or _word_behind(found),
            is_amount=is_apart and bool(found["currency"] or found["unit"] or is_word_scale),
            start=found.start(),
            end=found.end(),
        )


def _currency(found: re.Match[str]) -> str:
    sign = (found["currency"] or "").casefold().rstrip(".")
    return _CURRENCIES.get(sign, sign)


def _unit(found: re.Match[str]) -> str:
    word = (found["unit"] or "").casefold()
    return _UNITS.get(word) or _UNITS.get(word.removesuffix("s"), word)


def _word_behind(found: re.Match[str]) -> str:
    """The word behind a short number, which says what it counts: 45 folks are no 45 euros."""
    if sum(map(str.isdigit, found["digits"])) >= _LONG:
        return ""
    word = _NEXT_WORD.match(found.string, found.end())
    return word[1].casefold() if word else ""


def _worded(text: str) -> Iterator[Number]:
    for found in _WORDED.finditer(text):
        value = sum(_WORDS[word.lower()] for word in re.split(r"[-\s]", found["words"]))
        times = _TIMES.get((found["times"] or "").lower(), 1)
        yield Number(frozenset({Decimal(value * times)}), _scale(found["scale"])[0])


def _scale(said: str | None) -> tuple[int, bool]:
    """By what a number is multiplied, and whether that is not sure."""
    word = (said or "").strip().rstrip(".").casefold()
    return _SCALES.get(word) or _SCALES.get(word.removesuffix("s"), 1), word == _AMBIGUOUS


def _readings(digits: str) -> Iterator[Decimal]:
    """What a run of digits may mean. A point or a single comma before other than three digits is decimal; before three
    it may be either; everything else parts thousands."""
    plain = _SEPARATORS.sub("", digits)
    head, comma, tail = digits.rpartition(",")
    whole = head.replace(".", "")
    if comma and not _SEPARATORS.search(head) and "." not in head and len(tail) < 3 and tail.isdigit():
        yield Decimal(f"{head}.{tail}")  # 0,35
        return
    if comma and "." in head and whole.isdigit() and tail.isdigit():
        yield Decimal(f"{whole}.{tail}")  # 2.400.000,50
        return
    if plain.count(".") > 1:
        yield Decimal(plain.replace(".", ""))  # 2.400.000, or a version, or a numbered heading
        return
    yield Decimal(plain)
    before, point, after = plain.partition(".")
    if point and len(after) == 3 and before != "0":
        yield Decimal(before + after)
    if comma and head.isdigit() and len(tail) == 3:
        yield Decimal(digits.replace(",", "."))
