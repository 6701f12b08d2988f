"""SQS, by moto: order, de-duplication, batches, and what happens when it is away."""

from collections.abc import Iterator
from typing import Literal

import boto3
import pytest
from moto import mock_aws

from parlour.infra.errors import QueueUnavailable
from parlour.infra.queues import QueueMessage, SqsDelayedQueue, SqsFifoQueue


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with mock_aws():
        created = boto3.client("sqs").create_queue(QueueName="turns.fifo", Attributes={"FifoQueue": "true"})
        yield created["QueueUrl"]


def received(url: str) -> list[str]:
    bodies: list[str] = []
    while messages := boto3.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        bodies += [message["Body"] for message in messages]
        for message in messages:
            boto3.client("sqs").delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return bodies


def message(number: int, size: int = 1) -> QueueMessage:
    return QueueMessage({"number": number, "text": "é" * size}, "whatsapp|+91 98|x", f"message {number}")


def test_messages_arrive_in_order_however_many(url: str) -> None:
    SqsFifoQueue(boto3.client("sqs"), url).send([message(number) for number in range(23)])
    assert [body.split(",")[0] for body in received(url)] == [f'{{"number":{number}' for number in range(23)]


def test_a_batch_never_exceeds_what_the_queue_takes(url: str) -> None:
    SqsFifoQueue(boto3.client("sqs"), url).send([message(number, 60_000) for number in range(9)])
    assert len(received(url)) == 9


def test_the_same_message_twice_is_one(url: str) -> None:
    queue = SqsFifoQueue(boto3.client("sqs"), url)
    queue.send([message(1)])
    queue.send([message(1)])
    assert len(received(url)) == 1


def test_nothing_to_send_calls_nobody(url: str) -> None:
    SqsFifoQueue(boto3.client("sqs"), "https://nowhere.invalid/queue").send([])


def test_a_queue_that_is_gone_is_said_to_be_away(url: str) -> None:
    boto3.client("sqs").delete_queue(QueueUrl=url)
    with pytest.raises(QueueUnavailable):
        SqsFifoQueue(boto3.client("sqs"), url).send([message(1)])


class TestDelays:
    """The standard queue of what comes later."""

    @pytest.fixture
    def later(self, url: str) -> str:
        return boto3.client("sqs").create_queue(QueueName="wakeups")["QueueUrl"]

    def delayed(self, later: str) -> int:
        name: Literal["ApproximateNumberOfMessagesDelayed"] = "ApproximateNumberOfMessagesDelayed"
        found = boto3.client("sqs").get_queue_attributes(QueueUrl=later, AttributeNames=[name])
        return int(found["Attributes"][name])

    @pytest.mark.parametrize("seconds", [-5, 0])
    def test_what_is_due_comes_at_once(self, later: str, seconds: float) -> None:
        SqsDelayedQueue(boto3.client("sqs"), later).send({"n": 1}, seconds)
        assert received(later) == ['{"n":1}']

    @pytest.mark.parametrize(("seconds", "asked"), [(0.1, 1), (59.2, 60), (900, 900), (86_400, 900)])
    def test_what_is_due_later_is_kept_back_for_as_long_as_the_queue_does(
        self, later: str, seconds: float, asked: int
    ) -> None:
        client = boto3.client("sqs")
        sent: list[int] = []
        client.meta.events.register(
            "provide-client-params.sqs.SendMessage", lambda params, **_: sent.append(params["DelaySeconds"])
        )
        SqsDelayedQueue(client, later).send({"n": 1}, seconds)
        assert (sent, received(later)) == ([asked], [])
        assert self.delayed(later) == 1

    def test_a_tenants_messages_are_one_group_of_a_fair_queue(self, later: str) -> None:
        client = boto3.client("sqs")
        groups: list[str] = []
        client.meta.events.register(
            "provide-client-params.sqs.SendMessage", lambda params, **_: groups.append(params["MessageGroupId"])
        )
        for tenant in ("a", "b", "a"):
            SqsDelayedQueue(client, later).send({"tenant_id": tenant}, 0)
        assert groups[0] == groups[2] != groups[1]

    def test_a_queue_that_is_gone_is_said_to_be_away(self, later: str) -> None:
        boto3.client("sqs").delete_queue(QueueUrl=later)
        with pytest.raises(QueueUnavailable):
            SqsDelayedQueue(boto3.client("sqs"), later).send({}, 1)
