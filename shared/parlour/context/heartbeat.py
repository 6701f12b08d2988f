"""Layer 9: the moment. The only place where a prompt tells the time, so that nothing before it changes with it."""

from datetime import datetime

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_CHANNEL_HINTS = {
    "whatsapp": "WhatsApp: short paragraphs, no tables",
    "web": "web chat: Markdown is shown",
}


def text(now: datetime, channel: str, locale: str | None, name: str | None, turn: int) -> str:
    """Time (of the turn, UTC), channel, locale and the user's name when known, and which turn of the session it is;
    about 60 tokens."""
    lines = [
        f"Time: {WEEKDAYS[now.weekday()]} {now:%Y-%m-%d %H:%M} UTC",
        f"Channel: {_CHANNEL_HINTS.get(channel, channel)}",
        f"Locale: {locale}" if locale else "",
        f"The user's name: {name}" if name else "",
        f"Turn of this conversation: {turn}",
    ]
    return "\n".join(line for line in lines if line)
