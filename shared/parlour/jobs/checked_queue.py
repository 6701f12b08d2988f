"""A queue whose work is checked seconds after it was sent, for a worker that dies before its first renewal.

Such a worker's message waits for the queue's visibility timeout, which is minutes. The check is a wake-up: the sweep
finds the work's row in `work_due`, and sends the work again if no worker has a lease on it.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import QueueUnavailable
from parlour.infra.queues import DelayedQueue, FifoQueue, QueueMessage
from parlour.jobs import work_due
from parlour.jobs.work_due import CHECK_DELAY, DueWork, WorkKind

_KIND_BY_KEY: Mapping[str, WorkKind] = {"session_id": "session", "outbox_id": "outbox", "tool_call_id": "tool_call"}
"""What a message wakes, by the key in its body that holds the id."""


class CheckedQueue:
    """A FIFO queue that also sends a wake-up for a check of each message that wakes a session, reply or tool call."""

    def __init__(self, queue: FifoQueue, wakeup_queue: DelayedQueue, clock: Callable[[], datetime]) -> None:
        self._queue = queue
        self._wakeup_queue = wakeup_queue
        self._clock = clock

    def send(self, messages: Sequence[QueueMessage], /) -> None:
        """Send the messages, then their checks. A check that cannot be sent is left to the scheduled sweep."""
        self._queue.send(messages)
        now = self._clock()
        for message in messages:
            body = message.body
            for key in _KIND_BY_KEY.keys() & body.keys() if not message.is_checked else ():
                tenant_id, work_id = UUID(str(body["tenant_id"])), UUID(str(body[key]))
                work = DueWork(tenant_id, _KIND_BY_KEY[key], work_id, now + CHECK_DELAY)
                try:
                    work_due.send_wakeup(self._wakeup_queue, work, now)
                except QueueUnavailable as problem:
                    log.warning("check_not_sent", tenant_id=tenant_id, code=problem.code)
