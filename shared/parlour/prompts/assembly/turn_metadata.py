"""Layer 9: the moment. The only place where a prompt tells the time, so that nothing before it changes with it."""

from datetime import datetime

from parlour.prompts.assembly import tail
from parlour.prompts.assembly.segment import Layer
from parlour.text.token_counter import TokenCounter

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

MAX_TOKENS = 60
"""Tokens of the layer with its wrapping (design section 7, layer 9); the wrapping takes 25 of them."""

_CHANNEL_HINTS = {"whatsapp": ("WhatsApp without tables", "WhatsApp"), "web": ("web chat, Markdown", "web chat")}
_MAX_LOCALE_CHARS = 11
"""Letters: a language, a script and a region, like zh-Hant-TW."""


def render_turn_metadata(
    counter: TokenCounter, now: datetime, channel: str, locale: str | None, name: str | None, turn_number: int
) -> str:
    """Render time (of the turn, UTC), turn of the session, channel, and the user's locale and name when known.

    Its tokens have a limit, with the wrapping. Where the name exceeds it, what the channel shows is left out; then the
    name loses its last words, and is left out when its first word does not fit: half a word is nobody's name.
    """
    day = f"{WEEKDAYS[now.weekday()][:3]} {now.day} {now:%b %Y}"
    moment = f"{day} {now:%H:%M} UTC, turn {turn_number}"
    hinted, plain = _CHANNEL_HINTS.get(channel, (channel, channel))
    spoken, words = (locale or "")[:_MAX_LOCALE_CHARS], (name or "").split()
    names = [" ".join(words[:count]) for count in range(len(words), -1, -1)]
    tries = [
        ", ".join(filter(None, (moment, shown, spoken, f"user {one}" if one else "")))
        for one in names
        for shown in (hinted, plain)
    ]
    return next(
        (told for told in tries if tail.tail_segment(counter, Layer.HEARTBEAT, [told]).tokens <= MAX_TOKENS), tries[-1]
    )
