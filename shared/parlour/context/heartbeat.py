"""Layer 9: the moment. The only place where a prompt tells the time, so that nothing before it changes with it."""

from datetime import datetime

from parlour.context import tail
from parlour.context.segment import Layer
from parlour.context.tokens import Meter

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

MOST = 60
"""Tokens of the layer with its wrapping (design section 7, layer 9); the wrapping takes 25 of them."""

_CHANNELS = {"whatsapp": ("WhatsApp without tables", "WhatsApp"), "web": ("web chat, Markdown", "web chat")}
_LONGEST_LOCALE = 11
"""Letters: a language, a script and a region, like zh-Hant-TW."""


def text(meter: Meter, now: datetime, channel: str, locale: str | None, name: str | None, turn: int) -> str:
    """Time (of the turn, UTC), turn of the session, channel, and the user's locale and name when known.

    `MOST` tokens with its wrapping, as `meter` counts them. Where the name makes it longer, what the channel shows is
    not said; then the name loses its last words, and one whose first word does not fit is left out: half a word is
    nobody's name.
    """
    day = f"{WEEKDAYS[now.weekday()][:3]} {now.day} {now:%b %Y}"
    moment = f"{day} {now:%H:%M} UTC, turn {turn}"
    hinted, plain = _CHANNELS.get(channel, (channel, channel))
    spoken, words = (locale or "")[:_LONGEST_LOCALE], (name or "").split()
    names = [" ".join(words[:count]) for count in range(len(words), -1, -1)]
    tries = [_told(moment, shown, spoken, one) for one in names for shown in (hinted, plain)]
    return next((told for told in tries if _size(meter, told) <= MOST), tries[-1])


def _told(moment: str, channel: str, locale: str, name: str) -> str:
    return ", ".join(filter(None, (moment, channel, locale, f"user {name}" if name else "")))


def _size(meter: Meter, told: str) -> int:
    return tail.segment(meter, Layer.HEARTBEAT, [told]).tokens
