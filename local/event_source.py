"""What Lambda's event source mapping does: messages from an SQS queue to a function, and what is done off the queue."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from local.workers import Ended, Workers, Wrap

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_ATTRIBUTES = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


@dataclass(frozen=True, slots=True)
class Source:
    """One mapping: a queue, its function and how they go together.

    seconds      what an invocation may take; then its worker is killed.
    visibility   seconds until messages whose worker said nothing are delivered again; more than `seconds`.
    batch        messages per invocation at most.
    """

    name: str
    url: str
    function: str
    seconds: float
    visibility: int
    batch: int = 1


class EventSource:
    """Receives for one mapping and settles what its function answered. Safe to use from several threads."""

    def __init__(self, client: "SQSClient", source: Source) -> None:
        self._client = client
        self.source = source

    def patient(self, seconds: float) -> "EventSource":
        """The same mapping with another limit for its invocations."""
        return EventSource(self._client, replace(self.source, seconds=seconds, visibility=int(seconds) + 2))

    def batches(self, batch: int) -> "EventSource":
        """The same mapping with so many messages per invocation."""
        return EventSource(self._client, replace(self.source, batch=batch))

    def receive(self, most: int | None = None) -> list[dict[str, Any]]:
        """Up to a batch of messages, as Lambda's records; none when the queue has none to give."""
        found = self._client.receive_message(
            QueueUrl=self.source.url,
            MaxNumberOfMessages=min(most or self.source.batch, 10),
            VisibilityTimeout=self.source.visibility,
            WaitTimeSeconds=0,
            AttributeNames=["All"],
        )
        return [_record(message, self.source.url) for message in found.get("Messages", [])]

    def handle(self, workers: Workers, records: Sequence[Mapping[str, Any]], wrap: Wrap | None = None) -> Ended:
        """Invoke the function with the records and take off the queue what it has done."""
        source = self.source
        ended = workers.invoke(source.function, {"Records": list(records)}, source.seconds, wrap)
        if ended.how == "answered":
            self.settle(records, getattr(ended.answer, "answer", ended.answer))
        return ended

    def settle(self, records: Sequence[Mapping[str, Any]], answer: Any) -> None:
        """Delete the messages that the answer does not name; those stay until their visibility ends."""
        for record in _done(records, answer):
            try:
                self._client.delete_message(QueueUrl=self.source.url, ReceiptHandle=record["receiptHandle"])
            except ClientError:
                continue  # it came back meanwhile and is somebody else's

    def held(self) -> int:
        """How many messages are on the queue: waiting, delayed or being worked on."""
        found = self._client.get_queue_attributes(QueueUrl=self.source.url, AttributeNames=["All"])
        return sum(int(text) for name, text in found["Attributes"].items() if name in _ATTRIBUTES)


def _done(records: Sequence[Mapping[str, Any]], answer: Any) -> Iterator[Mapping[str, Any]]:
    failed = {item["itemIdentifier"] for item in (answer or {}).get("batchItemFailures", [])}
    return (record for record in records if record["messageId"] not in failed)


def _record(message: Mapping[str, Any], url: str) -> dict[str, Any]:
    """A message as the handler gets it. The queue's ARN says where it is, from which the URL is made again."""
    account, name = url.rstrip("/").rsplit("/", 2)[1:]
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message.get("Attributes", {}),
        "messageAttributes": {},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:us-east-1:{account}:{name}",
        "awsRegion": "us-east-1",
    }
