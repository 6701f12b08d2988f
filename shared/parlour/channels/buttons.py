"""The buttons of a message: what WhatsApp takes, and the numbered list in their place where it takes none. Pure.

A message stores its buttons as `metadata.buttons`: `[{"id": "...", "title": "..."}]`. Whoever presses one sends its
title as text; the id comes back as `metadata.button_id` of the inbound message.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from parlour.infra.json_values import JsonObject

MAX_BODY_UNITS = 1024
"""The longest text of a message with buttons, in characters; counted in UTF-16 units to be safe."""

MAX_ID_CHARS = 256

_MAX_BUTTONS = 3
_MAX_TITLE_UNITS = 20


@dataclass(frozen=True, slots=True)
class Button:
    """One answer to choose from."""

    id: str
    title: str

    @classmethod
    def from_json(cls, stored: JsonObject) -> "Button":
        """Return the button that a message's metadata has."""
        return cls(str(stored["id"]), str(stored["title"]))

    def to_json(self) -> JsonObject:
        """Return it as it is stored in a message's metadata."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class MessagePart:
    """One message of a reply, and the buttons below it."""

    text: str
    buttons: Sequence[Button] = ()


def are_valid_buttons(options: Sequence[Button]) -> bool:
    """Return whether WhatsApp takes the options as buttons: three at most, with short titles and none twice."""
    titles = {option.title for option in options}
    return (
        0 < len(options) <= _MAX_BUTTONS
        and len(titles) == len({option.id for option in options}) == len(options)
        and all(0 < len(title.encode("utf-16-le")) // 2 <= _MAX_TITLE_UNITS for title in titles)
        and all(0 < len(option.id) <= MAX_ID_CHARS for option in options)
    )


def add_numbered_options(text: str, options: Sequence[Button]) -> str:
    """Return the text with the options as a numbered list below it; unchanged when there are none."""
    lines = [f"{number}. {option.title}" for number, option in enumerate(options, 1)]
    return "\n\n".join(block for block in (text, "\n".join(lines)) if block)
