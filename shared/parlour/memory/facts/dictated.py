"""What of a message is there to be written, translated or acted out, and not said by its writer of themselves. Pure.

Who has an e-mail written in which somebody lives in Texas need not live there. What follows such a request is left out,
to the end of the message; where the request is for what stands before it, that is left out too. Rather too much than
too little: a fact that is missed is said again.
"""

import re

from parlour.memory.facts.said_rules import LANGUAGES

_TEXTS = (
    r"(?:e-?mails?|mails?|letters?|messages?|repl(?:y|ies)|answer|bio(?:graphy)?|profile|sentences?|paragraphs?|captions?"
    r"|posts?|stor(?:y|ies)|poems?|song|speech|tweet|essay|blog|resume|cv|applications?|complaint|review|invitation|notice"
    r"|statement|testimonial|dialogue|script|intro(?:duction)?|lines?|text|sms|notes?|template|description|summary"
    r"|draft|chat|conversation|thread|article|passage|transcript)"
)
_WORDING = r"(?:grammar|english|spelling|punctuation|wording)"
_A_TEXT = rf"(?:(?!your\b)[\w'\u2019-]+ ){{0,5}}?{_TEXTS}\b"
_SAYING = r"(?:saying|stating|telling|that|which (?:says|reads|states)|with the (?:text|words|content)|as follows)\b"
_BEGINS = (
    r"(?:(?:^|[.!?\u0964,;:\n])[\s'\"(-]*|\b(?:please|pls|kindly|just|and|then|so|to|help(?: me)?"
    r"|(?:can|could|will|would) (?:you|u|we)|now|also|let's)\s+)(?:(?:please|pls|kindly|just|also|to)\s+)*"
)
_FLAGS = re.IGNORECASE | re.MULTILINE

_WRITES = re.compile(
    rf"{_BEGINS}(?:(?:write|draft|compose|dictate|generate)\b[ \t]+(?:me |us |him |her |them |up )?{_A_TEXT}"
    rf"|(?:send|make|prepare|create|post|give|reply|respond|answer|write|text|message)\b[^.!?:\n]{{0,60}}? {_SAYING}"
    r"(?=\s*:|\s*\n|\s+(?:i|my|we|our)\b|\s+that\b)"
    rf"|(?:send|make|prepare|create|post)\b(?! a note\b)(?! [^:\n]*\b(?:my|our)\b)[ \t]+{_A_TEXT}[^.!?:\n]{{0,40}}(?=:)"
    r"|(?:write|say|type|repeat|echo|print|dictate|draft|compose)\b(?! to (?:me|us)\b)[^.!?:\n]{0,60}(?=:\s)"
    r"|(?:tell|message|text|inform|answer|ask|reply|post)\s(?!(?:me|us)\b)[^.!?:\n]{1,40}(?=:\s)"
    rf"|(?:say|spell|pronounce|express|put)\b(?=[^.!?\n]{{1,200}}\bin (?:{'|'.join(sorted(LANGUAGES))})(?!\w))"
    r"|(?:let's |let us )?role-?\s?play\w*|act as\b|pretend\b|imagine\b|you are now\b)",
    _FLAGS,
)
_WRITES_ELSEWHERE = re.compile(
    r"(?:लिखो|लिखिए|लिख दो|बोलो"
    r"|எழுது\S*|\b(?:likho|likhiye|likh do|likh dijiye|bolo|escribe|écris|schreib\w*|scrivi))"
    r"[^.!?:\n\u0964]{0,40}(?=:\s)|\b(?:sample|dummy|test|example) (?:data|text|message|conversation)\b",
    _FLAGS,
)
_TURNS_OVER = re.compile(
    r"\b(?<!\bi )(?<!\bwe )(?:translate|transliterate|rephrase|paraphrase|proof-?read|reword|re-?write|spell-?check"
    r"|tradui[st]\w*|traduce|traduzir|traduci|übersetz\w*|anuva?ad)\b"
    r"|अनुवाद|மொழிபெயர்\S*"
    rf"|{_BEGINS}(?:correct|fix|edit|improve|check|polish|shorten|summari[sz]e|convert)\b"
    rf"(?:[ \t]+(?:this|that|it|these|the following|the above)(?=\s*(?:[:.!?\n]|$))"
    rf"|[ \t]+{_A_TEXT}|[ \t]+(?:my |the |this )?{_WORDING}\b)",
    _FLAGS,
)
_WHAT_IS_THERE = re.compile(
    rf"\b(?:this|that|it|these|above|before|previous|(?:the|my) (?:last )?(?:{_TEXTS}|{_WORDING}))\b"
    r"|\b(?:karo|kar do|kijiye)\b|करो",
    re.IGNORECASE,
)
_JOKES = re.compile(
    r"\b(?:just|only) (?:kidding|joking)\b|\bi(?:'m| am|\u2019m) (?:kidding|joking)\b|\bjk\b|\bapril fool",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?\u0964\n]")
_FEW_LETTERS = 25
"""Letters after a request that are no text to work on: thanks."""


def said_by_the_writer(text: str) -> str:
    """The text without what is to be written, worked on, acted out, or was a joke."""
    if _JOKES.search(text):
        return ""
    for asks in (_WRITES, _WRITES_ELSEWHERE):
        found = asks.search(text)
        if found:
            text = text[: found.end()]
    turned = _TURNS_OVER.search(text)
    return text if turned is None else _around(text, turned)


def _around(text: str, asked: re.Match[str]) -> str:
    """What stands before the sentence that asks for a text to be worked on; not where that is the text."""
    ends = [one.end() for one in _SENTENCE_END.finditer(text, 0, asked.start() + 1)]
    before = text[: ends[-1] if ends else 0]
    after = text[asked.end() :]
    rest = _SENTENCE_END.split(after, maxsplit=1)
    follows = ":" in rest[0] or (len(rest) > 1 and len(rest[1].strip()) > _FEW_LETTERS)
    is_before = _WHAT_IS_THERE.search(asked[0] + rest[0]) is not None and not follows
    return "" if is_before else before
