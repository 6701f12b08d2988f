"""Where a list is to be read on: behind the last row that was shown, by what the list is ordered by. Pure.

A cursor says nothing that its reader was not shown, and one that somebody made up only moves the place.
"""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from parlour.infra.errors import InvalidRequest
from parlour.infra.json_values import canonical_json

INVALID_CURSOR = "cursor: use the `next_cursor` of the previous page unchanged, or none"
#: Characters: a name of 200 letters of any script and an id fit.
MAX_CURSOR_CHARS = 1_200


@dataclass(frozen=True, slots=True)
class Page[Row]:
    """Some rows of a list; next_cursor: "" when these are the last."""

    rows: Sequence[Row]
    next_cursor: str = ""


def cut_page[Row](rows: Sequence[Row], limit: int, position: Callable[[Row], Sequence[object]]) -> Page[Row]:
    """Return a page of at most `limit` rows, of which one more was read; `position`: what the list is ordered by."""
    if len(rows) <= limit:
        return Page(rows)
    return Page(rows[:limit], encode_position(*position(rows[limit - 1])))


def encode_position(*values: object) -> str:
    """Return the cursor after a row with these values."""
    return base64.urlsafe_b64encode(canonical_json([*values]).encode()).decode().rstrip("=")


def decode_position(cursor: str, *parsers: Callable[[Any], object]) -> tuple[Any, ...]:
    """Return the values in a cursor, each as its parser reads it; InvalidRequest when it is no such cursor."""
    try:
        text = base64.b64decode(
            cursor[:MAX_CURSOR_CHARS] + "=" * (-len(cursor[:MAX_CURSOR_CHARS]) % 4), altchars=b"-_", validate=True
        )
        return tuple(parse(value) for parse, value in zip(parsers, json.loads(text), strict=True))
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        raise InvalidRequest(INVALID_CURSOR) from None


def encode_cursor(at: datetime, name: object) -> str:
    """Return the cursor after a row with this time; `name` (a handle, a key or an id) tells rows of one time apart."""
    return encode_position(at, name)


def decode_cursor(cursor: str) -> tuple[datetime, str]:
    """Return the time and the name in a cursor; InvalidRequest when it is none."""
    at, name = decode_position(cursor, parse_time, parse_text)
    return at, name


def decode_id_cursor(cursor: str) -> tuple[datetime, UUID]:
    """Return the time and the id in a cursor; InvalidRequest when it is none."""
    at, row_id = decode_position(cursor, parse_time, UUID)
    return at, row_id


def parse_time(value: str) -> datetime:
    """Return a cursor's time in UTC."""
    return datetime.fromisoformat(value).astimezone(UTC)


def parse_count(value: int) -> int:
    """Return a cursor's whole number from 1 to a million."""
    if not isinstance(value, int) or not 1 <= value <= 1_000_000:
        raise ValueError(value)
    return value


def parse_text(value: object) -> str:
    """Return a cursor's text, as far as a database can store it."""
    return str(value).replace("\0", "").encode().decode()
