"""The numbers of a text with what they are of, however they are written, and whether another text names them too. Pure.

2,400,000 and 2.4M are one number, so are ₹1,00,000 and 1 lakh rupees. Nothing is added up or converted: what has to be
reckoned stands in no source.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from parlour.text.dates import Date, extract_dates
from parlour.text.words import word_parts


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
_CURRENCY_SIGNS = r"[\u20a0-\u20bf$\u00a3\u00a5]"
_PREFIX_CURRENCIES = "|".join(sorted((name for name in _CURRENCIES if len(name) > 1), key=len, reverse=True))
_SUFFIX_UNITS = "|".join(map(re.escape, sorted(_UNITS, key=len, reverse=True)))
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w.,)])[-\u2212](?={_CURRENCY_SIGNS}?\d))?"
    rf"(?:(?P<currency>{_CURRENCY_SIGNS}|(?<![^\W\d_])(?:{_PREFIX_CURRENCIES})\.?(?![^\W\d_]))\s?)?"
    r"(?P<digits>\d+(?:[.,'\u2019\u00a0\u202f]\d+)*)(?P<ordinal>(?:st|nd|rd|th)\b)?"
    rf"(?P<scale>\s?{_SCALE_WORDS}|[kmb](?![\w²³]))?"
    # A currency before the next digits belongs to them: "PX-48213 Rs 45,000".
    rf"(?:(?!\s?(?:{_CURRENCY_SIGNS}|(?:{_PREFIX_CURRENCIES})\.?)\s?\d)"
    rf"\s?(?P<unit>{_CURRENCY_SIGNS}|(?:{_SUFFIX_UNITS})s?(?![^\W\d_])))?",
    re.IGNORECASE,
)
_NEXT_WORD = re.compile(r"\s?([^\W\d_]+)")

#: Digits from which on a number means itself, whatever word is behind it: 45 folks are no 45 euros.
_LONG_NUMBER_DIGITS = 4

#: Million or metre: 12m.
_AMBIGUOUS_SCALE = "m"

#: From two to nineteen.
_SMALL_NUMBER_WORDS = re.findall(
    r"\w+",
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen",
)
_TENS_WORDS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_NUMBER_WORDS = (
    {"a": 1, "one": 1}
    | {word: value for value, word in enumerate(_SMALL_NUMBER_WORDS, start=2)}
    | {word: 10 * value for value, word in enumerate(_TENS_WORDS, start=2)}
)
_MULTIPLIERS = {"dozen": 12, "hundred": 100}

#: The digits as people spell them in phone numbers, by language, and what repeats the next one.
_DIGIT_WORDS = {
    word: str(digit)
    for names in (
        "zero oh nought|one|two|three|four|five|six|seven|eight|nine",
        "null|eins|zwei zwo|drei|vier|fünf|sechs|sieben|acht|neun",
        "cero|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve",
        "शून्य ज़ीरो जीरो|एक|दो|तीन|चार|पांच पाँच|छह छः छे|सात|आठ|नौ",
        "shunya|ek|do|teen|char chaar|paanch panch|chhe chhah|saat|aath|nau",
        "பூஜ்யம் பூஜ்ஜியம்|ஒன்று|இரண்டு|மூன்று|நான்கு|ஐந்து|ஆறு|ஏழு|எட்டு|ஒன்பது",
    )
    for digit, group in enumerate(names.split("|"))
    for word in group.split()
}
_REPEAT_WORDS = {"double": 2, "doppel": 2, "doble": 2, "डबल": 2, "டபுள்": 2, "triple": 3}
_WRITTEN_NUMBER = re.compile(
    rf"\b(?P<words>(?:{'|'.join(_TENS_WORDS)})(?:[-\s](?:one|{'|'.join(_SMALL_NUMBER_WORDS[:8])})\b)?|(?:{'|'.join(_SMALL_NUMBER_WORDS)})\b"
    rf"|(?:a|one)(?=\s(?:dozen|hundred|{_SCALE_WORDS})))\b(?:\s(?P<times>dozen|hundred)\b)?(?P<scale>\s{_SCALE_WORDS})?",
    re.IGNORECASE,
)
_DECREASE_WORDS = re.compile(
    r"\b(?:behind|below|declin|decreas|deficit|down|drop|fall|fell|less|loss|lower|minus|negative|short|under)",
    re.IGNORECASE,
)
"""Beginnings of words that say the sign of a number."""

_SEPARATORS = re.compile(r"[,'\u2019\u00a0\u202f]")


@dataclass(frozen=True, slots=True)
class Number:
    """One number with all values that its spelling may mean: 1,234 and 1.234 are read both ways.

    scale                the factor (2.4M), 1 for a number without one.
    has_uncertain_scale  the factor may also be 1 (12m).
    decimal_places       the places after the point, which say how exact a number with a scale is.
    is_ordinal           6th: a day of a month, or a rank.
    unit                 its unit in one spelling (inr, %, hour, kg), or the next word; "" when there is none.
    is_amount            whether a currency, a unit or a word like lakh marks it as an amount.
    start, end           its characters in the text, with currency and unit.
    """

    values: frozenset[Decimal]
    scale: int = 1
    decimal_places: int = 0
    has_uncertain_scale: bool = False
    is_ordinal: bool = False
    unit: str = ""
    is_amount: bool = False
    start: int = 0
    end: int = 0

    def is_same_amount(self, other: "Number") -> bool:
        """Return whether another number is exactly as much of the same, or of what it does not say."""
        is_same_unit = self.unit == other.unit or not self.unit or not other.unit
        return is_same_unit and not self.exact_values.isdisjoint(other.exact_values)

    def is_stated_by(self, other: "Number", *, ignores_sign: bool) -> bool:
        """Whether the other is this one. falling: a word says the sign that this one does not have."""
        theirs = other.values | frozenset(map(abs, other.values)) if ignores_sign else other.values
        is_alike = self.scale == other.scale
        may_be = (
            is_alike
            or (self.scale == 1 and other.has_uncertain_scale)
            or (other.scale == 1 and self.has_uncertain_scale)
        )
        if is_alike or (may_be and self.values & theirs):
            return bool(self.values & theirs)
        # A source that says it in full may be off by half of this number's last place.
        is_rounded = self.scale > 1 and other.scale == 1
        off = Decimal(self.scale) / (2 * 10**self.decimal_places) if is_rounded else Decimal()
        return any(abs(mine - its) <= off for mine in self.full_values for its in other.full_values)

    @property
    def full_values(self) -> frozenset[Decimal]:
        """What it comes to."""
        return self.values if self.scale == 1 else frozenset({min(self.values, key=abs) * self.scale})

    @property
    def exact_values(self) -> frozenset[Decimal]:
        """What it comes to where a point before three digits parts thousands: 45.000 rupees are no 45 rupees."""
        value = max(self.values, key=abs)
        return frozenset({value * self.scale, *([value] if self.has_uncertain_scale else [])})


@dataclass(frozen=True, slots=True)
class Figures:
    """The dates and numbers of a text; falling: it says of numbers that they are less than something."""

    dates: frozenset[Date]
    numbers: tuple[Number, ...]
    states_decrease: bool = False

    def has_unsupported(self, source: "Figures") -> bool:
        """Whether it names a figure that the others do not."""
        if any(not date.is_in(source.dates) for date in self.dates):
            return True
        return any(not self._is_stated_in(one, source) for one in self.numbers)

    def _is_stated_in(self, number: Number, source: "Figures") -> bool:
        """By a number, or by the part of a date that people count with: its year, and the day where it is called so."""
        if any(number.is_stated_by(other, ignores_sign=self.states_decrease) for other in source.numbers):
            return True
        counted = {date.year for date in source.dates}
        if number.is_ordinal:
            counted |= {date.day for date in source.dates}
        return number.scale == 1 and any(Decimal(part) in number.values for part in counted if part is not None)


def find_figures(text: str) -> Figures:
    """Return the dates and numbers of a text, number words from two on included."""
    dates, rest = extract_dates(ascii_digits(text))
    numbers = (*find_digit_numbers(rest), *_find_written_numbers(rest))
    return Figures(
        frozenset(found.date for found in dates), numbers, states_decrease=bool(_DECREASE_WORDS.search(text))
    )


def ascii_digits(text: str) -> str:
    """Return the text with the digits of any script as 0 to 9, as long as before."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.digit(one)) if one.isdecimal() and not one.isascii() else one for one in text)


def find_digit_numbers(text: str) -> Iterator[Number]:
    """Yield the numbers that are written in digits 0 to 9, in order, dates among them as their parts."""
    for found in _NUMBER.finditer(text):
        sign = -1 if found["sign"] else 1
        values = frozenset(sign * value for value in _possible_values(found["digits"]))
        scale, is_loose = _parse_scale(found["scale"])
        word = (found["unit"] or "").casefold()
        unit = _UNITS.get(word) or _UNITS.get(word.removesuffix("s"), word)
        if found["currency"] and scale == 1 and unit == _AMBIGUOUS_SCALE:  # $5 m
            scale, unit = _SCALES[_AMBIGUOUS_SCALE], ""
        exponent = min(values, key=abs).as_tuple().exponent
        places = -exponent if isinstance(exponent, int) and exponent < 0 else 0
        currency = (found["currency"] or "").casefold().rstrip(".")
        is_word_scale = len((found["scale"] or "").strip()) > 1
        is_apart = bool(found["currency"]) or not re.match(r"[\w.,]", text[max(0, found.start() - 1) : found.start()])
        yield Number(
            values,
            scale,
            places,
            is_loose and not found["currency"],
            bool(found["ordinal"]),
            _CURRENCIES.get(currency, currency) or unit or _following_word(found),
            is_amount=is_apart and bool(found["currency"] or found["unit"] or is_word_scale),
            start=found.start(),
            end=found.end(),
        )


def _following_word(found: re.Match[str]) -> str:
    """Return the word after a short number, which names its unit: "45 people" is not "45 euros"."""
    if sum(map(str.isdigit, found["digits"])) >= _LONG_NUMBER_DIGITS:
        return ""
    word = _NEXT_WORD.match(found.string, found.end())
    return word[1].casefold() if word else ""


def _find_written_numbers(text: str) -> Iterator[Number]:
    for found in _WRITTEN_NUMBER.finditer(text):
        value = sum(_NUMBER_WORDS[word.lower()] for word in re.split(r"[-\s]", found["words"]))
        times = _MULTIPLIERS.get((found["times"] or "").lower(), 1)
        yield Number(frozenset({Decimal(value * times)}), _parse_scale(found["scale"])[0])


def _parse_scale(scale_text: str | None) -> tuple[int, bool]:
    """By what a number is multiplied, and whether that is not sure."""
    word = (scale_text or "").strip().rstrip(".").casefold()
    return _SCALES.get(word) or _SCALES.get(word.removesuffix("s"), 1), word == _AMBIGUOUS_SCALE


def _possible_values(digits: str) -> Iterator[Decimal]:
    """Yield the possible values of a run of digits.

    A point or a single comma is decimal, unless three digits follow: then it may also separate thousands. All other
    separators separate thousands.
    """
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


def spelled_digits(text: str) -> str:
    """Return all digits of a text in order, also those that are spelled out: "oh seven, double five" is 0755."""
    digits: list[str] = []
    repeat = 1
    for word in word_parts(ascii_digits(text).casefold()):
        repeated = _REPEAT_WORDS.get(word)
        found = word if word.isdecimal() else _DIGIT_WORDS.get(word, "")
        digits.append(found * repeat if len(found) == 1 else found)
        repeat = repeated or 1
    return "".join(digits)
