"""The check that the user's own, unquoted words say what a model took from them. Pure.

A model that reads a conversation may be talked into anything; this check may not. It compares words and does not
interpret sentences: of whom a sentence speaks, and whether it supposes something, is for the model to read.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from parlour.memory.facts import fact_keys
from parlour.text.sentences import stripped_sentences
from parlour.text.word_matching import contains_value, informative_words, is_negated
from parlour.text.words import normalize, words

type EvidenceProblem = Literal["not_in_user_text", "not_stated"]
"""not_in_user_text: the value's words are not the user's. not_stated: they only ask for it, or take nothing back."""

#: Characters from which on a message is taken for one that brings somebody else's text along.
_PASTED_TEXT_CHARS = 1_500

#: Characters that a user's own first or last paragraph of such a message has at most.
_MAX_OWN_PARAGRAPH_CHARS = 400

_WROTE_VERBS = r"(?:wrote|writes|schrieb|a écrit|escribió|ha scritto|escreveu|schreef|skrev|написал\w*)"
_NUMERIC_DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"

#: The beginning of a forwarded or answered mail, and a line of an exported chat: what follows is others'.
_FORWARDED_TEXT = re.compile(
    r"^\s*(?:-{2,}\s*(?:original|forwarded)\b|begin forwarded message|\[?\s*forwarded\b|fwd?\s*:"
    r"|(?:from|von|de|to|sent|subject):\s"
    rf"|(?:on|am|le|el|il|em|op|den)\b[^\n]{{4,250}}(?:\n[^\n]{{0,120}})?\b{_WROTE_VERBS}\b[^\n]{{0,80}}:\s*$"
    rf"|\[?{_NUMERIC_DATE},?\s+\d{{1,2}}[:.]\d{{2}}[^\n\]]{{0,12}}(?:\]|\s[-\u2013])\s*[^\n:]{{1,60}}:)",
    re.IGNORECASE | re.MULTILINE,
)

#: A letter in a message, by its address or by what announces it.
_EMBEDDED_LETTER = re.compile(
    r"(?<=\n)\s*(?:dear\b[^\n]{1,60}|to whom [^\n]{1,60})$"
    r"|(?<!\w)(?:this|the|that|these|following|below|an?|her|his|their) (?:[\w-]+ )?(?:e-?mails?|messages?|letters?"
    r"|texts?|sms|chat|conversation|notes?|posts?|articles?|reviews?|thread|transcript|statement|paragraph|passage|quote)"
    r"[^\n:]{0,40}:\s*$|\b(?:see|read|got|received|look at|check) (?:this|these|that|it|below)\s*:\s*$",
    re.IGNORECASE | re.MULTILINE,
)

_CODE_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^\s*>.*$", re.MULTILINE)
_QUOTATION = re.compile(
    r"[\"\u201c\u201e\u00ab]([^\"\u201c\u201d\u00ab\u00bb]{1,2000})[\"\u201d\u00bb]"
    r"|(?<!\w)['\u2018](?!\s)((?:[^'\u2018\u2019\n]|['\u2019](?=\w)){1,2000})['\u2019](?!\w)"
)
_FIRST_PERSON = re.compile(r"\s*(?:i|i['\u2019](?:m|ve|d)|my|we|our)\b", re.IGNORECASE)

#: Words of a quotation that may be a name or a term.
_MAX_QUOTED_TERM_WORDS = 5

_QUESTION_MARKS = ("?", "\u061f", "\uff1f")
_CLAUSE_BOUNDARY = re.compile(r"[,;:]\s+|\s+[-\u2013\u2014]\s+")

#: Words with which people take something back, in English, Hindi and Tamil; other negations are `is_negative`'s.
_RETRACTION_WORDS = re.compile(
    r"\b(?:forget|no longer|any ?more|stopped|quit|left|cancel(?:led)?|delete|erase|remove|ignore|never mind|sold"
    r"|gave up|given up|without|over|ended|closed)\b|\u092d\u0942\u0932|\u0bae\u0bb1\u0ba8\u0bcd\u0ba4\u0bc1"
)

#: Words in the names of keys that name nothing by themselves.
_GENERIC_KEY_WORDS = frozenset(
    {"in", "at", "by", "to", "be", "on", "for", "own", "is", "with", "time", "works", "current"}
)


def own_text(body: str) -> str:
    """Return the user's own words of a message, without what they quote, forward or paste; "" when there are none."""
    text = _QUOTED_LINE.sub("", _CODE_FENCE.sub("\n", body))
    for brought in (_FORWARDED_TEXT, _EMBEDDED_LETTER):
        found = brought.search(text)
        if found:
            text = text[: found.start()]
    text = _QUOTATION.sub(_keep_short_quotation, text)
    if len(text) > _PASTED_TEXT_CHARS:
        paragraphs = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
        ends = dict.fromkeys((paragraphs[0], paragraphs[-1])) if paragraphs else {}
        text = "\n".join(part for part in ends if len(part) <= _MAX_OWN_PARAGRAPH_CHARS)
    return text.strip()


def find_problem(key: str, value: str, bodies: Sequence[str], *, is_retraction: bool = False) -> EvidenceProblem | None:
    """Check a value against the texts of the user's messages that it was taken from; None when their words say it.

    `ends`: the fact of `key` is taken back; `value` is what it was, or "".
    """
    own = [sentence for body in bodies for sentence in stripped_sentences(own_text(body))]
    if is_retraction:
        return None if any(_is_retraction_of(key, value, sentence) for sentence in own) else "not_stated"
    if not contains_value("\n".join(own), value):
        return "not_in_user_text"
    stated = "\n".join(clause for sentence in own for clause in _assertive_clauses(sentence))
    return None if contains_value(stated, value) else "not_stated"


def _keep_short_quotation(quoted: re.Match[str]) -> str:
    """Return a quoted name or term unchanged; replace quoted sentences and first-person speech by a space."""
    inside = quoted[1] or quoted[2]
    return quoted[0] if len(inside.split()) <= _MAX_QUOTED_TERM_WORDS and not _FIRST_PERSON.match(inside) else " "


def _assertive_clauses(sentence: str) -> Iterator[str]:
    """Yield the sentence; of a question, only the clauses before the asking one ("I live in Pune, do you deliver?")."""
    if sentence.rstrip(" \"')").endswith(_QUESTION_MARKS):
        yield from _CLAUSE_BOUNDARY.split(sentence)[:-1]
    else:
        yield sentence


def _is_retraction_of(key: str, value: str, sentence: str) -> bool:
    """Whether the user ends something beside what the fact, or its key, is called, and does not ask whether."""
    names = fact_keys.key_words(key) - _GENERIC_KEY_WORDS
    stated = " ".join(_assertive_clauses(sentence))
    is_named = bool(names & frozenset(words(stated))) or (
        bool(informative_words(value)) and contains_value(stated, value)
    )
    return is_named and (bool(_RETRACTION_WORDS.search(normalize(stated))) or is_negated(stated))
