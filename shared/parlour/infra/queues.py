"""Sending to SQS: at once to FIFO queues, later to a standard one. Receiving is the event source mapping's work."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from parlour.infra.errors import QueueUnavailable
from parlour.infra.json_values import JsonObject, canonical_digest, canonical_json

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import SendMessageBatchRequestEntryTypeDef

MAX_DELAY_SECONDS = 900
"""SQS keeps a message back no longer; what is due later is delayed again when it comes."""

REDRIVEN_KEY = "is_redriven"
"""In the body of a message that an operator brought back from the dead letters."""

REDELIVERED_KEY = "is_redelivered"
"""In the body that a handler is given of a message that was received before: whoever had it died, or put it back."""

_MAX_BATCH_MESSAGES = 10
_MAX_BATCH_BYTES = 900_000
"""SQS takes 10 messages and 1 MiB in one batch; the rest of the MiB is room for the attributes."""


@dataclass(frozen=True, slots=True)
class QueueMessage:
    """A body with what a FIFO queue needs: the group that is kept in order, and the de-duplication id.

    Both are hashed before they are sent, so that any text will do and no phone number reaches the queue's
    metadata; SQS forgets a de-duplication id after five minutes, so it only ever saves work.

    is_checked  whether a check of its work is sent already; a `CheckedQueue` sends none then.
    """

    body: JsonObject
    group_id: str
    deduplication_id: str
    is_checked: bool = False


class FifoQueue(Protocol):
    """Somewhere to send messages; `send` returns once every message is durable or raises QueueUnavailable."""

    def send(self, messages: Sequence[QueueMessage], /) -> None: ...


class SqsFifoQueue:
    """One FIFO queue, by its URL."""

    def __init__(self, client: "SQSClient", url: str) -> None:
        self._client = client
        self._url = url

    def send(self, messages: Sequence[QueueMessage], /) -> None:
        """Send in order, in as few calls as fit; a partly refused batch is an error as a whole."""
        entries: list[SendMessageBatchRequestEntryTypeDef] = [
            {
                "Id": str(index),
                "MessageBody": canonical_json(message.body),
                "MessageGroupId": canonical_digest(message.group_id),
                "MessageDeduplicationId": canonical_digest(message.deduplication_id),
            }
            for index, message in enumerate(messages)
        ]
        batches: list[list[SendMessageBatchRequestEntryTypeDef]] = []
        size = 0
        for entry in entries:
            length = len(entry["MessageBody"].encode())
            if not batches or len(batches[-1]) == _MAX_BATCH_MESSAGES or size + length > _MAX_BATCH_BYTES:
                batches.append([])
                size = 0
            batches[-1].append(entry)
            size += length
        for batch in batches:
            try:
                answer = self._client.send_message_batch(QueueUrl=self._url, Entries=batch)
            except (BotoCoreError, ClientError) as error:
                raise QueueUnavailable from error
            if answer.get("Failed"):
                raise QueueUnavailable(f"the queue refused {len(answer['Failed'])} of {len(batch)} messages")


class DelayedQueue(Protocol):
    """Somewhere to send a message that comes later: after `seconds`, or LONGEST_DELAY_SECONDS if that is sooner.

    So the body says when it is due, and whoever receives it early delays it again. Raises QueueUnavailable.
    """

    def send(self, body: JsonObject, seconds: float, /) -> None: ...


class SqsDelayedQueue:
    """One standard queue, by its URL. In no order, and at least once.

    A message names its tenant as its group, which makes the queue a fair one: while a tenant has many messages under
    way, SQS hands out those of the others first.
    """

    def __init__(self, client: "SQSClient", url: str) -> None:
        self._client = client
        self._url = url

    def send(self, body: JsonObject, seconds: float, /) -> None:
        """Send, to be received when `seconds` have passed, and never before."""
        delay = min(MAX_DELAY_SECONDS, max(0, math.ceil(seconds)))
        group = canonical_digest(body.get("tenant_id"))
        text = canonical_json(body)
        try:
            self._client.send_message(QueueUrl=self._url, MessageBody=text, DelaySeconds=delay, MessageGroupId=group)
        except (BotoCoreError, ClientError) as error:
            raise QueueUnavailable from error
