"""What of a user's message is their own text: not what they quote, forward, paste or have written. Pure."""

import re

from parlour.memory.facts.dictated import said_by_the_writer

PASTED = 1_500
"""Letters from which on a message is taken for one that brings somebody else's text along."""

_PARAGRAPH = 400
"""Letters that a user's own lead or end of such a message has at most."""

_WROTE = r"(?:wrote|writes|schrieb|a écrit|escribió|ha scritto|escreveu|schreef|skrev|написал\w*)"
_DAY = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"
_FORWARDED = re.compile(
    r"^\s*(?:-{2,}\s*(?:original|forwarded)\b|begin forwarded message|\[?\s*forwarded\b|fwd?\s*:"
    r"|(?:from|von|de|to|sent|subject):\s"
    rf"|(?:on|am|le|el|il|em|op|den)\b[^\n]{{4,250}}(?:\n[^\n]{{0,120}})?\b{_WROTE}\b[^\n]{{0,80}}:\s*$"
    rf"|\[?{_DAY},?\s+\d{{1,2}}[:.]\d{{2}}[^\n\]]{{0,12}}(?:\]|\s[-\u2013])\s*[^\n:]{{1,60}}:)",
    re.IGNORECASE | re.MULTILINE,
)
"""A forwarded or answered mail, and a line of an exported chat: what follows is others'."""

_LETTER = re.compile(
    r"(?<=\n)\s*(?:dear\b[^\n]{1,60}|to whom [^\n]{1,60})$"
    r"|(?<!\w)(?:this|the|that|these|following|below|an?|her|his|their) (?:[\w-]+ )?(?:e-?mails?|messages?|letters?"
    r"|texts?|sms|chat|conversation|notes?|posts?|articles?|reviews?|thread|transcript|statement|paragraph|passage|quote)"
    r"[^\n:]{0,40}:\s*$|\b(?:see|read|got|received|look at|check) (?:this|these|that|it|below)\s*:\s*$",
    re.IGNORECASE | re.MULTILINE,
)
"""A letter in a message, by its address or by what announces it."""

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^\s*>.*$", re.MULTILINE)
_QUOTED = re.compile(
    r"[\"\u201c\u201e\u00ab]([^\"\u201c\u201d\u00ab\u00bb]{1,2000})[\"\u201d\u00bb]"
    r"|(?<!\w)['\u2018](?!\s)((?:[^'\u2018\u2019\n]|['\u2019](?=\w)){1,2000})['\u2019](?!\w)"
)
_OF_A_SPEAKER = re.compile(r"\s*(?:i|i['\u2019](?:m|ve|d)|my|we|our)\b", re.IGNORECASE)
_FEW = 5
"""Words of a quotation that may be a name or a term."""


def own_text(body: str) -> str:
    """The user's own words of a message's text; "" when it has none."""
    text = _QUOTED_LINE.sub("", _FENCED.sub("\n", body))
    for brought in (_FORWARDED, _LETTER):
        found = brought.search(text)
        if found:
            text = text[: found.start()]
    text = said_by_the_writer(_QUOTED.sub(_short_only, text))
    return _around_a_paste(text).strip()


def _short_only(quoted: re.Match[str]) -> str:
    """A quotation that is a name or a term stays; whole sentences, and what a speaker says of themselves, do not."""
    words = quoted[1] or quoted[2]
    return quoted[0] if len(words.split()) <= _FEW and not _OF_A_SPEAKER.match(words) else " "


def _around_a_paste(text: str) -> str:
    """Of a long text, its first and last paragraph where they are short: what people write around a paste."""
    if len(text) <= PASTED:
        return text
    paragraphs = [one.strip() for one in re.split(r"\n\s*\n", text) if one.strip()]
    ends = dict.fromkeys((paragraphs[0], paragraphs[-1])) if paragraphs else {}
    return "\n".join(one for one in ends if len(one) <= _PARAGRAPH)
