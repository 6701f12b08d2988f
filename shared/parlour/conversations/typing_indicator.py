"""What a person on WhatsApp sees as soon as a turn begins: two blue ticks, and that somebody types."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from parlour.channels.read_receipts import ReadReceiptSenders, ReceivedMessageRow, send_read_receipt
from parlour.infra import log

_STOP_SECONDS = 2.0
"""How long the end of a turn waits for a call under way: a frozen sandbox would send it with a later turn."""


@contextmanager
def show_typing(senders: ReadReceiptSenders, message: ReceivedMessageRow | None) -> Iterator[None]:
    """Mark the message as read and show the typing indicator, in a thread beside the block.

    Tried once: the indicator goes with the reply, or after 25 seconds. What goes wrong is logged and changes nothing.
    """
    if message is None or not senders:
        yield
        return
    thread = threading.Thread(target=_send, args=(senders, message), name="typing_indicator", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join(_STOP_SECONDS)


def _send(senders: ReadReceiptSenders, message: ReceivedMessageRow) -> None:
    try:
        send_read_receipt(senders, message)
    except Exception as problem:  # noqa: BLE001 - a thread has nobody to raise to, and the turn goes on
        log.warning("typing_not_shown", problem=type(problem).__name__)
