"""Names as people write them, and identifiers as other systems give them. Pure."""

import unicodedata

from parlour.infra.errors import InvalidRequest

MAX_LABEL_CHARS = 200
MAX_IDENTIFIER_CHARS = 255
"""Characters; OpenID Connect allows a subject no more."""

_UNREADABLE_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Controls (NUL, line breaks), lone surrogates, separators. Not the joiners (Cf): many Indian names need them."""


def validate_label(field: str, text: str) -> str:
    """`text` without spaces around it, if it is 1 to 200 readable characters; InvalidRequest names the field if not."""
    label = text.strip()
    if not label or len(label) > MAX_LABEL_CHARS or label != _without_unreadable(label):
        raise InvalidRequest(f"{field}: use 1 to {MAX_LABEL_CHARS} printable characters")
    return label


def validate_identifier(field: str, text: str) -> str:
    """`text`, if it is 1 to 255 printable characters; InvalidRequest names the field if not."""
    if not is_identifier(text):
        raise InvalidRequest(f"{field}: use 1 to {MAX_IDENTIFIER_CHARS} printable characters")
    return text


def is_identifier(text: str) -> bool:
    """Whether another system may call something by this text: 1 to 255 printable characters."""
    return 1 <= len(text) <= MAX_IDENTIFIER_CHARS and text.isprintable()


def clean_label(text: str | None) -> str | None:
    """Return the printable characters of a name that a stranger sent, 200 at most; None when there are none."""
    return _without_unreadable(text or "").strip()[:MAX_LABEL_CHARS] or None


def is_readable(text: str) -> bool:
    """Whether there is nothing in it that nobody can see: no controls, line breaks or halves of characters."""
    return text == _without_unreadable(text)


def _without_unreadable(text: str) -> str:
    return "".join(character for character in text if unicodedata.category(character) not in _UNREADABLE_CATEGORIES)
