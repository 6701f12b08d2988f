"""One batch from an SQS queue to the answer that Lambda expects: which messages are not done.

A message that may yet succeed holds back the rest of its group, so that the order is kept; one that never
can (CallerError: it is not what this queue carries) does not, and goes to the dead-letter queue by itself.
A standard queue has no groups: there nobody is held back.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any, cast

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    ExceptionInfo,
    FailureResponse,
    SqsFifoPartialProcessor,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from parlour.infra import log
from parlour.infra.errors import CallerError, LeaseHeld, LeaseLost, MalformedPayload, RetryError
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.queues import REDELIVERED_KEY
from parlour.jobs.renewal import ChangeVisibility, renew_visibility

_FIRST_RETRY_SECONDS = 5
_LEASE_RETRY_SECONDS = 3
"""A dead worker's lease is over by then."""

_MAX_QUICK_RETRIES = 3
"""How often a message is delivered quickly to a lease that holds; then its worker lives, and retries back off."""

_MAX_RETRY_SECONDS = 300
_MAX_POISON_RECEIVES = 3


def process_batch(
    event: Mapping[str, Any],
    context: Any,
    build_handler: Callable[[], Callable[[JsonObject, SecondsLeft], None]],
    change_visibility: ChangeVisibility | None = None,
    *,
    is_renewed: bool = False,
) -> dict[str, Any]:
    """Handle the body of each message, in order; the answer names the messages to deliver again.

    context     Lambda's: it knows how long the invocation has left.
    is_renewed  renew the messages' visibility meanwhile, so that they come again within seconds when this process dies;
                only for work that another worker may take up as soon.

    Nothing is swallowed: every error leaves its message on the queue, whose receive count ends in the
    dead-letter queue. An error that is not a RetryError is counted as `Poison`.
    """
    processor = _Processor()

    def seconds_left() -> float:
        return float(context.get_remaining_time_in_millis()) / 1000

    received = [SQSRecord(record) for record in event["Records"]]
    messages = [(record.queue_url, record.receipt_handle) for record in received]
    with renew_visibility(change_visibility, messages) if change_visibility and is_renewed else nullcontext():
        handle = build_handler()
        response = process_partial_response(
            event=dict(event),
            record_handler=lambda record: _handle(record, lambda body: handle(body, seconds_left)),
            processor=processor,
            context=context,
        )
    if change_visibility:
        for record, (_, error, _) in zip(processor.fail_messages, processor.exceptions, strict=True):
            failed = cast(SQSRecord, record)
            change_visibility(
                failed.queue_url, failed.receipt_handle, retry_delay_seconds(error, _receive_count(failed))
            )
    return dict(response)


def retry_delay_seconds(error: BaseException | None, receive_count: int) -> int:
    """Return the seconds until a failed message is delivered again, for its `receive_count`-th delivery.

    An error that never succeeds gets 0, so that it leaves the queue soon. Other errors get 5, 10, 20 ... 300 seconds,
    or the error's own `retry_after` if that is longer. A message that finds a lease gets 3 seconds at first.
    """
    if isinstance(error, CallerError):
        return 0
    if isinstance(error, LeaseHeld) and receive_count <= _MAX_QUICK_RETRIES:
        return max(_LEASE_RETRY_SECONDS, error.retry_after or 0)
    back_off = int(min(_FIRST_RETRY_SECONDS * 2 ** max(receive_count - 1, 0), _MAX_RETRY_SECONDS))
    known = error.retry_after if isinstance(error, RetryError) else None
    return max(back_off, known or 0)


class _Processor(SqsFifoPartialProcessor):
    """Powertools' FIFO processor that keeps groups apart and never turns a failed batch into an exception."""

    def __init__(self) -> None:
        super().__init__(skip_group_on_error=True)
        self.raise_on_entire_batch_failure = False

    def failure_handler(self, record: Any, exception: ExceptionInfo) -> FailureResponse:
        if isinstance(exception[1], CallerError) or (
            not isinstance(exception[1], RetryError) and _receive_count(record) >= _MAX_POISON_RECEIVES
        ):
            return BatchProcessor.failure_handler(self, record, exception)  # its group goes on
        return super().failure_handler(record, exception)


def _handle(record: SQSRecord, handle: Callable[[JsonObject], None]) -> None:
    ids: dict[str, log.Loggable] = {"message_id": record.message_id, "receives": _receive_count(record)}
    try:
        handle(_parse_body(record))
    except RetryError as problem:
        log.warning("message_redelivered", code=problem.code, **ids)
        raise
    except LeaseLost as problem:
        log.warning("message_lease_lost", code=problem.code, **ids)
        raise
    except Exception as problem:
        log.error("message_failed", problem, **ids)
        log.count("Poison")
        raise


def _parse_body(record: SQSRecord) -> JsonObject:
    try:
        body = json.loads(record.body)
    except (ValueError, RecursionError):
        raise MalformedPayload("the message is not JSON") from None
    if not isinstance(body, dict):
        raise MalformedPayload("the message is not a JSON object")
    return {**body, REDELIVERED_KEY: True} if _receive_count(record) > 1 else body


def _receive_count(record: SQSRecord) -> int:
    return int(record.attributes.approximate_receive_count)
