"""What Lambda's event source mapping does: messages from an SQS queue to a function, and what is done off the queue."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from local.workers import InvocationResult, InvocationWrapper, WorkerPool

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_ATTRIBUTES = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


@dataclass(frozen=True, slots=True)
class EventSourceMapping:
    """One mapping: a queue, its function and how they go together.

    seconds      what an invocation may take; then its worker is killed.
    visibility   seconds until messages whose worker said nothing are delivered again; more than `seconds`.
    batch        messages per invocation at most.
    """

    name: str
    url: str
    function: str
    timeout_seconds: float
    visibility_seconds: int
    batch_size: int = 1


class EventSource:
    """Receives for one mapping and settles what its function answered. Safe to use from several threads."""

    def __init__(self, client: "SQSClient", source: EventSourceMapping) -> None:
        self._client = client
        self.mapping = source

    def with_timeout(self, seconds: float) -> "EventSource":
        """The same mapping with another limit for its invocations."""
        return EventSource(
            self._client, replace(self.mapping, timeout_seconds=seconds, visibility_seconds=int(seconds) + 2)
        )

    def with_batch_size(self, batch: int) -> "EventSource":
        """The same mapping with so many messages per invocation."""
        return EventSource(self._client, replace(self.mapping, batch_size=batch))

    def receive(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Up to a batch of messages, as Lambda's records; none when the queue has none to give."""
        found = self._client.receive_message(
            QueueUrl=self.mapping.url,
            MaxNumberOfMessages=min(limit or self.mapping.batch_size, 10),
            VisibilityTimeout=self.mapping.visibility_seconds,
            WaitTimeSeconds=0,
            AttributeNames=["All"],
        )
        return [_to_record(message, self.mapping.url) for message in found.get("Messages", [])]

    def handle(
        self, workers: WorkerPool, records: Sequence[Mapping[str, Any]], wrap: InvocationWrapper | None = None
    ) -> InvocationResult:
        """Invoke the function with the records and take off the queue what it has done."""
        source = self.mapping
        ended = workers.invoke(source.function, {"Records": list(records)}, source.timeout_seconds, wrap)
        if ended.outcome == "answered":
            self.delete_processed(records, getattr(ended.answer, "answer", ended.answer))
        return ended

    def delete_processed(self, records: Sequence[Mapping[str, Any]], answer: Any) -> None:
        """Delete the messages that the answer does not name; those stay until their visibility ends."""
        for record in _processed(records, answer):
            try:
                self._client.delete_message(QueueUrl=self.mapping.url, ReceiptHandle=record["receiptHandle"])
            except ClientError:
                continue  # it came back meanwhile and is somebody else's

    def count_messages(self, *, with_delayed: bool = True) -> int:
        """How many messages are on the queue: waiting, being worked on or, if they are asked for, delayed."""
        wanted = _ATTRIBUTES if with_delayed else _ATTRIBUTES[:2]
        found = self._client.get_queue_attributes(QueueUrl=self.mapping.url, AttributeNames=["All"])
        return sum(int(text) for name, text in found["Attributes"].items() if name in wanted)


def _processed(records: Sequence[Mapping[str, Any]], answer: Any) -> Iterator[Mapping[str, Any]]:
    failed = {item["itemIdentifier"] for item in (answer or {}).get("batchItemFailures", [])}
    return (record for record in records if record["messageId"] not in failed)


def _to_record(message: Mapping[str, Any], url: str) -> dict[str, Any]:
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
