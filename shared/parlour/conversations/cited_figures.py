"""Figures of a reply, held against the documents that it cites for them. Pure.

A reply that gives a figure under the wrong number sends its reader to a document that does not have it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from parlour.text.numbers import Figures, find_figures

_LIST_MARKER = re.compile(r"^\s*(?:[#>*+-]|\d{1,2}[.)])+\s+")


@dataclass(slots=True)
class CitedFigures:
    """What the documents of a session say, by number.

    turn_texts     what the turn's results showed, by document number.
    earlier_texts  the searchable texts of documents that earlier turns showed, by number.
    user_text      words whose figures need no document: the user's, and the date.
    """

    turn_texts: Mapping[int, str] = field(default_factory=dict)
    earlier_texts: Mapping[int, str] = field(default_factory=dict)
    user_text: str = ""
    _figures: dict[int, Figures] = field(default_factory=dict, init=False)

    def correct(self, statement: str, numbers: Sequence[int]) -> Sequence[int]:
        """Return the numbers that a statement should cite.

        They stay where one of their documents has one of its figures: what was calculated from them has no document.
        Otherwise the only document of the turn that has all its figures takes their place. Without one, the documents
        that the turn showed go; of those from earlier turns only a part is known here.
        """
        figures = self._figures_to_check(statement)
        if not (figures.numbers or figures.dates) or any(self._has_one(number, figures) for number in numbers):
            return numbers
        fitting = [number for number in self.turn_texts if not figures.has_unsupported(self._figures_of(number))]
        if len(fitting) == 1:
            return fitting
        return [number for number in numbers if number not in self.turn_texts]

    def _figures_to_check(self, statement: str) -> Figures:
        found, user_figures = find_figures(_LIST_MARKER.sub("", statement)), find_figures(self.user_text)
        numbers = tuple(
            number for number in found.numbers if Figures(frozenset(), (number,)).has_unsupported(user_figures)
        )
        return replace(
            found, dates=frozenset(date for date in found.dates if not date.is_in(user_figures.dates)), numbers=numbers
        )

    def _has_one(self, number: int, figures: Figures) -> bool:
        source = self._figures_of(number)
        parts = [replace(figures, dates=frozenset({date}), numbers=()) for date in figures.dates]
        parts += [replace(figures, dates=frozenset(), numbers=(figure,)) for figure in figures.numbers]
        return any(not part.has_unsupported(source) for part in parts)

    def _figures_of(self, number: int) -> Figures:
        if number not in self._figures:
            texts = (self.turn_texts.get(number, ""), self.earlier_texts.get(number, ""))
            self._figures[number] = find_figures("\n".join(texts))
        return self._figures[number]
