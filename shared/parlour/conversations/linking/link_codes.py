"""The code that proves a number to be somebody's: its form, its seal, its limits, and the words around it. Pure.

A code has six digits, so its hash alone would be undone by trying them all: what is stored is sealed with a secret of
the deployment. Five tries at one of three an hour leave a guesser fifteen chances in a million.
"""

import hashlib
import hmac
import re
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

from parlour.infra.errors import InvalidRequest
from parlour.infra.signing_keys import parse_signing_keys

CODE_LIFETIME = timedelta(minutes=10)
MAX_ATTEMPTS = 5
MAX_CODES_PER_HOUR, MAX_CODES_PER_DAY = 3, 6
"""Codes that one visitor may ask for in an hour, and that one network address may for one number in an hour and a day.
A stranger leaves codes for the owner of a number."""

MAX_NUMBER_CODES_PER_HOUR, MAX_NUMBER_CODES_PER_DAY = 9, 18
"""Codes for one number from all addresses: no phone is flooded, and 90 tries a day guess one of a million."""

MAX_ADDRESS_CODES_PER_HOUR = 10
"""Codes that visitors of one network address may ask for in an hour: an office, and a fraction of a binding's."""

MAX_STRANGER_CODES_PER_DAY, MAX_STRANGER_NUMBER_CODES_PER_DAY = 3, 9
"""Codes in a day for one number that never wrote to the binding: that one network address asks for, and in all. Those
that are asked for and not sent count too: all that one address may ask for leave some."""

MAX_BINDING_CODES_PER_HOUR = 200
"""Codes that a binding sends in an hour, whoever asks and for whatever number: each is a message that is paid for, and
visitors cost nothing."""

_DIGITS = 6
_PHONE_PUNCTUATION = re.compile(r"[\s().\u2010-\u2015/-]")
_E164 = re.compile(r"\+[1-9]\d{7,14}")


def generate_code(random_below: Callable[[int], int]) -> str:
    """Return a new code; `random_below(n)` draws an unpredictable number from 0 to n - 1."""
    return f"{random_below(10**_DIGITS):0{_DIGITS}d}"


def hash_code(secret: str, link_id: UUID, code: str) -> bytes:
    """Return what is stored of a code: 32 bytes that reveal nothing without the secret. Spaces do not count."""
    # The older key, while one is being replaced: codes that are under way stay good.
    key = parse_signing_keys(secret)[-1]
    return hmac.new(key.encode(), f"phone-link:{link_id}:{''.join(code.split())}".encode(), hashlib.sha256).digest()


def hashes_equal(one: bytes, other: bytes) -> bool:
    """Whether two seals are equal; takes the same time either way."""
    return hmac.compare_digest(one, other)


def parse_phone_number(text: str) -> str:
    """Return a number as people write it in E.164; InvalidRequest when it has no country code or is none."""
    bare = _PHONE_PUNCTUATION.sub("", text)
    number = f"+{bare.removeprefix('00')}" if bare.startswith("00") else bare
    if not _E164.fullmatch(number):
        raise InvalidRequest("phone: write the number with its country code, as in +91 98000 00001")
    return number


def render_code_message(code: str, agent: str) -> str:
    """Return the message with the code; one paragraph, so that it fits into a template's parameter."""
    minutes = int(CODE_LIFETIME.total_seconds() // 60)
    return (
        f"{code} is your code to link this chat with your web conversations with {agent}. "
        f"It is valid for {minutes} minutes. If you did not request it, ignore it and do not share it."
    )
