"""Layer 9: the moment. The only place where a prompt tells the time, so that nothing before it changes with it."""

from dataclasses import dataclass
from datetime import datetime

from parlour.prompts.assembly import tail
from parlour.prompts.assembly.segment import Layer
from parlour.text.token_counter import TokenCounter

MAX_TOKENS = 85
"""Tokens of the layer (design section 7, layer 9): 60 of its text, and 25 of its wrapping."""

_CHANNEL_HINTS = {
    "whatsapp": "WhatsApp: about 80 words, no tables",
    "web": "web chat: Markdown, at most 400 words",
}
_MAX_LOCALE_CHARS = 11
"""Letters: a language, a script and a region, like zh-Hant-TW."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes, as the model reads it: "visitor Priya (not signed in)".

    kind  what they are to the tenant; `note` says how they are known, or their roles.
    name  as they are called; "" when not known.
    """

    kind: str
    note: str = ""
    name: str = ""


def render_turn_metadata(
    counter: TokenCounter, at: datetime, channel: str, locale: str | None, writer: Writer, duty: str = ""
) -> str:
    """Render the time, who is on duty, the channel with its limit of a reply, the user's locale, and who writes.

    at    the turn's time in the zone of the place.
    duty  until when the team is on duty, or when it is back; "" where there are no hours.

    Its tokens have a limit, with the wrapping. A name that exceeds it loses its last words, and is left out when its
    first word does not fit: half a word is no name.
    """
    moment = f"{at:%a} {at.day} {at:%b %Y %H:%M %Z}"
    spoken, words = (locale or "")[:_MAX_LOCALE_CHARS], writer.name.split()
    note = f"({writer.note})" if writer.note else ""
    tries = [
        ", ".join(
            filter(
                None,
                (
                    moment,
                    duty,
                    _CHANNEL_HINTS.get(channel, channel),
                    spoken,
                    " ".join(filter(None, (writer.kind, *words[:count], note))),
                ),
            )
        )
        for count in range(len(words), -1, -1)
    ]
    return next(
        (text for text in tries if tail.tail_segment(counter, Layer.HEARTBEAT, [text]).tokens <= MAX_TOKENS), tries[-1]
    )
