"""What is never kept as a fact, whoever said it: secrets, and numbers that open accounts or prove identity. Pure."""

import re

_SECRET = re.compile(
    r"\b(?:pass ?words?|passwd|pwd|passcode|pass ?phrase|otp|one[- ]time (?:code|password)"
    r"|(?:verification|security|login|access|recovery|unlock) (?:code|key|phrase)|seed phrase|(?:access|auth) ?token"
    r"|cvv2?|cvc2?|secrets?|private key|api[ _]?key|aadhaa?r|adhaa?r|pan (?:card|number|no|id)"
    r"|passport (?:number|no|id)"
    r"|social security|ssn|card (?:number|no)|credit card|debit card|bank (?:account|details)|(?:account|acct|a/c)"
    r" (?:number|no|num)|driv(?:ing|er'?s?) licen[cs]e (?:number|no)|voter'?s? (?:id|card)|iban|ifsc"
    r"|contraseña|mot de passe|passwort|kennwort|senha|kontonummer)\b"
    r"|पासवर्ड|ओटीपी|सीवीवी"
    r"|आधार (?:कार्ड|नंबर|नम्बर|संख्या|\d)"
    r"|पैन (?:कार्ड|नंबर)|खाता (?:नंबर|संख्या)"
    r"|கடவுச்சொல்|பாஸ்வேர்டு|கணக்கு எண்"
    r"|పాస్\u200c?వర్డ్|ಪಾಸ್\u200c?ವರ್ಡ್|পাসওয়ার্ড"
    r"|كلمة (?:السر|المرور|سر|مرور)|رقم الحساب|密码|暗証番号|パスワード",
    re.IGNORECASE,
)
_PIN = re.compile(
    r"\bpin\b(?P<code>[ -]?codes?\b)?|\bpincodes?\b|पिन(?:\s*कोड)?|பின்",
    re.IGNORECASE,
)
_OPENS = re.compile(
    r"\b(?:atm|upi|card|bank|sim|phone|debit|credit|login|unlock|door|my|secret|app|wallet)\s*$", re.IGNORECASE
)
_POSTAL = re.compile(r"[^\d\n]{0,15}[1-9]\d{2} ?\d{3}(?!\d)")
_IDENTITY = re.compile(
    r"\b(?:[a-z]{5}\d{4}[a-z]|[a-z]{2}[ -]?\d{2}[ -]?(?:19|20)\d{9}|[a-z]{4}0[a-z\d]{6})\b"
    r"|\b(?-i:[A-Z]{2}\d{2}(?: ?[A-Z\d]{4}){3,7}(?: ?[A-Z\d]{1,3})?)\b",
    re.IGNORECASE,
)
"""A PAN, an Indian driving licence, the code of a bank's branch, an IBAN."""

_PAPER = re.compile(
    r"\b(?:passports?|licen[cs]e(?! ?plate)|identity card|id card|voter|account(?! manager)|acct|a/c|pan)\b"
    r"|पासपोर्ट|खाता",
    re.IGNORECASE,
)
_LONG_NUMBER = re.compile(r"(?<!\w)(?=(?:[a-z /-]{0,4}\d){5})[a-z]{0,5}[ -]?\d[a-z\d -]{4,}", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_BETWEEN = re.compile(r"[ .\-/\u00a0]{0,3}")
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
    number, or the form of a paper that proves who somebody is. A postal PIN code is none."""
    told = f"{key.replace('_', ' ').replace('.', ' ')} {value}"
    if _SECRET.search(told) or _IDENTITY.search(value):
        return True
    if _is_told(key, value) and any(not _is_postal(told, named) for named in _PIN.finditer(told)):
        return True
    return bool(_PAPER.search(told) and _LONG_NUMBER.search(value)) or any(map(_is_numbered, _numbers(value)))


def _is_told(key: str, value: str) -> bool:
    """Whether there is a number, or the key is called after one; there are firms with a pin in their name."""
    return any(map(str.isdigit, value)) or _PIN.search(key.replace("_", " ").replace(".", " ")) is not None


def _is_postal(told: str, named: re.Match[str]) -> bool:
    """Whether a PIN is that of a place: beside six digits, and nobody's or nothing's own."""
    is_code = "code" in named[0].lower() or "कोड" in named[0]
    before = told[: named.start()].rstrip()
    owned = _OPENS.search(before)
    if owned and not (is_code and owned[0].strip().lower() == "my"):
        return False
    stands_alone = is_code or len(before.split()) > 1
    return stands_alone and (_POSTAL.match(told, named.end()) is not None)


def _numbers(value: str) -> list[str]:
    """Every number of 12 to 19 digits that groups of digits beside each other make."""
    groups = list(_DIGITS.finditer(value))
    found: list[str] = []
    for first, one in enumerate(groups):
        digits, end = one[0], one.end()
        for other in groups[first + 1 :]:
            found.append(digits)
            if len(digits) > 19 or not _BETWEEN.fullmatch(value, end, other.start()):
                digits = ""
                break
            digits, end = digits + other[0], other.end()
        found.append(digits)
    return ["".join(str(int(digit)) for digit in one) for one in found if 12 <= len(one) <= 19]


def _is_numbered(digits: str) -> bool:
    return (len(digits) == 12 and _is_aadhaar(digits)) or (len(digits) >= 13 and _is_card(digits))


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
