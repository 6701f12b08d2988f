"""What rules read of a text that somebody else wrote: its beginning, without long runs of blank lines. Pure."""

import re

#: Characters that rules read of a text at most: those of the longest message that a model is given.
MAX_RULE_CHARS = 8_000

_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*+\n){2,}+")


def rule_text(text: str) -> str:
    """Return what rules read of a text: its first 8,000 characters, with at most one blank line in a row."""
    return _BLANK_LINES.sub("\n\n", text[:MAX_RULE_CHARS].replace("\r\n", "\n").replace("\r", "\n"))
