"""A batch from a FIFO queue: who is delivered again, who is held back, what is said about it."""

import json
import time
from collections.abc import Iterator
from functools import partial
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
from parlour.infra.queues import REDELIVERED_KEY
from parlour.jobs import renewal
from parlour.jobs.batches import process_batch, retry_delay_seconds
from parlour.jobs.renewal import renew_visibility, visibility_changer
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

    assert (
        failed(process_batch(batch(a_record(1, {"n": "a"}), a_record(2, {"n": "b"})), LAMBDA_CONTEXT, lambda: worker))
        == []
    )
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

    assert failed(process_batch(batch(*records), LAMBDA_CONTEXT, lambda: worker)) == ["m2", "m3"]
    assert worker.done == ["a", "d"]


def test_on_a_standard_queue_nobody_is_held_back() -> None:
    worker = RecordingWorker(b=DatabaseUnavailable())
    records = [a_record(1, {"n": "a"}), a_record(2, {"n": "b"}), a_record(3, {"n": "c"}), a_record(4, {"n": "d"})]
    for record in records:
        del record["attributes"]["MessageGroupId"]

    assert failed(process_batch(batch(*records), LAMBDA_CONTEXT, lambda: worker)) == ["m2"]
    assert worker.done == ["a", "c", "d"]


def test_poison_does_not_take_its_neighbours_along() -> None:
    worker = RecordingWorker(b=MalformedPayload())

    records = [a_record(1, "{"), a_record(2, {"n": "b"}), a_record(3, []), a_record(4, {"n": "d"})]
    assert failed(process_batch(batch(*records), LAMBDA_CONTEXT, lambda: worker)) == ["m1", "m2", "m3"]
    assert worker.done == ["d"]


def test_a_batch_that_fails_altogether_is_an_answer_and_no_exception() -> None:
    assert failed(
        process_batch(batch(a_record(1, {"n": "a"})), LAMBDA_CONTEXT, lambda: RecordingWorker(a=DatabaseUnavailable()))
    ) == ["m1"]


@pytest.mark.parametrize("body", ["", "{", "[]", "null", "[" * 100_000, '"text"'])
def test_a_body_that_is_no_object_stays_for_the_dead_letters(body: str) -> None:
    assert failed(process_batch(batch(a_record(1, body)), LAMBDA_CONTEXT, RecordingWorker)) == ["m1"]


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
    process_batch(batch(a_record(1, {"n": "a", "text": "secret"})), LAMBDA_CONTEXT, lambda: RecordingWorker(a=error))

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
        (LeaseHeld(), 2, 3),
        (LeaseHeld(), 4, 40),
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
            batch(record), LAMBDA_CONTEXT, lambda: RecordingWorker(a=MalformedPayload()), visibility_changer(client)
        )

        assert len(client.receive_message(QueueUrl=url)["Messages"]) == 1

    def test_a_queue_that_refuses_changes_nothing_about_the_answer(self, queue: tuple[Any, str]) -> None:
        record = {**self.receive(queue, {"n": "a"}), "receiptHandle": "stale"}

        response = process_batch(
            batch(record),
            LAMBDA_CONTEXT,
            lambda: RecordingWorker(a=DatabaseUnavailable()),
            visibility_changer(queue[0]),
        )

        assert failed(response) == ["m1"]


class RecordedChanges:
    """Notes every change of a visibility: the message and its seconds."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, int]] = []

    def __call__(self, _queue_url: str, receipt_handle: str, seconds: int) -> None:
        self.changes.append((receipt_handle, seconds))

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + 10
        while len(self.changes) < count and time.monotonic() < deadline:
            time.sleep(0.005)
        assert len(self.changes) >= count


class TestRenewedMessages:
    """A worker renews the visibility of its messages for as long as it lives."""

    @pytest.fixture(autouse=True)
    def frequent_renewals(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(renewal, "RENEWAL_SECONDS", 0.01)

    def test_all_of_a_batch_are_renewed_until_its_end(self) -> None:
        recorded = RecordedChanges()

        def build_handler() -> RecordingWorker:
            recorded.wait_for(6)  # also before the handler is built, which takes seconds in a new process
            return RecordingWorker()

        records = [a_record(1, {"n": "a"}), a_record(2, {"n": "b"})]
        process_batch(batch(*records), LAMBDA_CONTEXT, build_handler, recorded, is_renewed=True)
        at_the_end = list(recorded.changes)
        assert at_the_end[:4] == [("r1", 5), ("r2", 5), ("r1", 5), ("r2", 5)]
        time.sleep(0.1)
        assert recorded.changes == at_the_end

    def test_the_wait_of_a_failed_message_is_the_last_word(self) -> None:
        recorded = RecordedChanges()

        def build_handler() -> RecordingWorker:
            recorded.wait_for(3)
            return RecordingWorker(a=LeaseHeld(retry_after=42))

        process_batch(batch(a_record(1, {"n": "a"})), LAMBDA_CONTEXT, build_handler, recorded, is_renewed=True)
        time.sleep(0.1)
        assert recorded.changes[-1] == ("r1", 42)

    def test_messages_are_left_alone_where_their_work_is_leased_for_longer(self) -> None:
        recorded = RecordedChanges()
        process_batch(batch(a_record(1, {"n": "a"})), LAMBDA_CONTEXT, RecordingWorker, recorded)
        time.sleep(0.05)
        assert recorded.changes == []

    def test_a_dead_workers_message_and_its_group_come_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(renewal, "VISIBILITY_SECONDS", 1)
        with mock_aws():
            client = boto3.client("sqs", region_name="eu-west-1")
            url = client.create_queue(
                QueueName="tools.fifo",
                Attributes={"FifoQueue": "true", "VisibilityTimeout": "900", "ContentBasedDeduplication": "true"},
            )["QueueUrl"]
            for body in ("first", "second"):
                client.send_message(QueueUrl=url, MessageBody=body, MessageGroupId="a")
            receive = partial(client.receive_message, QueueUrl=url, MaxNumberOfMessages=1)
            [message] = receive()["Messages"]
            with renew_visibility(visibility_changer(client), [(url, message["ReceiptHandle"])]):
                time.sleep(1.5)  # longer than a visibility that nobody renews
                assert "Messages" not in receive()
            deadline = time.monotonic() + 5
            while not (found := receive().get("Messages")) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert found
            assert found[0]["Body"] == "first"


@pytest.mark.parametrize(("receives", "is_redelivered"), [(1, False), (2, True)])
def test_a_handler_learns_that_its_message_was_received_before(receives: int, is_redelivered: bool) -> None:
    bodies: list[JsonObject] = []
    process_batch(
        batch(a_record(1, {"n": "a"}, receives=receives)), LAMBDA_CONTEXT, lambda: lambda body, _: bodies.append(body)
    )
    assert [REDELIVERED_KEY in body for body in bodies] == [is_redelivered]
