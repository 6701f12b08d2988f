"""Identifiers made by the application: UUID version 7 (RFC 9562, section 5.7).

They sort roughly by time, which keeps index pages warm. They are never a cursor and never a secret.
"""

from datetime import datetime
from os import urandom
from uuid import UUID

_MILLISECONDS_BITS = 48
_RANDOM_BITS = 80


def uuid7(now: datetime) -> UUID:
    """Return a new version 7 id for `now` (an aware time) with 74 random bits.

    `urandom` reads the kernel's generator on each call, so two sandboxes that were restored from one snapshot never
    make the same id.
    """
    milliseconds = int(now.timestamp() * 1000) & ((1 << _MILLISECONDS_BITS) - 1)
    value = (milliseconds << _RANDOM_BITS) | int.from_bytes(urandom(_RANDOM_BITS // 8))
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    return UUID(int=value)
