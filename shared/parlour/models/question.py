"""What a question asks for: its parts, and what an answer looks like. Plain rules for English; others get no hints."""

import re
from dataclasses import dataclass

MOST_PARTS = 3

_ASKING = (
    r"(?:until |since |from |by |up to |to |for |with )?"
    r"(?:who|whom|whose|what|when|where|which|why|how|may|must|can|could|should|does|do|did|is|are|was|were|will)\b"
)
_NEXT_PART = re.compile(rf"(?<=\?)\s+|\s*[,;]?\s+(?:and|but|or)\s+(?={_ASKING})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Hint:
    """Who asks in such words wants something of such a form."""

    asks: re.Pattern[str]
    form: re.Pattern[str]


_NUMBER = r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
_DIGIT = re.compile(rf"\d|\b(?:half|{_NUMBER})\b", re.IGNORECASE)
_MEASURED = re.compile(
    r"\d\s?(?:%|°|[kcmµ]?[mglW]\b|km|kg|kN|mm|cm|ft|lb|miles?|met(?:re|er)s?|inch|tonnes?|tons?|days?|weeks?|months?"
    r"|years?|hours?|minutes?|t\b|[a-zµ]+/[a-z])"
)
_SUM = re.compile(
    r"[£$€₹¥]\s?\d|\b(?:EUR|GBP|USD|INR|CHF|Rs\.?)\s?\d|\d\s?(?:EUR|GBP|USD|INR|CHF|%)|\bfree of charge\b"
)
_DAY = re.compile(
    r"\b\d{4}-\d\d|\b\d\d?[/.]\d\d?[/.]\d{2,4}\b|\b(?:\d\d?|to|in|on|from|until|by) (?:jan|feb|mar|apr|may|jun|jul|aug"
    r"|sep|oct|nov|dec)[a-z]*\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day|\b\d\d:\d\d\b"
    rf"|\b{_NUMBER} (?:\w+ )?(?:days?|weeks?|months?|hours?|minutes?)\b(?! ago)",
    re.IGNORECASE,
)
_LASTING = re.compile(
    rf"\b{_NUMBER} (?:\w+ )?(?:days?|weeks?|months?|years?|hours?|minutes?)\b|{_MEASURED.pattern}",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?<!\w)(?:[A-Z][\w'-]+ )?[A-Z]\w*[a-z][\w'-]* (?:[A-Z]\.? )?[A-Z][\w'-]*[a-z]|\bowner: |\bby (?:a|an|the) \w"
    r"|\b(?:people|everybody|anybody|nobody)\b"
)
_STATE = re.compile(
    r"\b(?:open|closed|waiting|in progress|done|agreed|quoted|quotation|accepted|refused|signed|approved|pending"
    r"|delayed|offer|complete)\b",
    re.IGNORECASE,
)
_RULE = re.compile(
    r"\b(?:no|not|never|nobody|nothing|only|must|may|shall|allowed|permitted|forbidden|required|free to)\b",
    re.IGNORECASE,
)
_PHONE = re.compile(r"\+?\d[\d ()/-]{6,}\d|@\w")

_HINTS = tuple(
    _Hint(re.compile(rf"\b(?:{asks})\b"), form)
    for asks, form in (
        (r"how (?:wide|deep|high|tall|heavy|far|thick|fast|strong|large|big|old)|width|depth|height|weight", _MEASURED),
        (r"which (?:wind|speed|width|depth|height|weight|temperature)|percent(?:age)?|rate", _MEASURED),
        (r"how long|how soon|within how|period|notice", _LASTING),
        (r"how (?:much|many)|number of|up to (?:what|which)|limit(?:ed)?|maximum|minimum|most|least", _DIGIT),
        (r"how much|costs?|price|owed?|pay|paid|charged?|fee|fees|rent|salary|amount|sum|budget|value", _SUM),
        (r"when|what (?:date|day|time|hours)|which (?:date|day)|deadline|due|until|open", _DAY),
        (r"who(?:m|se)?(?: (?:owns|looks|is responsible|is in charge))?", _NAME),
        (r"^(?:may|must|can|should|shall) (?:i|we)", _RULE),
        (r"status|state|where (?:do|does|is|are) .* (?:stand|at)", _STATE),
        (r"phone|telephone|number|call|reach|e-?mail|contact", _PHONE),
    )
)


def parts(text: str) -> list[str]:
    """The questions in a text, at most MOST_PARTS: "How wide is the gate, and who looks after it?" has two."""
    found = [part.strip() for part in _NEXT_PART.split(text) if part.strip()]
    return found[:MOST_PARTS]


def wording(question: str) -> str:
    """The words of a question that say which form its answer should have, such as "how wide" or "price"."""
    return " ".join(match[0] for hint in _HINTS for match in hint.asks.finditer(question.lower()))


def fit(question: str, text: str) -> float | None:
    """Of the forms that an answer to the question should have, the part that the text has; None: any form will do."""
    wanted = [hint.form for hint in _HINTS if hint.asks.search(question.lower())]
    return sum(1 for form in wanted if form.search(text)) / len(wanted) if wanted else None
