"""Where a listing of records is to be read on: behind the last record that was shown. Pure.

A cursor says nothing that its reader was not shown, and one that somebody made up only moves the place.
"""

import base64
import json
from datetime import UTC, datetime

from parlour.infra.errors import InvalidRequest
from parlour.infra.json_values import canonical_json
from parlour.records.record import Record

_LONGEST = 400


def encode_cursor(entity: Record) -> str:
    """Return the cursor after a record."""
    text = canonical_json([entity.updated_at.isoformat(), entity.handle])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> tuple[datetime, str]:
    """Return the time of change and the handle in a cursor; InvalidRequest when it is none."""
    try:
        text = base64.b64decode(cursor[:_LONGEST] + "=" * (-len(cursor[:_LONGEST]) % 4), altchars=b"-_", validate=True)
        at, handle = json.loads(text)
        return datetime.fromisoformat(at).astimezone(UTC), str(handle).replace("\0", "").encode().decode()
    except (ValueError, TypeError, RecursionError, OverflowError):
        raise InvalidRequest("cursor: use the `next_cursor` of the previous page unchanged, or none") from None
