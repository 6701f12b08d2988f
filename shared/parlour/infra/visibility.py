"""When a message that failed is delivered again: sooner than its queue would, when that makes sense."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from parlour.infra import log

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

type Hasten = Callable[[str, str, int], None]
"""Queue URL, receipt handle, seconds until the message is visible again, instead of the queue's whole timeout."""


def hastener(client: "SQSClient") -> Hasten:
    """A Hasten that asks SQS. When SQS refuses, the message comes back later: no harm, one log line."""

    def hasten(queue_url: str, receipt_handle: str, seconds: int) -> None:
        try:
            client.change_message_visibility(
                QueueUrl=queue_url, ReceiptHandle=receipt_handle, VisibilityTimeout=seconds
            )
        except (BotoCoreError, ClientError) as error:
            log.warning("visibility_not_changed", error=type(error).__name__)

    return hasten
