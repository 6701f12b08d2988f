"""Reading a long document a page at a time, cut where its text lets one stop. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from parlour.text.markdown import FENCE
from parlour.text.sentences import cut
from parlour.text.words import word_parts

_HEADING = re.compile(r"^(#{1,6})\s+(\S.*?)\s*#*\s*$")
_PARAGRAPH, _LINE, _WORD = re.compile(r"\n[ \t]*\n"), re.compile(r"\n"), re.compile(r"\s")

#: Characters behind a page's end that tell whether a sentence ends there.
_CONTEXT = 24

_MOST_SECTIONS = 5


@dataclass(frozen=True, slots=True)
class Heading:
    """A Markdown heading: its text, its level from 1, and the character at which its line begins."""

    text: str
    level: int
    at: int


@dataclass(frozen=True, slots=True)
class Page:
    """Characters `start` to `end` of a document; `next` is where reading goes on, None at the end.

    `heading`: the path of headings that the page's first character stands under, outermost first.
    """

    contents: str
    start: int
    end: int
    next: int | None
    heading: tuple[str, ...]


def headings(content: str) -> list[Heading]:
    """Every heading, in order; what is in a code block is none."""
    return list(_headings(content))


def section(content: str, name: str) -> tuple[int, int] | None:
    """Where the section begins and ends whose heading is `name`, or else contains it; None without one.

    A section ends where the next heading of its level or above begins.
    """
    found = headings(content)
    wanted = _folded(name)
    exact = [at for at, heading in enumerate(found) if _folded(heading.text) == wanted]
    near = [at for at, heading in enumerate(found) if wanted in _folded(heading.text)] if wanted else []
    if not (chosen := exact or near):
        return None
    own = found[chosen[0]]
    ends = (heading.at for heading in found[chosen[0] + 1 :] if heading.level <= own.level)
    return own.at, next(ends, len(content))


def page(content: str, start: int, most: int, end: int | None = None) -> Page:
    """At most `most` characters from `start`, not beyond `end` (None: the document's end).

    It stops before a heading, else behind a paragraph, a line, a sentence, a word; never before half of `most`
    when there is more, so that reading on always comes to an end.
    """
    last = len(content) if end is None else min(end, len(content))
    start = min(max(start, 0), last)
    stop = last if last - start <= most else _stop(content, start, start + most)
    path = _path(headings(content), start)
    return Page(content[start:stop], start, stop, stop if stop < last else None, path)


def told(before: str, after: str) -> str:
    """The headings of the sections whose own text changed, came or went: " in Payment, Liability"."""
    old, new = _by_heading(before), _by_heading(after)
    changed = [name for name in {**new, **old} if old.get(name) != new.get(name) and name]
    more = [f"{len(changed) - _MOST_SECTIONS} more"] if len(changed) > _MOST_SECTIONS else []
    return " in " + ", ".join([*changed[:_MOST_SECTIONS], *more]) if changed else ""


def _by_heading(content: str) -> dict[str, str]:
    found = headings(content)
    ends = [heading.at for heading in found[1:]] + [len(content)]
    texts = {"": content[: found[0].at if found else len(content)]}
    for heading, end in zip(found, ends, strict=False):
        texts[heading.text] = texts.get(heading.text, "") + content[heading.at : end]
    return texts


def _stop(content: str, start: int, furthest: int) -> int:
    nearest = start + (furthest - start) // 2
    before = [heading.at for heading in _headings(content) if nearest < heading.at <= furthest]
    if before:
        return before[-1]
    # Best first: behind a paragraph, a line, a sentence, a word.
    shown = content[start : furthest + _CONTEXT]
    ends = [
        [found.end() for found in _PARAGRAPH.finditer(content, nearest, furthest)],
        [found.end() for found in _LINE.finditer(content, nearest, furthest)],
        [end for end in accumulate(map(len, cut(shown)), initial=start) if nearest < end <= furthest],
        [found.end() for found in _WORD.finditer(content, nearest, furthest)],
    ]
    return next((places[-1] for places in ends if places), furthest)


def _path(found: Sequence[Heading], at: int) -> tuple[str, ...]:
    path: list[Heading] = []
    for heading in found:
        if heading.at > at:
            break
        path = [*(above for above in path if above.level < heading.level), heading]
    return tuple(heading.text for heading in path)


def _headings(content: str) -> Iterator[Heading]:
    at, fenced = 0, False
    for line in content.splitlines(keepends=True):
        fence = bool(FENCE.match(line))
        if not fenced and not fence and (found := _HEADING.match(line.rstrip("\r\n"))):
            yield Heading(re.sub(r"[*_`]", "", found[2]).strip(), len(found[1]), at)
        fenced ^= fence
        at += len(line)


def _folded(text: str) -> str:
    return " ".join(word_parts(text.casefold()))
