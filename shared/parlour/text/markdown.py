"""Walking a document line by line, knowing the headings, the page and the e-mail that each line is under. Pure."""

import re
from dataclasses import dataclass, field

from parlour.text.email_text import Mail, header_lines, read_header

FENCE = re.compile(r"^\s*(?:```|~~~)")
"""Opens and closes code in Markdown; nothing inside it is a heading or a mark."""

RULE = re.compile(r"^\s*([-*_])(?:\s*\1){2,}\s*$")
"""A line across the page, which says nothing itself."""

_PAGE = re.compile(r"^\s*(?:\f|<!--\s*page:?\s*(\d{1,6})\s*-->)\s*$")
_HEADING = re.compile(r"^(#{1,6})\s+(\S.*)$")
_LONGEST_HEADER = 8
_NO_LEVEL = 0


@dataclass(slots=True)
class Section:
    """Lines between two headings, page marks or e-mail headers, and where they stand."""

    heading: tuple[str, ...]
    page: int | None
    mail: Mail
    lines: list[str] = field(default_factory=list)

    @property
    def is_blank(self) -> bool:
        return not any(line.strip() and not RULE.match(line) for line in self.lines)


def read(content: str, mail: Mail) -> list[Section]:
    """The sections of a Markdown or plain text, in order. `mail` is what is known of the document as a whole."""
    return _Reader(mail).read(content)


class _Reader:
    def __init__(self, mail: Mail) -> None:
        self._own = self._mail = mail
        self._mail_level = _NO_LEVEL
        self._header_end = 0
        self._path: list[tuple[int, str]] = []
        self._page: int | None = None
        self._sections: list[Section] = []
        self._under_heading = 0

    def read(self, content: str) -> list[Section]:
        lines = content.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\f\n").split("\n")
        self._page = 1 if "\f" in content else None
        self._open()
        fenced = False
        for index, line in enumerate(lines):
            fence = bool(FENCE.match(line))
            if fence or fenced or not self._follow_mark(line):
                self._open_mail(lines, index, fenced)
                self._sections[-1].lines.append(line)
            fenced ^= fence
        self._keep_bare_heading(_NO_LEVEL)
        return self._sections

    def _open(self) -> None:
        self._sections.append(Section(tuple(name for _, name in self._path), self._page, self._mail))

    def _follow_mark(self, line: str) -> bool:
        """Whether `line` is no text itself but says where the next lines stand."""
        if page := _PAGE.match(line):
            self._page = int(page[1]) if page[1] else (self._page or 1) + 1
            self._open()
        elif heading := _HEADING.match(line):
            self._enter(len(heading[1]), re.sub(r"[*_`]", "", heading[2]).strip("# "))
        else:
            return False
        return True

    def _enter(self, level: int, title: str) -> None:
        self._keep_bare_heading(level)
        self._path = [(depth, name) for depth, name in self._path if depth < level] + [(level, title)]
        if level <= self._mail_level:
            self._mail, self._mail_level = self._own, _NO_LEVEL
        self._open()
        self._under_heading = len(self._sections) - 1

    def _keep_bare_heading(self, next_level: int) -> None:
        """A heading with nothing under it would vanish: it becomes text of its section."""
        bare = all(section.is_blank for section in self._sections[self._under_heading :])
        if self._path and bare and self._path[-1][0] >= next_level:
            self._sections[-1].lines.append(self._path[-1][1])

    def _open_mail(self, lines: list[str], index: int, fenced: bool) -> None:
        """Begin a section where an e-mail's header begins; the header's lines stay as text."""
        if fenced or index < self._header_end:
            return
        count = header_lines(lines[index : index + _LONGEST_HEADER])
        if not count:
            return
        self._header_end = index + count
        self._mail = read_header(lines[index : index + count])
        self._mail_level = self._path[-1][0] if self._path else _NO_LEVEL
        self._open()
