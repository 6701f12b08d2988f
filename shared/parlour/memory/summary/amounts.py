"""Figures with what they are of: 45,000 rupees, 12 bags, 1.5 lakh. Pure.

Two are one when they are as much of the same, however either is written: Rs 1,00,000 and 1 lakh rupees.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

_CURRENCY = (
    r"(?:[\u20a0-\u20bf$\u00a3\u00a5]|(?<!\w)(?:रु|रू|ரூ|ರೂ|ರು|రూ)\.|\b(?:Rs\.?|INR|USD|EUR|GBP|AED|CHF|JPY)(?![A-Za-z]))"
)
_AFTER = r"(?:[\u20a0-\u20bf$\u00a3\u00a5]|(?:INR|USD|EUR|GBP|AED|CHF|JPY)(?![A-Za-z]))"
_NUMBER = r"\d(?:[\d.,'\u2019\u00a0\u202f]*\d)?"
_SCALE = r"(?:\s?(?:million|billion|thousand|lakhs?|crores?|bn|mn|[kKmM])\b)?"
_UNIT = (
    r"(?:%|percent|per cent|rupees?|dollars?|euros?|pounds?|रुपये|°C|[kcm]?m[23²³]?|kg|g|mg|tonnes?|tons?|litres?|liters?"
    r"|l|ml|kW|kWh|MW|V|hours?|hrs?|minutes?|mins?|days?|weeks?|months?|years?|pieces?|units?|bags?|people|persons?"
    r"|guests?|nights?|rooms?|seats?|boxes)(?![A-Za-z])"
)
PATTERNS = (
    re.compile(rf"{_CURRENCY}\s?{_NUMBER}{_SCALE}", re.IGNORECASE),
    re.compile(rf"(?<![\w.,]){_NUMBER}{_SCALE}\s?(?:{_UNIT}|{_AFTER})", re.IGNORECASE),
    re.compile(rf"(?<![\w.,]){_NUMBER}\s?(?:million|billion|thousand|lakhs?|lacs?|crores?)\b", re.IGNORECASE),
)
"""How a figure is written with what it is of, the surest first."""

_BARE = re.compile(_NUMBER)
_OF_SOMETHING = re.compile(r"\s?[^\W\d_]")
_LONG = 4
"""Digits from which on a figure tells something without what it is of."""

_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+")
"""45.000, as it is written where a comma stands before cents."""

_SCALES = {
    "thousand": 1_000, "k": 1_000, "lakh": 100_000, "lac": 100_000, "million": 1_000_000, "mn": 1_000_000,
    "m": 1_000_000, "crore": 10_000_000, "billion": 1_000_000_000, "bn": 1_000_000_000,
}  # fmt: skip
_SAME = {
    "rs": "inr", "₹": "inr", "rupee": "inr", "रुपये": "inr", "$": "usd", "dollar": "usd", "€": "eur", "euro": "eur",
    "£": "gbp", "pound": "gbp", "¥": "jpy", "percent": "%", "cent": "%", "hr": "hour", "min": "minute",
    "tonne": "ton", "liter": "litre", "person": "people", "boxe": "box",
} | dict.fromkeys(("रु", "रू", "ரூ", "ರೂ", "ರು", "రూ"), "inr")  # fmt: skip
_MARKS = re.compile(r"[,'\u2019\u00a0\u202f]")
_LETTERS = re.compile(r"[^\s\d.,'\u2019|-]+")


@dataclass(frozen=True, slots=True)
class Amount:
    """So much of something. number: as digits; of: what it is of, "" where nothing says so."""

    number: str
    of: str

    def is_told_by(self, there: "Amount") -> bool:
        """Whether another one says as much of the same, or of what it does not say."""
        return self.number == there.number and (self.of == there.of or not self.of or not there.of)


def of(text: str) -> set[Amount]:
    """The figures of a text, also those of which nothing is said."""
    found: set[Amount] = set()
    for pattern in PATTERNS:
        found.update(_read(one[0]) for one in pattern.finditer(text))
        text = pattern.sub("|", text)
    return found | {Amount(_plain(one[0], 1), "") for one in _BARE.finditer(text) if _is_bare(one)}


def _is_bare(number: re.Match[str]) -> bool:
    """Whether a figure stands for itself: 45 folks are no 45 euros."""
    return sum(map(str.isdigit, number[0])) >= _LONG or not _OF_SOMETHING.match(number.string, number.end())


def _read(written: str) -> Amount:
    number = _BARE.search(written)
    if number is None:
        return Amount(written, "")
    scale, unit = 1, ""
    for word in _beside(written[: number.start()], written[number.end() :]):
        if word in _SCALES and not (word == "m" and not unit and number.start() == 0):
            scale = _SCALES[word]
        else:
            unit = _SAME.get(word, word)
    return Amount(_plain(number[0], scale), unit)


def _beside(before: str, after: str) -> Iterator[str]:
    """The words at a figure in one spelling, a currency first."""
    for word in (*_LETTERS.findall(before.casefold()), *_LETTERS.findall(after.casefold())):
        plural = len(word) > len("rs") and word.endswith("s")
        yield word[:-1] if plural else word


def _plain(number: str, scale: int) -> str:
    """The number without what parts its thousands: 45,000 and 45000 are one, and 1.5 lakh is 150000."""
    digits = number.replace(".", "") if _THOUSANDS.fullmatch(number) else _MARKS.sub("", number)
    try:
        much = Decimal(digits) * scale
    except InvalidOperation:
        return digits
    return f"{much.normalize():f}"
