"""Where a list is to be read on: behind the last row that was shown, by its time and name. Pure.

A cursor says nothing that its reader was not shown, and one that somebody made up only moves the place.
"""

import base64
import json
from datetime import UTC, datetime
from uuid import UUID

from parlour.infra.errors import InvalidRequest
from parlour.infra.json_values import canonical_json

INVALID_CURSOR = "cursor: use the `next_cursor` of the previous page unchanged, or none"
_LONGEST = 400


def encode_cursor(at: datetime, name: object) -> str:
    """Return the cursor after a row with this time; `name` (a handle, a key or an id) tells rows of one time apart."""
    text = canonical_json([at.isoformat(), str(name)])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> tuple[datetime, str]:
    """Return the time and the name in a cursor; InvalidRequest when it is none."""
    try:
        text = base64.b64decode(cursor[:_LONGEST] + "=" * (-len(cursor[:_LONGEST]) % 4), altchars=b"-_", validate=True)
        at, name = json.loads(text)
        return datetime.fromisoformat(at).astimezone(UTC), str(name).replace("\0", "").encode().decode()
    except (ValueError, TypeError, RecursionError, OverflowError):
        raise InvalidRequest(INVALID_CURSOR) from None


def decode_id_cursor(cursor: str) -> tuple[datetime, UUID]:
    """Return the time and the id in a cursor; InvalidRequest when it is none."""
    at, name = decode_cursor(cursor)
    try:
        return at, UUID(name)
    except ValueError:
        raise InvalidRequest(INVALID_CURSOR) from None
