"""A batch from a FIFO queue: who is delivered again, who is held back, what is said about it."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from parlour.infra.errors import (
    DatabaseUnavailable,
    LeaseHeld,
    LeaseLost,
    MalformedPayload,
    Misconfigured,
    ParlourError,
    ProviderUnavailable,
)
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.jobs.batches import process_batch, retry_delay_seconds
from parlour.jobs.visibility import visibility_shortener
from tests.functions.deployed_function import LAMBDA_CONTEXT

ARN = "arn:aws:sqs:eu-west-1:123456789012:intake.fifo"


def a_record(number: int, body: Any, group: str = "a", receives: int = 1, handle: str = "") -> dict[str, Any]:
    return {
        "messageId": f"m{number}",
        "receiptHandle": handle or f"r{number}",
        "body": body if isinstance(body, str) else json.dumps(body),
        "attributes": {"MessageGroupId": group, "ApproximateReceiveCount": str(receives)},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": ARN,
        "awsRegion": "eu-west-1",
    }


class RecordingWorker:
    """Does what it is given, except for bodies whose `n` it was told to stumble over."""

    def __init__(self, **trouble: Exception) -> None:
        self.trouble = trouble
        self.done: list[object] = []
        self.seconds: list[float] = []

    def __call__(self, body: JsonObject, seconds_left: SecondsLeft) -> None:
        if error := self.trouble.get(str(body["n"])):
            raise error
        self.done.append(body["n"])
        self.seconds.append(seconds_left())


def failed(response: dict[str, Any]) -> list[str]:
    return [failure["itemIdentifier"] for failure in response["batchItemFailures"]]


def batch(*records: dict[str, Any]) -> dict[str, Any]:
    return {"Records": list(records)}


def test_what_is_done_is_not_named() -> None:
    worker = RecordingWorker()

    assert failed(process_batch(batch(a_record(1, {"n": "a"}), a_record(2, {"n": "b"})), LAMBDA_CONTEXT, worker)) == []
    assert worker.done == ["a", "b"]
    assert worker.seconds == [60.0, 60.0]


def test_a_message_that_may_yet_succeed_holds_back_its_group_only() -> None:
    worker = RecordingWorker(b=DatabaseUnavailable())
    records = [
        a_record(1, {"n": "a"}),
        a_record(2, {"n": "b"}),
        a_record(3, {"n": "c"}),
        a_record(4, {"n": "d"}, group="other"),
    ]

    assert failed(process_batch(batch(*records), LAMBDA_CONTEXT, worker)) == ["m2", "m3"]
    assert worker.done == ["a", "d"]


def test_on_a_standard_queue_nobody_is_held_back() -> None:
    worker = RecordingWorker(b=DatabaseUnavailable())
    records = [a_record(1, {"n": "a"}), a_record(2, {"n": "b"}), a_record(3, {"n": "c"}), a_record(4, {"n": "d"})]
    for record in records:
        del record["attributes"]["MessageGroupId"]

    assert failed(process_batch(batch(*records), LAMBDA_CONTEXT, worker)) == ["m2"]
    assert worker.done == ["a", "c", "d"]


def test_poison_does_not_take_its_neighbours_along() -> None:
    worker = RecordingWorker(b=MalformedPayload())

    records = [a_record(1, "{"), a_record(2, {"n": "b"}), a_record(3, []), a_record(4, {"n": "d"})]
    assert failed(process_batch(batch(*records), LAMBDA_CONTEXT, worker)) == ["m1", "m2", "m3"]
    assert worker.done == ["d"]


def test_a_batch_that_fails_altogether_is_an_answer_and_no_exception() -> None:
    assert failed(
        process_batch(batch(a_record(1, {"n": "a"})), LAMBDA_CONTEXT, RecordingWorker(a=DatabaseUnavailable()))
    ) == ["m1"]


@pytest.mark.parametrize("body", ["", "{", "[]", "null", "[" * 100_000, '"text"'])
def test_a_body_that_is_no_object_stays_for_the_dead_letters(body: str) -> None:
    assert failed(process_batch(batch(a_record(1, body)), LAMBDA_CONTEXT, RecordingWorker())) == ["m1"]


@pytest.mark.parametrize(
    ("error", "action", "poison"),
    [
        (DatabaseUnavailable(), "message_redelivered", False),
        (LeaseLost(), "message_lease_lost", False),
        (Misconfigured("secret"), "message_failed", True),
        (MalformedPayload("secret"), "message_failed", True),
        (ZeroDivisionError("secret"), "message_failed", True),
    ],
)
def test_every_failure_is_one_line_without_payload_and_poison_is_counted(
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    action: str,
    poison: bool,
) -> None:
    process_batch(batch(a_record(1, {"n": "a", "text": "secret"})), LAMBDA_CONTEXT, RecordingWorker(a=error))

    lines = [line for line in caplog.records if hasattr(line, "action")]
    assert [line.getMessage() for line in lines] == [action]
    assert "secret" not in str(lines[0].__dict__)
    assert ("Poison" in capsys.readouterr().out) == poison


@pytest.mark.parametrize(
    ("error", "receives", "seconds"),
    [
        (DatabaseUnavailable(), 1, 5),
        (DatabaseUnavailable(), 2, 10),
        (DatabaseUnavailable(), 5, 80),
        (DatabaseUnavailable(), 50, 300),
        (LeaseHeld(retry_after=42), 3, 42),
        (ProviderUnavailable(retry_after=0), 3, 20),
        (MalformedPayload(), 3, 0),
        (ZeroDivisionError(), 1, 5),
        (None, 1, 5),
    ],
)
def test_a_failed_message_waits_for_as_long_as_makes_sense(
    error: ParlourError | None, receives: int, seconds: int
) -> None:
    assert retry_delay_seconds(error, receives) == seconds


class TestVisibility:
    """On a real (pretended) queue."""

    @pytest.fixture
    def queue(self) -> Iterator[tuple[Any, str]]:
        with mock_aws():
            client = boto3.client("sqs", region_name="eu-west-1")
            made = client.create_queue(
                QueueName="intake.fifo", Attributes={"FifoQueue": "true", "VisibilityTimeout": "300"}
            )
            yield client, made["QueueUrl"]

    def receive(self, queue: tuple[Any, str], body: JsonObject) -> dict[str, Any]:
        client, url = queue
        client.send_message(
            QueueUrl=url, MessageBody=json.dumps(body), MessageGroupId="a", MessageDeduplicationId=str(body)
        )
        [message] = client.receive_message(QueueUrl=url)["Messages"]
        return a_record(1, message["Body"], handle=message["ReceiptHandle"])

    def test_a_failed_message_comes_back_when_it_makes_sense(self, queue: tuple[Any, str]) -> None:
        record = self.receive(queue, {"n": "a"})
        client, url = queue
        assert "Messages" not in client.receive_message(QueueUrl=url)

        process_batch(
            batch(record), LAMBDA_CONTEXT, RecordingWorker(a=MalformedPayload()), visibility_shortener(client)
        )

        assert len(client.receive_message(QueueUrl=url)["Messages"]) == 1

    def test_a_queue_that_refuses_changes_nothing_about_the_answer(self, queue: tuple[Any, str]) -> None:
        record = {**self.receive(queue, {"n": "a"}), "receiptHandle": "stale"}

        response = process_batch(
            batch(record), LAMBDA_CONTEXT, RecordingWorker(a=DatabaseUnavailable()), visibility_shortener(queue[0])
        )

        assert failed(response) == ["m1"]
