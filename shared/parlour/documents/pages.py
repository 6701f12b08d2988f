"""Reading a long document a page at a time, cut where its text lets one stop. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from parlour.text.document_sections import CODE_FENCE
from parlour.text.sentences import split_sentences
from parlour.text.words import word_parts

_HEADING = re.compile(r"^(#{1,6})\s+(\S.*)$")
_PAGE_MARK = re.compile(r"\f|^[ \t]*<!--\s*page:?\s*\d{1,6}\s*-->", re.MULTILINE)
_PARAGRAPH, _LINE, _WORD = re.compile(r"\n[ \t]*\n"), re.compile(r"\n"), re.compile(r"\s")

#: Characters behind a page's end that tell whether a sentence ends there.
_CONTEXT = 24

_MOST_SECTIONS = 5


@dataclass(frozen=True, slots=True)
class Heading:
    """A Markdown heading: its text, its level from 1, and the character at which its line begins."""

    text: str
    level: int
    offset: int


@dataclass(frozen=True, slots=True)
class TextPage:
    """Characters `start` to `end` of a document; `next` is where reading goes on, None at the end.

    `heading`: the path of headings that the page's first character stands under, outermost first.
    """

    text: str
    start: int
    end: int
    next_start: int | None
    heading: tuple[str, ...]


def find_headings(content: str) -> list[Heading]:
    """Every heading, in order; what is in a code block is none."""
    return list(_headings(content))


def find_section(content: str, name: str) -> tuple[int, int] | None:
    """Where the section begins and ends whose heading is `name`, or else contains it; None without one.

    A section ends where the next heading of its level or above begins.
    """
    found = find_headings(content)
    wanted = _normalised(name)
    exact = [at for at, heading in enumerate(found) if _normalised(heading.text) == wanted]
    near = [at for at, heading in enumerate(found) if wanted in _normalised(heading.text)] if wanted else []
    if not (chosen := exact or near):
        return None
    own = found[chosen[0]]
    ends = (heading.offset for heading in found[chosen[0] + 1 :] if heading.level <= own.level)
    return own.offset, next(ends, len(content))


def cut_page(content: str, start: int, max_chars: int, end: int | None = None) -> TextPage:
    """At most `most` characters from `start`, not beyond `end` (None: the document's end).

    It stops before a heading, else behind a paragraph, a line, a sentence, a word; never before half of `most`
    when there is more, so that reading on always comes to an end.
    """
    last = len(content) if end is None else min(end, len(content))
    start = min(max(start, 0), last)
    stop = last if last - start <= max_chars else _page_end(content, start, start + max_chars)
    path = _heading_path(find_headings(content), start)
    return TextPage(content[start:stop], start, stop, stop if stop < last else None, path)


def split_page(content: str, page: TextPage) -> list[TextPage]:
    """Return the parts of a page in order, cut before each heading and page mark."""
    found = find_headings(content)
    cuts = {page.start, *(heading.offset for heading in found if page.start < heading.offset < page.end)}
    cuts |= {mark.start() for mark in _PAGE_MARK.finditer(content, page.start, page.end)}
    starts = sorted(cuts)
    return [
        TextPage(content[start:end], start, end, end, _heading_path(found, start))
        for start, end in pairwise([*starts, page.end])
    ]


def format_changed_sections(before: str, after: str) -> str:
    """Return the headings of the sections whose own text changed, came or went: " in Payment, Liability"."""
    old, new = _texts_by_heading(before), _texts_by_heading(after)
    changed = [name for name in {**new, **old} if old.get(name) != new.get(name) and name]
    more = [f"{len(changed) - _MOST_SECTIONS} more"] if len(changed) > _MOST_SECTIONS else []
    return " in " + ", ".join([*changed[:_MOST_SECTIONS], *more]) if changed else ""


def _texts_by_heading(content: str) -> dict[str, str]:
    found = find_headings(content)
    ends = [heading.offset for heading in found[1:]] + [len(content)]
    texts = {"": content[: found[0].offset if found else len(content)]}
    for heading, end in zip(found, ends, strict=False):
        texts[heading.text] = texts.get(heading.text, "") + content[heading.offset : end]
    return texts


def _page_end(content: str, start: int, furthest: int) -> int:
    nearest = start + (furthest - start) // 2
    before = [heading.offset for heading in _headings(content) if nearest < heading.offset <= furthest]
    if before:
        return before[-1]
    # Best first: behind a paragraph, a line, a sentence, a word.
    shown = content[start : furthest + _CONTEXT]
    ends = [
        [found.end() for found in _PARAGRAPH.finditer(content, nearest, furthest)],
        [found.end() for found in _LINE.finditer(content, nearest, furthest)],
        [end for end in accumulate(map(len, split_sentences(shown)), initial=start) if nearest < end <= furthest],
        [found.end() for found in _WORD.finditer(content, nearest, furthest)],
    ]
    return next((places[-1] for places in ends if places), furthest)


def _heading_path(found: Sequence[Heading], at: int) -> tuple[str, ...]:
    path: list[Heading] = []
    for heading in found:
        if heading.offset > at:
            break
        path = [*(above for above in path if above.level < heading.level), heading]
    return tuple(heading.text for heading in path)


def _headings(content: str) -> Iterator[Heading]:
    at, fenced = 0, False
    for line in content.splitlines(keepends=True):
        fence = bool(CODE_FENCE.match(line))
        if not fenced and not fence and (found := _HEADING.match(line.rstrip("\r\n"))):
            yield Heading(re.sub(r"[*_`]", "", found[2]).rstrip().rstrip("#").strip(), len(found[1]), at)
        fenced ^= fence
        at += len(line)


def _normalised(text: str) -> str:
    return " ".join(word_parts(text.casefold()))
