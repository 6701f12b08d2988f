"""What is never kept as a fact, whoever said it: secrets, and numbers that open accounts or prove identity. Pure."""

import re

_DIGITS = re.compile(r"\d(?:[ -]?\d){11,18}")
_SECRET = re.compile(
    r"\b(?:password|passcode|pass ?phrase|pin(?: code| number)?|otp|one[- ]time (?:code|password)|cvv|cvc|secret"
    r"|api[ _]?key|aadhaa?r|pan (?:card|number|no)|passport (?:number|no)|social security|ssn|card number|credit card"
    r"|debit card|bank account|iban|ifsc)\b",
    re.IGNORECASE,
)
_POSTAL = re.compile(r"pin ?codes?|pin$", re.IGNORECASE)
_VERHOEFF = (
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678", "5987604321", "6598710432", "7659821043",
    "8765932104", "9876543210",
)  # fmt: skip
_PERMUTED = (
    "0123456789",
    "1576283094",
    "5803796142",
    "8916043527",
    "9453126870",
    "4286573901",
    "2793806415",
    "7046913258",
)


def is_sensitive(key: str, value: str) -> bool:
    """Whether the key or the value says that it is a secret, or the value has the check digit of a card or an Aadhaar
    number. A postal PIN code is none."""
    told = f"{key.replace('_', ' ').replace('.', ' ')} {value}"
    named = _SECRET.search(told)
    if named and not _POSTAL.fullmatch(named[0]):
        return True
    return any(_is_numbered(found[0]) for found in _DIGITS.finditer(value))


def _is_numbered(written: str) -> bool:
    digits = "".join(letter for letter in written if letter.isdigit())
    return (len(digits) == 12 and _is_aadhaar(digits)) or (13 <= len(digits) <= 19 and _is_card(digits))


def _is_card(digits: str) -> bool:
    """Luhn's check digit."""
    doubled = [int(one) * (2 if place % 2 else 1) for place, one in enumerate(reversed(digits))]
    return sum(one - 9 if one > 9 else one for one in doubled) % 10 == 0


def _is_aadhaar(digits: str) -> bool:
    """Verhoeff's check digit; the first digit is 2 or more."""
    check = 0
    for place, digit in enumerate(reversed(digits)):
        check = int(_VERHOEFF[check][int(_PERMUTED[place % 8][int(digit)])])
    return check == 0 and digits[0] >= "2"
