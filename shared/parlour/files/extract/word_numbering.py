"""The numbers that Word shows in front of paragraphs and does not write into them: "14.2", "(b)", "iv."."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from docx.oxml.ns import qn

_VALUE = qn("w:val")
_LEVEL_IN_TEXT = re.compile(r"%(\d)")
_LETTERS = 26
_ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
)
_LONGEST_ROMAN = 4_000


@dataclass(frozen=True, slots=True)
class _Level:
    """One level of a list: how it counts, from where, and what it looks like ("%1.%2")."""

    form: str
    start: int
    text: str


class WordNumbering:
    """Counts as Word does, so paragraphs have to be asked about in their order."""

    def __init__(self, document: Any) -> None:
        self._abstract_of: dict[str, str] = {}
        self._levels: dict[tuple[str, int], _Level] = {}
        self._counts: dict[str, dict[int, int]] = {}
        found = {}
        for style in document.styles:
            number = _number_of(style.element.find(qn("w:pPr")))
            if number:
                found[style.style_id] = number
        self._by_style = found
        try:
            root = document.part.numbering_part.element
        except (KeyError, NotImplementedError, AttributeError):
            return  # no lists in this document
        for abstract in root.iter(qn("w:abstractNum")):
            for level in abstract.iter(qn("w:lvl")):
                at = (abstract.get(qn("w:abstractNumId")), int(level.get(qn("w:ilvl"), "0")))
                start = int(_value(level, "w:start") or 1)
                self._levels[at] = _Level(_value(level, "w:numFmt") or "decimal", start, _value(level, "w:lvlText"))
        for one in root.iter(qn("w:num")):
            self._abstract_of[one.get(qn("w:numId"))] = _value(one, "w:abstractNumId")

    def label(self, paragraph: Any, style_id: str) -> str:
        """Return what precedes the paragraph: its number, "-" for a bullet, "" for nothing."""
        found = _number_of(paragraph.find(qn("w:pPr")))
        of_style = self._by_style.get(style_id)
        list_id, depth = found or of_style or ("", 0)
        if found and not list_id and of_style:  # the level is the paragraph's own, the list is the style's
            list_id = of_style[0]
        abstract = self._abstract_of.get(list_id)
        level = self._levels.get((abstract, depth)) if abstract is not None else None
        if abstract is None or level is None:
            return ""
        counts = self._counts.setdefault(abstract, {})
        counts[depth] = counts.get(depth, level.start - 1) + 1
        for deeper in [known for known in counts if known > depth]:
            del counts[deeper]
        return "-" if level.form == "bullet" else self._format_label(abstract, level, counts)

    def _format_label(self, abstract: str, level: _Level, counts: Mapping[int, int]) -> str:
        def number(found: re.Match[str]) -> str:
            depth = int(found[1]) - 1
            of = self._levels.get((abstract, depth))
            forms: Mapping[str, Callable[[int], str]] = {
                "lowerLetter": _letter,
                "upperLetter": lambda n: _letter(n).upper(),
                "lowerRoman": _roman,
                "upperRoman": lambda n: _roman(n).upper(),
                "none": lambda _: "",
            }
            return forms.get(of.form if of else "decimal", str)(counts.get(depth, of.start if of else 1))

        return _LEVEL_IN_TEXT.sub(number, level.text).strip()


def _number_of(properties: Any) -> tuple[str, int] | None:
    """Return the list and the depth that a paragraph's or style's properties name."""
    numbered = properties.find(qn("w:numPr")) if properties is not None else None
    if numbered is None:
        return None
    depth = _value(numbered, "w:ilvl")
    return _value(numbered, "w:numId"), int(depth) if depth.isdecimal() else 0


def _value(parent: Any, name: str) -> str:
    child = parent.find(qn(name))
    return str(child.get(_VALUE, "")) if child is not None else ""


def _letter(number: int) -> str:
    """Return a ... z, aa, bb ...: how Word continues after z."""
    rounds, at = divmod(max(number, 1) - 1, _LETTERS)
    return chr(ord("a") + at) * min(rounds + 1, 10)


def _roman(number: int) -> str:
    if not 0 < number < _LONGEST_ROMAN:
        return str(number)
    written = ""
    for value, letters in _ROMAN:
        written += letters * (number // value)
        number %= value
    return written
