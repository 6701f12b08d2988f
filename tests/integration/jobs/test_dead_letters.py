"""Dead letters going back to their queue, by moto: in order, once, and bounded."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from parlour.infra.errors import QueueUnavailable
from parlour.infra.jsonable import digest
from parlour.infra.queues import QueueMessage, SqsQueue
from parlour.jobs.dead_letters import Discarded, Redriven, SqsDeadLetters


class Queues:
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

    def letters(self, client: Any = None) -> SqsDeadLetters:
        return SqsDeadLetters(client or self.client, self.dead, self.home)

    def die(self, *messages: tuple[str, int]) -> None:
        """These are dead letters, each of a group and with a number, in this order."""
        SqsQueue(self.client, self.dead).send(
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


class Dying:
    """A client that dies as soon as something was sent."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def delete_message(self, **_: object) -> None:
        raise ClientError({"Error": {"Code": "InternalError", "Message": "gone"}}, "DeleteMessage")


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> Iterator[Queues]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setattr("parlour.jobs.dead_letters._WAIT_SECONDS", 0)
    with mock_aws():
        yield Queues()


def test_dead_letters_go_back_in_order_with_the_group_they_had(queues: Queues) -> None:
    queues.die(("priya", 1), ("ravi", 2), ("priya", 3))
    assert queues.letters().redrive(100) == Redriven(moved=3, left=0)
    found = queues.receive()
    assert sorted(found, key=lambda one: one[1]) == [(digest("priya"), 1), (digest("ravi"), 2), (digest("priya"), 3)]
    assert [number for group, number in found if group == digest("priya")] == [1, 3]


def test_no_more_are_moved_than_was_said(queues: Queues) -> None:
    queues.die(*((f"session {number}", number) for number in range(23)))
    assert queues.letters().redrive(12) == Redriven(moved=12, left=11)
    assert queues.letters().redrive(100) == Redriven(moved=11, left=0)


def test_where_nothing_is_dead_nothing_is_moved(queues: Queues) -> None:
    assert queues.letters().count() == 0
    assert queues.letters().redrive(100) == Redriven(moved=0, left=0)


def test_a_letter_that_dies_again_is_moved_again_at_once(queues: Queues) -> None:
    """Within the five minutes for which the queue knows the id that it was sent back under."""
    queues.die(("priya", 1))
    for _ in range(3):
        assert queues.letters().redrive(1).moved == 1
        while not queues.letters().count():
            queues.receive()


def test_what_one_redrive_holds_no_other_takes(queues: Queues) -> None:
    queues.die(("priya", 1), ("priya", 2))
    with pytest.raises(QueueUnavailable, match="0 were moved"):
        queues.letters(Dying(queues.client)).redrive(1)
    assert queues.letters().redrive(100) == Redriven(moved=0, left=2)


def test_killed_before_the_delete_a_letter_is_moved_again_and_arrives_once(
    queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parlour.jobs.dead_letters._HIDDEN_SECONDS", 0)
    queues.die(("priya", 1))
    with pytest.raises(QueueUnavailable):
        queues.letters(Dying(queues.client)).redrive(1)
    assert queues.letters().redrive(1) == Redriven(moved=1, left=0)
    waiting = queues.client.get_queue_attributes(QueueUrl=queues.home, AttributeNames=["ApproximateNumberOfMessages"])
    assert waiting["Attributes"] == {"ApproximateNumberOfMessages": "1"}


def test_a_queue_that_is_gone_is_said_to_be_away(queues: Queues) -> None:
    queues.client.delete_queue(QueueUrl=queues.dead)
    with pytest.raises(QueueUnavailable):
        queues.letters().count()
    with pytest.raises(QueueUnavailable):
        queues.letters().redrive(1)


def test_those_that_say_something_are_thrown_away_and_the_others_stay_where_they_are(queues: Queues) -> None:
    queues.die(("asha", 1), ("brick", 2), ("asha", 3))
    found = queues.letters().discard(lambda body: body["number"] in {1, 3}, 100)
    assert found == Discarded(2, 0)
    assert queues.letters().redrive(10) == Redriven(1, 0)
    assert [number for _, number in queues.receive()] == [2]


def test_no_more_are_looked_at_than_is_said(queues: Queues) -> None:
    queues.die(*((f"group {number}", number) for number in range(5)))
    assert queues.letters().discard(lambda _: True, 2).gone == 2
    assert queues.letters().count() == 3


def test_a_letter_that_says_nothing_that_can_be_read_is_nobodys(queues: Queues) -> None:
    queues.client.send_message(
        QueueUrl=queues.dead, MessageBody="no JSON", MessageGroupId="x", MessageDeduplicationId="x"
    )
    assert queues.letters().discard(lambda body: "number" in body, 10).gone == 0
    assert queues.letters().count() == 1


def test_throwing_away_says_how_far_it_got(queues: Queues) -> None:
    queues.die(("asha", 1))
    with pytest.raises(QueueUnavailable, match="0 were thrown away"):
        queues.letters(Dying(queues.client)).discard(lambda _: True, 10)
