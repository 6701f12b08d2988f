"""When a message is delivered again: seconds after its worker died, or when a failed one is worth another attempt.

A queue's visibility timeout is longer than its function may run. A worker replaces it at once by a few seconds, and
renews those for as long as it lives. So a dead worker's message comes back by itself, and its FIFO group goes on.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from parlour.infra import log

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

VISIBILITY_SECONDS = 5
"""How long a message stays invisible after its worker's last sign of life."""

RENEWAL_SECONDS = 1.5
"""How often a worker renews what it holds: its messages here, its leases in `lease_renewal`."""

_STOP_SECONDS = 2.0
"""How long the end of a batch waits for a renewal under way."""

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
    ended = threading.Event()

    def renew() -> None:
        while True:
            for queue_url, receipt_handle in messages:
                if ended.is_set():
                    return
                change_visibility(queue_url, receipt_handle, VISIBILITY_SECONDS)
            if ended.wait(RENEWAL_SECONDS):
                return

    thread = threading.Thread(target=renew, name="renew_visibility", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_STOP_SECONDS)
