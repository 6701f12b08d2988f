"""Leases of seconds, renewed while their worker lives: who waits for a dead worker waits for seconds."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import RetryError
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.jobs.visibility import RENEWAL_SECONDS

#: Less than a message's visibility minus one renewal: a dead worker's lease is over when its message comes again.
_LEASE_SECONDS = 3.0

_STOP_SECONDS = 2.0
"""How long the end of the work waits for a renewal under way: a connection left open would keep a database awake."""


def lease_end(now: datetime, seconds_left: SecondsLeft) -> datetime:
    """Return until when a lease taken or renewed now holds: never beyond the invocation's deadline."""
    return now + timedelta(seconds=min(_LEASE_SECONDS, seconds_left()))


@contextmanager
def renew_lease(
    database: Database,
    tenant_id: UUID,
    renew: Callable[[Transaction, datetime], bool],
    clock: Callable[[], datetime],
    seconds_left: SecondsLeft,
    after_renewal: Callable[[Database], None] = lambda _database: None,
) -> Iterator[None]:
    """Renew a lease on a connection of its own, until the block ends or the lease is lost.

    renew          makes the lease hold until the given time; returns False when the lease is lost.
    after_renewal  is called with that connection after each renewal; what it raises is logged, and renewals go on.
    """
    ended = threading.Event()

    def run() -> None:
        own = database.clone()
        while not ended.wait(RENEWAL_SECONDS) and seconds_left() > 0:
            try:
                if not own.run(tenant_id, lambda tx: renew(tx, lease_end(clock(), seconds_left))):
                    break
            except RetryError as problem:
                log.warning("lease_not_renewed", tenant_id=tenant_id, code=problem.code)
                continue
            try:
                after_renewal(own)
            except Exception as problem:  # noqa: BLE001 - without renewals another worker would pay for the work again
                log.error("after_renewal_failed", problem, tenant_id=tenant_id)
        own.close()

    thread = threading.Thread(target=run, name="renew_lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_STOP_SECONDS)
