"""A session's lease is short, and renewed while its worker lives: who waits for a dead one waits for seconds."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from uuid import UUID

from parlour.conversations import store
from parlour.conversations.rows import Lease
from parlour.infra import log
from parlour.infra.errors import RetryError
from parlour.infra.postgres import Database, Transaction

_LEASE_SECONDS = 15.0
"""Three renewals may fail before another worker takes the session."""

_RENEWAL_SECONDS = 5.0

_STOP_SECONDS = 2.0
"""How long the end of a turn waits for a renewal under way: a connection left open would keep a database awake."""


def lease_end(now: datetime, seconds_left: Callable[[], float]) -> datetime:
    """Return until when a lease taken or renewed now holds: never beyond the invocation's deadline."""
    return now + timedelta(seconds=min(_LEASE_SECONDS, seconds_left()))


@contextmanager
def renew_lease(
    database: Database,
    tenant_id: UUID,
    lease: Lease,
    clock: Callable[[], datetime],
    seconds_left: Callable[[], float],
    after_renewal: Callable[[Database], None] = lambda _database: None,
) -> Iterator[None]:
    """Renew the lease every five seconds, on a connection of its own, until the block ends or the lease is lost.

    after_renewal  is called with that connection after each renewal; what it raises is logged, and renewals go on.
    """
    ended = threading.Event()

    def renew(tx: Transaction) -> bool:
        return store.renew_lease(tx, lease, lease_end(clock(), seconds_left))

    def run() -> None:
        own = database.clone()
        while not ended.wait(_RENEWAL_SECONDS) and seconds_left() > 0:
            try:
                if not own.run(tenant_id, renew):
                    break
            except RetryError as problem:
                log.warning("lease_not_renewed", tenant_id=tenant_id, session_id=lease.id, code=problem.code)
                continue
            try:
                after_renewal(own)
            except Exception as problem:  # noqa: BLE001 - without renewals another worker would pay for the turn again
                log.error("after_renewal_failed", problem, tenant_id=tenant_id, session_id=lease.id)
        own.close()

    thread = threading.Thread(target=run, name="lease_renewal", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_STOP_SECONDS)
