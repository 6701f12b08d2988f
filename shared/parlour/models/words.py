"""Text as words and sentences, in a few plain rules: enough to search and to quote, not to understand."""

import re
from collections.abc import Iterator
from dataclasses import dataclass


def vocabulary(text: str) -> frozenset[str]:
    """Return the words of a space-separated list."""
    return frozenset(text.split())


_MARKS = "\u0300-\u036f\u0900-\u0963\u0966-\u0dff"
"""Combining marks and the Indic scripts: vowel signs belong to their word, the danda does not."""

_WORD = re.compile(rf"(?:[^\W_]|[{_MARKS}])+(?:[-/.,:'&](?:[^\W_]|[{_MARKS}])+)*")
_STOP = re.compile(r"(?<![.!?।])[.!?।]++[\"')\]\u201d\u2019]*+\s+")
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|\([a-z0-9]{1,4}\))\s+")
_HEADING = re.compile(r"^(?:\s{0,3}#{1,6}\s|Subject:)\s*+(.*)$")
_EMPHASIS = re.compile(r"(\*\*\*|\*\*|\*)(?=\S)([^*\n]+(?:\n[^*\n]+)?)(?<=\S)\1")
_FIELD = re.compile(r"^[^\W\d_][\w /()&.-]{1,40}:\s")
_RULE_ROW = re.compile(r"^\|?[\s:|-]+\|?$")

_WRAPPED = 50
"""A line at least this long goes on in the next one; a shorter one was ended on purpose."""

_MAIL_HEADER = re.compile(r"^(?:(?:From|To|Cc|Bcc|Sent|Reply-To):.*@|Date: .*\d\d:\d\d:\d\d)")
"""Who wrote to whom, and when, is told beside a search result; in its text these lines say nothing."""

_BEFORE_NAMES = frozenset({"mr", "mrs", "ms", "dr", "prof", "st", "vs", "e.g", "i.e", "approx", "messrs", "m/s", "smt"})
_BEFORE_NUMBERS = frozenset(
    {"no", "nos", "cl", "fig", "sec", "art", "para", "p", "pp", "ref", "rs", "vol", "ch", "rev"}
)

_POSSESSIVE = re.compile(r"'s?$", re.IGNORECASE)
_DOUBLED = re.compile(r"([bgmnprt])\1$")
_PARTS = re.compile(r"[-/.,:'&]")
_STEM_ENDINGS = (("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))
_ROOT_ENDINGS = ("ement", "ment", "ation", "ition", "ion", "ance", "ence", "ity", "th", "or", "er", "ly", "al", "y")

_MEANINGS = (
    "wide width broad",
    "long length duration last",
    "deep depth",
    "high height tall",
    "heavy weigh weight",
    "old age",
    "far distance away",
    "large size big area",
    "cost price charge fee amount",
    "pay payable paid owe owed",
    "late delay overdue",
    "start begin begun commence open",
    "finish complete end finished",
    "owner responsible keeper own looks charge manager",
    "phone telephone mobile",
    "buy purchase bought",
    "least minimum lowest smallest below",
    "most maximum highest limit cap",
    "move shift postpone",
    "cancel terminate",
    "holiday vacation leave",
    "day daily",
    "keep retain retention withhold withheld",
    "hurt injure accident",
    "send deliver ship",
    "employee staff personnel",
    "choose decide select decision chosen",
    "lead leader run chair",
)
"""Everyday words that a question and its answer often put differently; the first of each names the others."""

_EMPTY_WORDS = vocabulary(
    "a about after again all also am an and any anybody anyone anything are as at be been being but by can cant "
    "come comes coming could did didnt do does doesnt doing done dont find for from get give go going got had "
    "happen happened happening happens has have having he her here hers him his how i if im in into is it its ive "
    "just kindly know let like list look make many may me might mine more much must my need no not now of off on one "
    "only or our ours out over own per please say says shall she should show so some somebody someone something "
    "still tell than that the their theirs them then there these they thing this those time to too under until up "
    "us very want was we were what whats when where whether which while who whom whose why will with within would "
    "yes yet you your yours "
    "है हैं था थी थे हो होगा होगी का के की को से में पर और या तो क्या कब कौन कहाँ कितना कितनी कितने कैसे क्यों यह "
    "वह ये वे मैं हम आप मुझे हमें कर करे करें करना करनी"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, list item or table row as it was written, and the heading it stands under."""

    text: str
    heading: str


def words(text: str) -> list[str]:
    """Return the words as written; codes, amounts and dates such as RA-07, 4,50,000 or 2026-03-02 stay whole."""
    return _WORD.findall(text.replace("\u2019", "'"))


def content_words(text: str) -> list[str]:
    """Return the words that carry meaning, as written, each once, in order."""
    kept: dict[str, str] = {}
    for word in words(text):
        if not _is_empty(word):
            kept.setdefault(word.lower(), word)
    return list(kept.values())


def stems(text: str) -> set[str]:
    """Return what words are compared by: lower case, without common English endings; compounds also as their parts."""
    found: set[str] = set()
    for word in (_POSSESSIVE.sub("", word) for word in content_words(text)):
        pieces = _PARTS.split(word) if any(letter.isalpha() for letter in word) else []
        found.update(map(_stem, [word, *(piece for piece in pieces if piece and not _is_empty(piece))]))
    return found


def family(stem: str) -> str:
    """Return what stems of related words share: settled and settlement, wide and width, late and delay."""
    root = _root(stem)
    return _FAMILIES.get(root, root)


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a text or of Markdown, in order, without emphasis.

    Headings and subject lines are not among them: their words count for the sentences below.
    """
    return [
        Sentence(sentence, heading)
        for heading, unit in _units(_EMPHASIS.sub(r"\2", text).splitlines())
        for sentence in _split(unit)
        if words(sentence)
    ]


def _is_empty(word: str) -> bool:
    return word.lower().replace("'", "") in _EMPTY_WORDS


def _stem(word: str) -> str:
    word = word.lower()
    if word.isdigit():
        return word.lstrip("0") or "0"
    for ending, put in _STEM_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith(("ss", "us", "is")):
            return _DOUBLED.sub(r"\1", word.removesuffix(ending) + put).removesuffix("e")
    return word.removesuffix("e") if len(word) > 3 else word


def _root(stem: str) -> str:
    for ending in _ROOT_ENDINGS:
        if stem.endswith(ending) and len(stem) - len(ending) >= 4:
            return stem.removesuffix(ending)
    return stem


_FAMILIES = {_root(_stem(word)): line.split()[0] for line in _MEANINGS for word in line.split()}


def _units(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Paragraphs with their wrapped lines joined, list items, fields and table rows, each with its heading."""
    heading, unit, columns, wrapped = "", "", list[str](), False
    for line in [*lines, ""]:
        stripped = "" if _MAIL_HEADER.match(line) else line.strip()
        if (
            unit
            and wrapped
            and stripped
            and not bool(
                _HEADING.match(line) or _ITEM.match(line) or _FIELD.match(line) or line.lstrip().startswith("|")
            )
        ):
            unit, wrapped = f"{unit} {stripped}", len(stripped) >= _WRAPPED
            continue
        if unit:
            yield heading, unit
            unit = ""
        if title := _HEADING.match(line):
            heading = title[1].rstrip().rstrip("#").rstrip()
        elif stripped.startswith("|"):
            columns, unit = _row(stripped, columns)
        else:
            columns, unit = [], _ITEM.sub("", stripped)
        wrapped = len(stripped) >= _WRAPPED and not stripped.startswith("|")


def _row(line: str, columns: list[str]) -> tuple[list[str], str]:
    """Return a row of a table; its first row names the columns."""
    if _RULE_ROW.match(line):
        return columns, ""
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if not columns:
        return cells, ""
    named = zip(columns, cells, strict=False)
    return columns, "; ".join(f"{column}: {cell}" if column else cell for column, cell in named if cell)


def _split(unit: str) -> Iterator[str]:
    begin = 0
    for stop in _STOP.finditer(unit):
        if _ends_sentence(unit[begin : stop.start()], unit[stop.start()], unit[stop.end() :]):
            yield unit[begin : stop.end()].strip()
            begin = stop.end()
    yield unit[begin:].strip()


def _ends_sentence(before: str, mark: str, after: str) -> bool:
    if not after or after[0].islower():
        return not after
    last = before.rsplit(None, 1)[-1].lower().lstrip("(\"'") if before.strip() else ""
    if mark != "." or not last:
        return bool(last)
    is_initial = len(last) == 1 and last.isalpha()
    is_number_mark = last in _BEFORE_NUMBERS and after[0].isdigit()
    return not (is_initial or is_number_mark or last in _BEFORE_NAMES)
