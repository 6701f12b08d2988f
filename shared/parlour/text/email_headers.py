"""E-mail headers inside a document: who wrote a passage, and when. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parseaddr, parsedate_to_datetime
from itertools import takewhile

_HEADER = re.compile(r"^\s*\**(From|To|Cc|Bcc|Date|Sent|Subject)\**\s*:\**\s*(\S.*)$", re.IGNORECASE)
_MAX_NAME_CHARS = 80
_MAX_DATE_CHARS = 40


@dataclass(frozen=True, slots=True)
class EmailOrigin:
    """The sender's name (or address) and the day (ISO 8601 where it could be read), "" when not stated."""

    sender: str
    date: str


def count_header_lines(lines: Sequence[str]) -> int:
    """How many of the first `lines` are the header of an e-mail; 0 when they are none.

    A header is a run of header fields with a From and a subject or a date among them; `**From:**` counts as
    well. (A From and a To alone may be a period or a journey.)
    """
    names = [found[1].lower() for found in takewhile(bool, map(_HEADER.match, lines)) if found]
    return len(names) if "from" in names and {"subject", "date", "sent"} & set(names) else 0


def parse_header(lines: Sequence[str]) -> EmailOrigin:
    """Sender and day from the header's lines."""
    fields = {found[1].lower(): found[2].strip(" *") for found in map(_HEADER.match, lines) if found}
    name, address = parseaddr(fields.get("from", ""))
    sender = name or address or fields.get("from", "")
    return EmailOrigin(sender[:_MAX_NAME_CHARS], to_iso_day(fields.get("date") or fields.get("sent") or ""))


def to_iso_day(text: str) -> str:
    """Return the calendar day of a written date as YYYY-MM-DD; text that is no date is returned unchanged."""
    text = text.strip()
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return parse(text).date().isoformat()
        except (ValueError, TypeError):
            continue
    return text[:_MAX_DATE_CHARS]
