"""Walking a document line by line, knowing the headings, the page and the e-mail that each line is under. Pure."""

import re
from dataclasses import dataclass, field

from parlour.text.email_headers import EmailOrigin, count_header_lines, parse_header

CODE_FENCE = re.compile(r"^\s*(?:```|~~~)")
"""Opens and closes code in Markdown; nothing inside it is a heading or a mark."""

HORIZONTAL_RULE = re.compile(r"^\s*([-*_])(?:\s*\1){2,}\s*$")
"""A line across the page, which says nothing itself."""

_PAGE_BREAK = re.compile(r"^\s*(?:\f|<!--\s*page:?\s*(\d{1,6})\s*-->)\s*$")
_HEADING = re.compile(r"^(#{1,6})\s+(\S.*)$")
_MAX_HEADER_LINES = 8
_NO_LEVEL = 0


@dataclass(slots=True)
class Section:
    """Lines between two headings, page marks or e-mail headers, and where they stand."""

    heading: tuple[str, ...]
    page: int | None
    email: EmailOrigin
    lines: list[str] = field(default_factory=list)

    @property
    def is_blank(self) -> bool:
        return not any(line.strip() and not HORIZONTAL_RULE.match(line) for line in self.lines)


def split_sections(content: str, email: EmailOrigin) -> list[Section]:
    """Return the sections of a Markdown or plain text, in order. `email` describes the whole document."""
    return _SectionParser(email).parse(content)


class _SectionParser:
    def __init__(self, email: EmailOrigin) -> None:
        self._document_email = self._email = email
        self._email_level = _NO_LEVEL
        self._header_end = 0
        self._heading_path: list[tuple[int, str]] = []
        self._page: int | None = None
        self._sections: list[Section] = []
        self._heading_section = 0

    def parse(self, content: str) -> list[Section]:
        lines = content.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\f\n").split("\n")
        self._page = 1 if "\f" in content else None
        self._open_section()
        fenced = False
        for index, line in enumerate(lines):
            fence = bool(CODE_FENCE.match(line))
            if fence or fenced or not self._consume_marker(line):
                self._open_email(lines, index, fenced)
                self._sections[-1].lines.append(line)
            fenced ^= fence
        self._keep_empty_heading(_NO_LEVEL)
        return self._sections

    def _open_section(self) -> None:
        self._sections.append(Section(tuple(name for _, name in self._heading_path), self._page, self._email))

    def _consume_marker(self, line: str) -> bool:
        """Whether `line` is no text itself but says where the next lines stand."""
        if page := _PAGE_BREAK.match(line):
            self._page = int(page[1]) if page[1] else (self._page or 1) + 1
            self._open_section()
        elif heading := _HEADING.match(line):
            level = len(heading[1])
            self._keep_empty_heading(level)
            self._heading_path = [(depth, name) for depth, name in self._heading_path if depth < level] + [
                (level, re.sub(r"[*_`]", "", heading[2]).strip("# "))
            ]
            if level <= self._email_level:
                self._email, self._email_level = self._document_email, _NO_LEVEL
            self._open_section()
            self._heading_section = len(self._sections) - 1
        else:
            return False
        return True

    def _keep_empty_heading(self, next_level: int) -> None:
        """Add a heading without text to its section's text, so that it is not lost."""
        bare = all(section.is_blank for section in self._sections[self._heading_section :])
        if self._heading_path and bare and self._heading_path[-1][0] >= next_level:
            self._sections[-1].lines.append(self._heading_path[-1][1])

    def _open_email(self, lines: list[str], index: int, fenced: bool) -> None:
        """Begin a section where an e-mail's header begins; the header's lines stay as text."""
        if fenced or index < self._header_end:
            return
        count = count_header_lines(lines[index : index + _MAX_HEADER_LINES])
        if not count:
            return
        self._header_end = index + count
        self._email = parse_header(lines[index : index + count])
        self._email_level = self._heading_path[-1][0] if self._heading_path else _NO_LEVEL
        self._open_section()
