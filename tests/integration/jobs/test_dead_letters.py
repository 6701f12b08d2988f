"""Dead letters going back to their queue, by moto: in order, once, and bounded."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from parlour.infra.errors import QueueUnavailable
from parlour.infra.json_values import canonical_digest
from parlour.infra.queues import QueueMessage, SqsFifoQueue
from parlour.jobs.dead_letters import DiscardResult, RedriveResult, SqsDeadLetters


class MotoQueues:
    """A queue that gives up on a message after its first receive, and its dead letters."""

    def __init__(self) -> None:
        self.client = boto3.client("sqs")
        self.dead = self._create("turns-dead.fifo")
        arn = self.client.get_queue_attributes(QueueUrl=self.dead, AttributeNames=["QueueArn"])["Attributes"]
        policy = json.dumps({"deadLetterTargetArn": arn["QueueArn"], "maxReceiveCount": 1})
        self.home = self._create("turns.fifo", RedrivePolicy=policy, VisibilityTimeout="0")

    def _create(self, name: str, **attributes: str) -> str:
        given: Any = {"FifoQueue": "true", **attributes}
        return self.client.create_queue(QueueName=name, Attributes=given)["QueueUrl"]

    def dead_letters(self, client: Any = None) -> SqsDeadLetters:
        return SqsDeadLetters(client or self.client, self.dead, self.home)

    def move_to_dead_letters(self, *messages: tuple[str, int]) -> None:
        """These are dead letters, each of a group and with a number, in this order."""
        SqsFifoQueue(self.client, self.dead).send(
            [QueueMessage({"number": number}, group, f"message {number}") for group, number in messages]
        )

    def receive(self) -> list[tuple[str, int]]:
        """What is on the queue: the group that SQS knows, and the number."""
        answer = self.client.receive_message(
            QueueUrl=self.home, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"]
        )
        return [
            (message["Attributes"]["MessageGroupId"], json.loads(message["Body"])["number"])
            for message in answer.get("Messages", [])
        ]


class FailingClient:
    """A client that dies as soon as something was sent."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def delete_message(self, **_: object) -> None:
        raise ClientError({"Error": {"Code": "InternalError", "Message": "gone"}}, "DeleteMessage")


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> Iterator[MotoQueues]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setattr("parlour.jobs.dead_letters._WAIT_SECONDS", 0)
    with mock_aws():
        yield MotoQueues()


def test_dead_letters_go_back_in_order_with_the_group_they_had(queues: MotoQueues) -> None:
    queues.move_to_dead_letters(("priya", 1), ("ravi", 2), ("priya", 3))
    assert queues.dead_letters().redrive(100) == RedriveResult(moved_count=3, remaining_count=0)
    found = queues.receive()
    assert sorted(found, key=lambda one: one[1]) == [
        (canonical_digest("priya"), 1),
        (canonical_digest("ravi"), 2),
        (canonical_digest("priya"), 3),
    ]
    assert [number for group, number in found if group == canonical_digest("priya")] == [1, 3]


def test_no_more_are_moved_than_was_said(queues: MotoQueues) -> None:
    queues.move_to_dead_letters(*((f"session {number}", number) for number in range(23)))
    assert queues.dead_letters().redrive(12) == RedriveResult(moved_count=12, remaining_count=11)
    assert queues.dead_letters().redrive(100) == RedriveResult(moved_count=11, remaining_count=0)


def test_where_nothing_is_dead_nothing_is_moved(queues: MotoQueues) -> None:
    assert queues.dead_letters().count() == 0
    assert queues.dead_letters().redrive(100) == RedriveResult(moved_count=0, remaining_count=0)


def test_a_letter_that_dies_again_is_moved_again_at_once(queues: MotoQueues) -> None:
    """Within the five minutes for which the queue knows the id that it was sent back under."""
    queues.move_to_dead_letters(("priya", 1))
    for _ in range(3):
        assert queues.dead_letters().redrive(1).moved_count == 1
        while not queues.dead_letters().count():
            queues.receive()


def test_what_one_redrive_holds_no_other_takes(queues: MotoQueues) -> None:
    queues.move_to_dead_letters(("priya", 1), ("priya", 2))
    with pytest.raises(QueueUnavailable, match="0 were moved"):
        queues.dead_letters(FailingClient(queues.client)).redrive(1)
    assert queues.dead_letters().redrive(100) == RedriveResult(moved_count=0, remaining_count=2)


def test_killed_before_the_delete_a_letter_is_moved_again_and_arrives_once(
    queues: MotoQueues, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parlour.jobs.dead_letters._VISIBILITY_SECONDS", 0)
    queues.move_to_dead_letters(("priya", 1))
    with pytest.raises(QueueUnavailable):
        queues.dead_letters(FailingClient(queues.client)).redrive(1)
    assert queues.dead_letters().redrive(1) == RedriveResult(moved_count=1, remaining_count=0)
    waiting = queues.client.get_queue_attributes(QueueUrl=queues.home, AttributeNames=["ApproximateNumberOfMessages"])
    assert waiting["Attributes"] == {"ApproximateNumberOfMessages": "1"}


def test_a_queue_that_is_gone_is_said_to_be_away(queues: MotoQueues) -> None:
    queues.client.delete_queue(QueueUrl=queues.dead)
    with pytest.raises(QueueUnavailable):
        queues.dead_letters().count()
    with pytest.raises(QueueUnavailable):
        queues.dead_letters().redrive(1)


def test_those_that_say_something_are_thrown_away_and_the_others_stay_where_they_are(queues: MotoQueues) -> None:
    queues.move_to_dead_letters(("asha", 1), ("brick", 2), ("asha", 3))
    found = queues.dead_letters().discard(lambda body: body["number"] in {1, 3}, 100)
    assert found == DiscardResult(2, 0)
    assert queues.dead_letters().redrive(10) == RedriveResult(1, 0)
    assert [number for _, number in queues.receive()] == [2]


def test_no_more_are_looked_at_than_is_said(queues: MotoQueues) -> None:
    queues.move_to_dead_letters(*((f"group {number}", number) for number in range(5)))
    assert queues.dead_letters().discard(lambda _: True, 2).discarded_count == 2
    assert queues.dead_letters().count() == 3


def test_a_letter_that_says_nothing_that_can_be_read_is_nobodys(queues: MotoQueues) -> None:
    queues.client.send_message(
        QueueUrl=queues.dead, MessageBody="no JSON", MessageGroupId="x", MessageDeduplicationId="x"
    )
    assert queues.dead_letters().discard(lambda body: "number" in body, 10).discarded_count == 0
    assert queues.dead_letters().count() == 1


def test_throwing_away_says_how_far_it_got(queues: MotoQueues) -> None:
    queues.move_to_dead_letters(("asha", 1))
    with pytest.raises(QueueUnavailable, match="0 were thrown away"):
        queues.dead_letters(FailingClient(queues.client)).discard(lambda _: True, 10)
