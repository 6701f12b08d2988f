"""Renewal of what a worker holds, its queue messages and its lease: a dead worker renews nothing, and others go on.

A queue's visibility timeout is longer than its function may run. A worker replaces it at once by a few seconds, and
renews those for as long as it lives. So a dead worker's message comes back by itself, and its FIFO group continues.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from botocore.exceptions import BotoCoreError, ClientError

from parlour.infra import log
from parlour.infra.errors import RetryError

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

    from parlour.infra.postgres import Database, SecondsLeft, Transaction  # `inbound` loads no database driver

VISIBILITY_SECONDS = 5
"""How long a message stays invisible after its worker's last sign of life."""

RENEWAL_SECONDS = 1.5
"""How often a worker renews what it holds."""

#: Less than a message's visibility minus one renewal: a dead worker's lease is over when its message comes again.
_LEASE_SECONDS = 3.0

_STOP_SECONDS = 2.0
"""How long the end of the work waits for a renewal under way: a connection left open would keep a database awake."""

type ChangeVisibility = Callable[[str, str, int], None]
"""Takes queue URL, receipt handle, and the seconds until the message is visible again."""

type ReceivedMessage = tuple[str, str]
"""A queue's URL and a receipt handle."""


def visibility_changer(client: "SQSClient") -> ChangeVisibility:
    """Return a ChangeVisibility that asks SQS. When SQS refuses, the message keeps its time and a line is logged."""

    def change_visibility(queue_url: str, receipt_handle: str, seconds: int) -> None:
        try:
            client.change_message_visibility(
                QueueUrl=queue_url, ReceiptHandle=receipt_handle, VisibilityTimeout=seconds
            )
        except (BotoCoreError, ClientError) as error:
            log.warning("visibility_not_changed", error=type(error).__name__)

    return change_visibility


@contextmanager
def renew_visibility(change_visibility: ChangeVisibility, messages: Sequence[ReceivedMessage]) -> Iterator[None]:
    """Keep the messages invisible until the block ends, and for seconds after the process dies in it.

    A message that SQS refuses may be another worker's by now: what keeps the two apart are the leases in the database.
    """

    def renew(ended: threading.Event) -> None:
        while True:
            for queue_url, receipt_handle in messages:
                if ended.is_set():
                    return
                change_visibility(queue_url, receipt_handle, VISIBILITY_SECONDS)
            if ended.wait(RENEWAL_SECONDS):
                return

    with _in_thread(renew):
        yield


def lease_end(now: datetime, seconds_left: "SecondsLeft") -> datetime:
    """Return until when a lease taken or renewed now holds: never beyond the invocation's deadline."""
    return now + timedelta(seconds=min(_LEASE_SECONDS, seconds_left()))


@contextmanager
def renew_lease(
    database: "Database",
    tenant_id: UUID,
    renew: "Callable[[Transaction, datetime], bool]",
    clock: Callable[[], datetime],
    seconds_left: "SecondsLeft",
    after_renewal: "Callable[[Database], None]" = lambda _database: None,
) -> Iterator[None]:
    """Renew a lease on a connection of its own, until the block ends or the lease is lost.

    renew          makes the lease hold until the given time; returns False when the lease is lost.
    after_renewal  is called with that connection after each renewal; what it raises is logged, and renewals go on.
    """

    def run(ended: threading.Event) -> None:
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

    with _in_thread(run):
        yield


@contextmanager
def _in_thread(run: Callable[[threading.Event], None]) -> Iterator[None]:
    """Call `run` in a thread with an event that is set when the block ends."""
    ended = threading.Event()
    thread = threading.Thread(target=run, args=(ended,), name="renewal", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_STOP_SECONDS)
