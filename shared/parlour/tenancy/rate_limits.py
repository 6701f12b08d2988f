"""Token buckets in Postgres: shared by all functions, and taken from in a transaction of their own."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from parlour.infra import log
from parlour.infra.errors import RateLimited
from parlour.infra.page_cursor import Page, cut_page, decode_position, parse_text, parse_time
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal
from parlour.tenancy import store
from parlour.tenancy.limits import RateLimit
from parlour.tenancy.roles import require_role
from parlour.tenancy.rows import RateLimitRow

NOTICE_INTERVAL = timedelta(minutes=10)
"""How often somebody on a messaging channel is told that they have to wait."""


def take(tx: Transaction, limits: Sequence[RateLimit], now: datetime) -> int:
    """Take a token from each bucket in turn; return 0, or the seconds until the first empty one has a token again.

    Name the narrowest bucket first: those behind an empty one lose nothing, so one visitor cannot use up a binding's.
    The refusal is counted, so the transaction has to be committed also then.
    """
    for limit in limits:
        row = store.take_token(tx, limit, now)
        if row.was_refused:
            log.count("RateLimited", Scope=limit.scope)
            return max(1, math.ceil((1 - row.tokens) * 60 / limit.per_minute)) if limit.per_minute else 60
    return 0


def require_tokens(database: Database, principal: Principal, limits: Sequence[RateLimit], now: datetime) -> None:
    """Take a token from each bucket, or raise RateLimited with the seconds to wait."""
    if wait := database.run(principal, lambda tx: take(tx, limits, now)):
        raise RateLimited(retry_after=wait)


def should_notify(tx: Transaction, limit: RateLimit, now: datetime) -> bool:
    """Whether to tell the person behind a bucket that they have to wait; once in `NOTICE_INTERVAL`."""
    return store.mark_notified(tx, limit, now, now - NOTICE_INTERVAL)


def list_limits(principal: Principal, tx: Transaction, limit: int, cursor: str = "") -> Page[RateLimitRow]:
    """Return a page of the buckets, those that refused somebody first, then those that were used last.

    Needs the role viewer; InvalidRequest for a bad cursor.
    """
    require_role(principal, "viewer")
    after = decode_position(cursor, bool, parse_time, parse_text, parse_text) if cursor else None
    rows = store.list_rate_limits(tx, limit + 1, (after[0], after[1], after[2], after[3]) if after else None)
    return cut_page(rows, limit, lambda row: (row.refused_count > 0, row.refilled_at, row.scope, row.key))
