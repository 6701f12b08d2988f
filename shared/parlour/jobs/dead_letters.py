"""The dead letters of a FIFO queue: count them, move them back to their queue, or delete some.

A message is sent before it is deleted. If the process dies in between, the message is in both places. The next redrive
sends it again with the same deduplication id, which the queue ignores for five minutes. All workers are idempotent.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from parlour.infra.errors import QueueUnavailable
from parlour.infra.json_values import JsonObject, canonical_digest, canonical_json
from parlour.infra.queues import REDRIVEN_KEY

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

_MAX_RECEIVED_MESSAGES = 10
"""What SQS hands out at once."""

_VISIBILITY_SECONDS = 60
"""A letter that one redrive holds is seen by no other, nor is what lies behind it in its group. Longer than the 29
seconds that an API call may take."""

_WAIT_SECONDS = 1
"""Asked without waiting, SQS may say that a queue is empty when it is not."""


@dataclass(frozen=True, slots=True)
class RedriveResult:
    """How many messages are back on their queue, and about how many dead letters remain."""

    moved_count: int
    remaining_count: int


@dataclass(frozen=True, slots=True)
class DiscardResult:
    """How many dead letters were deleted, and about how many were not examined.

    SQS returns only the first ten messages of a group.
    """

    discarded_count: int
    unexamined_count: int


class DeadLetters(Protocol):
    """The dead letters of one queue."""

    def count(self) -> int:
        """Return about how many there are, including those that another redrive holds."""
        ...

    def redrive(self, limit: int, /) -> RedriveResult:
        """Move up to `limit` of them back, oldest first. Raises QueueUnavailable, which says how many were moved."""
        ...

    def discard(self, matches: Callable[[JsonObject], bool], limit: int, /) -> DiscardResult:
        """Delete those whose body `matches`, after examining up to `limit`; the others stay.

        Raises QueueUnavailable, which says how many were deleted.
        """
        ...


class SqsDeadLetters:
    """The dead-letter FIFO queue at `url`, and the queue that its messages came from."""

    def __init__(self, client: "SQSClient", url: str, source_queue_url: str) -> None:
        self._client = client
        self._url = url
        self._source_queue_url = source_queue_url

    def count(self) -> int:
        try:
            found = self._client.get_queue_attributes(
                QueueUrl=self._url,
                AttributeNames=["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
            )
        except (BotoCoreError, ClientError) as error:
            raise QueueUnavailable("the dead letters could not be counted; try again") from error
        return sum(int(amount) for amount in found["Attributes"].values())

    def redrive(self, limit: int, /) -> RedriveResult:
        moved = 0
        try:
            while moved < limit and (letters := self._receive(min(_MAX_RECEIVED_MESSAGES, limit - moved))):
                for letter in letters:
                    self._move_to_source(letter)
                    moved += 1
        except (BotoCoreError, ClientError) as error:
            raise QueueUnavailable(
                f"{moved} were moved, then the queue stopped answering; try again in a minute, nothing was lost"
            ) from error
        return RedriveResult(moved, self.count())

    def discard(self, matches: Callable[[JsonObject], bool], limit: int, /) -> DiscardResult:
        gone, looked, held = 0, 0, list[str]()
        try:
            while looked < limit and (letters := self._receive(min(_MAX_RECEIVED_MESSAGES, limit - looked))):
                for letter in letters:
                    looked += 1
                    if matches(_parse_body(letter)):
                        self._client.delete_message(QueueUrl=self._url, ReceiptHandle=letter["ReceiptHandle"])
                        gone += 1
                    else:
                        held.append(letter["ReceiptHandle"])
            unseen = self.count() - len(held)
        except (BotoCoreError, ClientError) as error:
            raise QueueUnavailable(f"{gone} were deleted, then the queue stopped answering; try again") from error
        finally:
            # Let others have these again at once; they would by themselves a minute later.
            with suppress(BotoCoreError, ClientError):
                for handle in held:
                    self._client.change_message_visibility(
                        QueueUrl=self._url, ReceiptHandle=handle, VisibilityTimeout=0
                    )
        return DiscardResult(gone, max(0, unseen))

    def _receive(self, limit: int) -> "list[MessageTypeDef]":
        answer = self._client.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=limit,
            VisibilityTimeout=_VISIBILITY_SECONDS,
            WaitTimeSeconds=_WAIT_SECONDS,
            MessageSystemAttributeNames=["MessageGroupId"],
        )
        return answer.get("Messages", [])

    def _move_to_source(self, letter: "MessageTypeDef") -> None:
        """Send the letter to its source queue, then delete it.

        The group id is hashed already. The deduplication id belongs to this letter: the queue may still know the
        original one, and a message that dies again is a new letter with a new id.
        """
        body = _parse_body(letter)
        self._client.send_message(
            QueueUrl=self._source_queue_url,
            MessageBody=canonical_json({**body, REDRIVEN_KEY: True}) if body else letter["Body"],
            MessageGroupId=letter["Attributes"]["MessageGroupId"],
            MessageDeduplicationId=canonical_digest(f"redriven:{letter['MessageId']}"),
        )
        self._client.delete_message(QueueUrl=self._url, ReceiptHandle=letter["ReceiptHandle"])


def _parse_body(letter: "MessageTypeDef") -> JsonObject:
    """Return the letter's JSON object; {} when the body is anything else."""
    with suppress(ValueError):
        said = json.loads(letter["Body"])
        if isinstance(said, dict):
            return said
    return {}
