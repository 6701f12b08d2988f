"""Streams that are open now: one visitor or one address cannot occupy all that a deployment serves.

Each has a row, which goes with the stream. The row of a process that died counts until no stream of it can be open.
"""

from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra import log
from parlour.infra.postgres import Transaction
from parlour.tenancy import store
from parlour.tenancy.limits import Limits

MAX_VISITOR_STREAMS = 2
"""Streams that one visitor may have open: another window, or one whose end the server has not noticed yet."""

RETRY_SECONDS = 5
"""When a refused client is asked to come back; an idle stream ends after 20 seconds."""

_LONGEST_STREAM = timedelta(seconds=330)
"""A function that streams is ended after this time at the latest."""


def open_stream(tx: Transaction, stream_id: UUID, user_id: UUID, limits: Limits, address: str, now: datetime) -> bool:
    """Count a stream until `close_stream`; False where the visitor or the address has as many open as they may.

    address  its hash; "" when it is not known.
    """
    is_open = store.add_open_stream(
        tx,
        id=stream_id,
        user_id=user_id,
        address=address,
        most_of_visitor=MAX_VISITOR_STREAMS,
        most_of_address=limits.address_streams,
        expires_at=now + _LONGEST_STREAM,
        now=now,
    )
    if not is_open:
        log.count("RateLimited", Scope="stream")
    return is_open


def close_stream(tx: Transaction, stream_id: UUID) -> None:
    """Count a stream no more."""
    store.delete_open_stream(tx, stream_id)
