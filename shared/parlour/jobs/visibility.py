"""When a failed message is delivered again: sooner than its queue's visibility timeout, where that makes sense."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from parlour.infra import log

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

type ShortenVisibility = Callable[[str, str, int], None]
"""Takes queue URL, receipt handle, and the seconds until the message is visible again."""


def visibility_shortener(client: "SQSClient") -> ShortenVisibility:
    """Return a ShortenVisibility that asks SQS. When SQS refuses, the message comes later and a line is logged."""

    def shorten_visibility(queue_url: str, receipt_handle: str, seconds: int) -> None:
        try:
            client.change_message_visibility(
                QueueUrl=queue_url, ReceiptHandle=receipt_handle, VisibilityTimeout=seconds
            )
        except (BotoCoreError, ClientError) as error:
            log.warning("visibility_not_changed", error=type(error).__name__)

    return shorten_visibility
