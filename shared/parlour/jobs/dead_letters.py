"""A FIFO queue's dead letters: how many there are, moving them back to where they came from, or throwing some away.

A message is sent before it is deleted. Whoever is killed in between leaves it in both places, and everything behind
a queue bears a message twice. It is then sent again under the same de-duplication id, which for five minutes the
queue swallows.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from parlour.infra.errors import QueueUnavailable
from parlour.infra.json_values import JsonObject, canonical_digest

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
    """What became of a redrive: how many messages are back on their queue, and about how many dead ones are left."""

    moved_count: int
    remaining_count: int


@dataclass(frozen=True, slots=True)
class DiscardResult:
    """What became of throwing some away: how many went, and about how many could not be looked at, since SQS hands out
    no more than the first ten of a group."""

    discarded_count: int
    unexamined_count: int


class DeadLetters(Protocol):
    """The dead letters of one queue."""

    def count(self) -> int:
        """About how many there are, those in the hands of another redrive included."""
        ...

    def redrive(self, limit: int, /) -> RedriveResult:
        """Move up to `most` of them back, oldest first; QueueUnavailable says how far it got."""
        ...

    def discard(self, matches: Callable[[JsonObject], bool], limit: int, /) -> DiscardResult:
        """Throw those away whose bodies `is_about` says yes to, looking at up to `most`; the others stay where they
        are. QueueUnavailable says how far it got."""
        ...


class SqsDeadLetters:
    """The FIFO queue at `url` with what is dead, and the one at `home` that it came from."""

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
        """The group is hashed already and stays as it is. The id is this letter's own: the one it died under may be
        known to the queue yet, and a letter that dies again is another message with another id."""
        self._client.send_message(
            QueueUrl=self._source_queue_url,
            MessageBody=letter["Body"],
            MessageGroupId=letter["Attributes"]["MessageGroupId"],
            MessageDeduplicationId=canonical_digest(f"redriven:{letter['MessageId']}"),
        )
        self._client.delete_message(QueueUrl=self._url, ReceiptHandle=letter["ReceiptHandle"])


def _parse_body(letter: "MessageTypeDef") -> JsonObject:
    """What the letter says; nothing where that is no object."""
    with suppress(ValueError):
        said = json.loads(letter["Body"])
        if isinstance(said, dict):
            return said
    return {}
