"""The user's own words of a message: what they neither quote, forward nor paste. Pure.

Only marks count: quotation marks, `>` lines, code fences, the headers of forwarded mail and exported chats, length.
Who is meant and whether it holds is for models to read.
"""

import re

from parlour.text.rule_text import rule_text

#: Characters from which on a message is taken for one that brings somebody else's text along.
_PASTED_TEXT_CHARS = 1_500

#: Characters that a user's own first or last paragraph of such a message has at most.
_MAX_OWN_PARAGRAPH_CHARS = 400

_WROTE_VERBS = r"(?:wrote|writes|schrieb|a écrit|escribió|ha scritto|escreveu|schreef|skrev|написал\w*)"
_NUMERIC_DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"

#: The beginning of a forwarded or answered mail, and a line of an exported chat: what follows is others'.
_FORWARDED_TEXT = re.compile(
    r"^[^\S\n]*+(?:-{2,}\s*(?:original|forwarded)\b|begin forwarded message|\[?[^\S\n]*forwarded\b|fwd?[^\S\n]*:"
    r"|(?:from|von|de|to|sent|subject):\s"
    rf"|(?:on|am|le|el|il|em|op|den)\b[^\n]{{4,250}}(?:\n[^\n]{{0,120}})?\b{_WROTE_VERBS}\b[^\n]{{0,80}}:[^\S\n]*$"
    rf"|\[?{_NUMERIC_DATE},?\s+\d{{1,2}}[:.]\d{{2}}[^\n\]]{{0,12}}(?:\]|\s[-\u2013])\s*[^\n:]{{1,60}}:)",
    re.IGNORECASE | re.MULTILINE,
)

_CODE_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^[^\S\n]*+>.*$", re.MULTILINE)
_QUOTATION = re.compile(
    r"[\"\u201c\u201e\u00ab]([^\"\u201c-\u201e\u00ab\u00bb]{1,2000}+)[\"\u201d\u00bb]"
    r"|(?<!\w)['\u2018](?!\s)((?:[^'\u2018\u2019\n]|['\u2019](?=\w)){1,2000}+)['\u2019](?!\w)"
)
#: Words of a quotation that may be a name or a term.
_MAX_QUOTED_TERM_WORDS = 3


def own_text(body: str) -> str:
    """Return the user's own words of a message, without what they quote, forward or paste; "" when there are none."""
    text = _QUOTED_LINE.sub("", _CODE_FENCE.sub("\n", rule_text(body)))
    forwarded = _FORWARDED_TEXT.search(text)
    if forwarded:
        text = text[: forwarded.start()]
    text = _QUOTATION.sub(_keep_short_quotation, text)
    if len(text) > _PASTED_TEXT_CHARS:
        paragraphs = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
        ends = dict.fromkeys((paragraphs[0], paragraphs[-1])) if paragraphs else {}
        text = "\n".join(part for part in ends if len(part) <= _MAX_OWN_PARAGRAPH_CHARS)
    return text.strip()


def _keep_short_quotation(quoted: re.Match[str]) -> str:
    """Return a quoted name or term unchanged; replace a longer quotation by a space."""
    return quoted[0] if len((quoted[1] or quoted[2]).split()) <= _MAX_QUOTED_TERM_WORDS else " "
