"""Names as people write them, and identifiers as other systems give them. Pure."""

import unicodedata

from parlour.infra.errors import InvalidRequest

LONGEST_LABEL = 200
LONGEST_IDENTIFIER = 255
"""Characters; OpenID Connect allows a subject no more."""

_UNREADABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Controls (NUL, line breaks), lone surrogates, separators. Not the joiners (Cf): many Indian names need them."""


def check_label(field: str, text: str) -> str:
    """`text` without spaces around it, if it is 1 to 200 readable characters; InvalidRequest names the field if not."""
    label = text.strip()
    if not label or len(label) > LONGEST_LABEL or label != _readable(label):
        raise InvalidRequest(f"{field}: write 1 to {LONGEST_LABEL} readable characters")
    return label


def check_identifier(field: str, text: str) -> str:
    """`text`, if it is 1 to 255 printable characters; InvalidRequest names the field if not."""
    if not is_identifier(text):
        raise InvalidRequest(f"{field}: write 1 to {LONGEST_IDENTIFIER} printable characters")
    return text


def is_identifier(text: str) -> bool:
    """Whether another system may call something by this text: 1 to 255 printable characters."""
    return 1 <= len(text) <= LONGEST_IDENTIFIER and text.isprintable()


def readable(text: str | None) -> str | None:
    """What is readable of a name that somebody else sent, 200 characters at most; None when nothing is."""
    return _readable(text or "").strip()[:LONGEST_LABEL] or None


def is_readable(text: str) -> bool:
    """Whether there is nothing in it that nobody can see: no controls, line breaks or halves of characters."""
    return text == _readable(text)


def _readable(text: str) -> str:
    return "".join(character for character in text if unicodedata.category(character) not in _UNREADABLE)
