"""Data that is never stored as a fact: secrets, and numbers that open accounts or prove identity. Pure."""

import re
from collections.abc import Iterator

from stdnum import iban, luhn
from stdnum.in_ import aadhaar

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
_PIN_WORD = re.compile(
    r"\bpin\b(?P<code>[ -]?codes?\b)?|\bpincodes?\b|पिन(?:\s*कोड)?|பின்",
    re.IGNORECASE,
)
_PIN_OWNER = re.compile(
    r"\b(?:atm|upi|card|bank|sim|phone|debit|credit|login|unlock|door|my|secret|app|wallet)\s*$", re.IGNORECASE
)
_POSTAL_CODE = re.compile(r"[^\d\n]{0,15}[1-9]\d{2} ?\d{3}(?!\d)")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z\d]{4}){3,7}(?: ?[A-Z\d]{1,3})?\b")

#: A PAN (also one with a slip of the pen), an Indian driving licence, the code of a bank's branch (IFSC).
_IDENTITY_CODE = re.compile(
    r"\b(?:[a-z]{5}\d{4}[a-z]|[a-z]{2}[ -]?\d{2}[ -]?(?:19|20)\d{9}|[a-z]{4}0[a-z\d]{6})\b", re.IGNORECASE
)

_DOCUMENT_WORD = re.compile(
    r"\b(?:passports?|licen[cs]e(?! ?plate)|identity card|id card|voter|account(?! manager)|acct|a/c|pan)\b"
    r"|पासपोर्ट|खाता",
    re.IGNORECASE,
)
_LONG_NUMBER = re.compile(r"(?<!\w)(?=(?:[a-z /-]{0,4}\d){5})[a-z]{0,5}[ -]?\d[a-z\d -]{4,}", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_DIGIT_SEPARATOR = re.compile(r"[ .\-/\u00a0]{0,3}")
_INVISIBLE = re.compile(r"[\u200b-\u200d\u2060\ufeff]")

#: 91 and an Indian mobile number. One in ten of them has the check digit of an Aadhaar number by chance.
_INDIAN_MOBILE = re.compile(r"91[6-9]")


def is_sensitive(key: str, value: str) -> bool:
    """Return whether the key or the value names a secret, or the value has a number that opens an account or proves an
    identity: a valid card, Aadhaar or IBAN number, a PAN, a driving licence, an IFSC code. Postal PIN codes do not
    count, and neither do 12 digits that begin like an Indian mobile number unless they are written 4-4-4."""
    told = f"{key.replace('_', ' ').replace('.', ' ')} {value}"
    if _SECRET.search(told) or _IDENTITY_CODE.search(value):
        return True
    if (any(map(str.isdigit, value)) or _PIN_WORD.search(key.replace("_", " ").replace(".", " ")) is not None) and any(
        not _is_postal_code(told, named) for named in _PIN_WORD.finditer(told)
    ):
        return True
    if any(map(iban.is_valid, _IBAN.findall(value))) or (_DOCUMENT_WORD.search(told) and _LONG_NUMBER.search(value)):
        return True
    return any(map(_is_account_or_identity, _long_numbers(_INVISIBLE.sub("", value))))


def _is_postal_code(text: str, pin_match: re.Match[str]) -> bool:
    """Whether a PIN is that of a place: beside six digits, and nobody's or nothing's own."""
    is_code = "code" in pin_match[0].lower() or "कोड" in pin_match[0]
    before = text[: pin_match.start()].rstrip()
    owned = _PIN_OWNER.search(before)
    if owned and not (is_code and owned[0].strip().lower() == "my"):
        return False
    stands_alone = is_code or len(before.split()) > 1
    return stands_alone and (_POSTAL_CODE.match(text, pin_match.end()) is not None)


def _long_numbers(value: str) -> Iterator[list[str]]:
    """Yield every number of 12 to 19 digits that neighbouring groups of digits make, as its groups."""
    groups = list(_DIGITS.finditer(value))
    for first in range(len(groups)):
        number: list[str] = []
        for place in range(first, len(groups)):
            if number and not _DIGIT_SEPARATOR.fullmatch(value, groups[place - 1].end(), groups[place].start()):
                break
            number.append("".join(str(int(digit)) for digit in groups[place][0]))
            length = sum(map(len, number))
            if length > 19:
                break
            if length >= 12:
                yield list(number)


def _is_account_or_identity(groups: list[str]) -> bool:
    digits = "".join(groups)
    if len(digits) > 12:
        return luhn.is_valid(digits)
    is_grouped = [len(group) for group in groups] == [4, 4, 4]
    return aadhaar.is_valid(digits) and (is_grouped or not _INDIAN_MOBILE.match(digits))
