"""What of a user's message is their own text: not what they quote, forward or paste. Pure."""

import re

PASTED = 1_500
"""Letters from which on a message is taken for one that brings somebody else's text along."""

_PARAGRAPH = 400
"""Letters that a user's own lead or end of such a message has at most."""

_FORWARDED = re.compile(
    r"^\s*(?:-{2,}\s*(?:original|forwarded)\b|begin forwarded message|forwarded message|on .{4,80} wrote:\s*$"
    r"|(?:from|von|de|to|sent|subject):\s)",
    re.IGNORECASE | re.MULTILINE,
)
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^\s*>.*$", re.MULTILINE)
_QUOTED = re.compile(r"[\"\u201c\u201e\u00ab]([^\"\u201c\u201d\u00ab\u00bb]{1,2000})[\"\u201d\u00bb]")
_FEW = 5
"""Words of a quotation that may be a name or a term."""


def own_text(body: str) -> str:
    """The user's own words of a message's text; "" when it has none."""
    text = _QUOTED_LINE.sub("", _FENCED.sub("\n", body))
    forwarded = _FORWARDED.search(text)
    if forwarded:
        text = text[: forwarded.start()]
    text = _QUOTED.sub(_short_only, text)
    return _around_a_paste(text).strip()


def _short_only(quoted: re.Match[str]) -> str:
    return quoted[0] if len(quoted[1].split()) <= _FEW else " "


def _around_a_paste(text: str) -> str:
    """Of a long text, its first and last paragraph where they are short: what people write around a paste."""
    if len(text) <= PASTED:
        return text
    paragraphs = [one.strip() for one in re.split(r"\n\s*\n", text) if one.strip()]
    ends = dict.fromkeys((paragraphs[0], paragraphs[-1])) if paragraphs else {}
    return "\n".join(one for one in ends if len(one) <= _PARAGRAPH)
