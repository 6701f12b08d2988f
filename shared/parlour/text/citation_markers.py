"""Markers of citations in a text, such as `[2]`, and the numbers that the reader of a reply knows them by. Pure.

A session numbers what its prompts show, and replies are stored with these numbers. A reader finds 1, 2, 3 in each
reply, in the order in which it first cites them.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

_CODE_SPAN = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.DOTALL)
"""Code, fenced or inline: brackets in it are no citations."""

_NOUN = (
    r"(?:documents?|docs?\.?|sources?|dokumente?|documentos?|quellen?"
    r"|\u0926\u0938\u094d\u0924\u093e\u0935\u0947\u091c\u093c?)"
)
_BRACKET = rf"\[(?:{_NOUN}\s*|n\s?[:=]?\s?)?\d{{1,3}}(?:\s*[,;\u2013-]\s*\d{{1,3}})*\](?!\()"
_MARKER = re.compile(rf"[ \t]?(?<![\w\]])((?:{_BRACKET})+)|(?<=\])((?:{_BRACKET})+)", re.IGNORECASE)
"""`[2]`, `[2, 5]`, `[1-3]`, `[document 2]`, also one right after another, with the space before it. Not an index
(`rows[0]`), not a link's text, not a year: a session never gives out a thousand numbers."""

_MENTION = re.compile(
    rf"{_BRACKET}|(?<!\w){_NOUN} ?(?:(?:number|no\.?|nr\.?|#) ?)?\d{{1,3}}(?!\d)",
    re.IGNORECASE,
)
"""A source that is named by its number in what a user writes: `[2]`, `source 2`, `Quelle Nr. 2`."""

_RANGE = re.compile(r"(\d+)\s*[\u2013-]\s*(\d+)")


@dataclass(frozen=True, slots=True)
class Marker:
    """Citations one right after another: their numbers, and where they are.

    start, bracket, end  where the space before them begins, the first bracket, and what follows.
    before               the text before them, from the last code on.
    """

    numbers: tuple[int, ...]
    start: int
    bracket: int
    end: int
    before: str


def find_markers(text: str) -> Iterator[Marker]:
    """Yield the citations of a text, in order, without those in code."""
    offset = 0
    for position, piece in enumerate(_CODE_SPAN.split(text)):
        for match in () if position % 2 else _MARKER.finditer(piece):
            group = match.lastindex or 0
            numbers = tuple(_parse_numbers(match[group]))
            start, bracket, end = (offset + at for at in (match.start(), match.start(group), match.end()))
            yield Marker(numbers, start, bracket, end, piece[: match.start()])
        offset += len(piece)


def replace_markers(text: str, replace: Callable[[Marker], Sequence[int] | None], begin: int = 0) -> str:
    """Return the text from `begin` on with other numbers in its citations, one per bracket.

    A citation without a number goes with the space before it; None leaves it as it is.
    """
    parts: list[str] = []
    for marker in find_markers(text):
        numbers = replace(marker) if marker.bracket >= begin else None
        if numbers is not None:
            start = max(begin, marker.start)
            space = text[start : marker.bracket] if numbers else ""
            parts += [text[begin:start], space, *(f"[{number}]" for number in numbers)]
            begin = marker.end
    return "".join([*parts, text[begin:]])


def reader_number(number: int, cited_numbers: Sequence[int]) -> int:
    """Return the number by which the reader of a reply knows a source.

    cited_numbers  the session's numbers of what the reply cites, as first cited.
    """
    return cited_numbers.index(number) + 1 if number in cited_numbers else number


def names_a_source(text: str) -> bool:
    """Return whether what a user writes names a source by its number."""
    return _MENTION.search(text) is not None


def number_for_reader(text: str, cited_numbers: Sequence[int]) -> str:
    """Return the text of a reply with the reader's numbers."""

    def replace(marker: Marker) -> Sequence[int] | None:
        is_known = any(number in cited_numbers for number in marker.numbers)
        return [reader_number(number, cited_numbers) for number in marker.numbers] if is_known else None

    return replace_markers(text, replace) if cited_numbers else text


@dataclass(slots=True)
class CitationStream:
    """The same for a reply that comes in pieces, none of which ends within a citation.

    Citations of unknown numbers stay as they are: the stored reply is without them.

    find_known     returns which of some numbers may be cited.
    cited_numbers  the session's numbers, as first cited.
    """

    find_known: Callable[[Collection[int]], Collection[int]]
    cited_numbers: list[int] = field(default_factory=list)
    _block: int = 0
    _text: str = ""
    _earlier_count: int = 0

    def add(self, piece: str, block: int) -> str:
        """Return a piece of a block's text with the reader's numbers."""
        if block != self._block:
            self._block, self._text, self._earlier_count = block, "", len(self.cited_numbers)
        begin = len(self._text)
        self._text += piece
        return replace_markers(self._text, self._number, begin)

    def reset(self, block: int) -> None:
        """Forget the text of the block that is streamed: it begins again."""
        if block == self._block:
            self._text = ""
            del self.cited_numbers[self._earlier_count :]

    def _number(self, marker: Marker) -> list[int] | None:
        unseen = [number for number in marker.numbers if number not in self.cited_numbers]
        known_numbers = self.find_known(unseen) if unseen else ()
        self.cited_numbers += [number for number in dict.fromkeys(unseen) if number in known_numbers]
        cited = [number for number in marker.numbers if number in self.cited_numbers]
        return [reader_number(number, self.cited_numbers) for number in cited] or None


def _parse_numbers(inside: str) -> list[int]:
    """Return the numbers that a bracket means: `1-3` is three of them."""
    spread = _RANGE.sub(lambda match: ",".join(map(str, _expand_range(int(match[1]), int(match[2])))), inside)
    return [int(number) for number in re.findall(r"\d+", spread)]


def _expand_range(first: int, last: int) -> list[int]:
    return list(range(first, last + 1)) if first <= last else [first, last]
