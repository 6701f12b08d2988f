"""The sweep function, whole: a schedule and wake-ups through the real handler to the queues of what was left lying."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import boto3
import pytest
from moto import mock_aws

from local.database import Cluster
from parlour.bootstrap import clients, sweep
from parlour.infra.settings import SweepSettings
from parlour.jobs import work_due
from parlour.jobs.work_due import DueWork
from tests.conversation_harness import ConversationHarness
from tests.functions.deployed_function import (
    LAMBDA_CONTEXT,
    Handler,
    failed_message_ids,
    load_handler,
    set_environment,
    sqs_event,
    store_database_secret,
)

EVENTS = Path(__file__).parents[2] / "events"


@pytest.fixture
def handler(
    cluster: Cluster, conversation: ConversationHarness, database_name: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Handler]:
    """The function in its deployment: every queue that wakes something, and the one of the wake-ups."""
    conversation.query("DELETE FROM work_due WHERE kind = 'archive' RETURNING 1")  # long due, by the real clock
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        wakeups = boto3.client("sqs").create_queue(QueueName="wakeups")["QueueUrl"]
        secret = store_database_secret(cluster, database_name)
        set_environment(
            SweepSettings, monkeypatch, database_secret=secret, database_idle="true", wakeups_queue_url=wakeups
        )
        _forget()
        yield load_handler("sweep")
        _forget()


def _forget() -> None:
    for one in (sweep.build_sweep, sweep.build_wakeup, sweep._dependencies, clients.build_change_visibility):
        one.cache_clear()


def an_event(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text("utf-8"))
    return event


def on_queue(name: str) -> list[Any]:
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    return [json.loads(one["Body"]) for one in sqs.receive_message(QueueUrl=url).get("Messages", [])]


@pytest.fixture
def unanswered(conversation: ConversationHarness) -> UUID:
    conversation.send_whatsapp("How wide is the crack at C4?")  # long ago, by the real clock
    return conversation.list_wakes()[-1].session_id


def test_the_schedule_wakes_what_was_left_lying(
    handler: Handler, conversation: ConversationHarness, unanswered: UUID
) -> None:
    assert handler(an_event("sweep_schedule"), LAMBDA_CONTEXT) == {
        "woken_count": 1,
        "settled_count": 0,
        "busy_count": 0,
        "has_more": False,
    }
    assert on_queue("turns_messaging.fifo") == [
        {"tenant_id": str(conversation.tenant_id), "session_id": str(unanswered)}
    ]


def test_a_wake_up_that_is_due_does_so_for_its_own(
    handler: Handler, conversation: ConversationHarness, unanswered: UUID
) -> None:
    due = DueWork(conversation.tenant_id, "session", unanswered, datetime.now(UTC))
    assert failed_message_ids(handler(sqs_event(due.to_json()), LAMBDA_CONTEXT)) == []
    assert len(on_queue("turns_messaging.fifo")) == 1


def test_one_whose_work_is_unknown_is_done_with(handler: Handler) -> None:
    assert failed_message_ids(handler(an_event("sweep_wakeup"), LAMBDA_CONTEXT)) == []


def test_one_that_is_early_goes_back_for_as_long_as_the_queue_keeps_it(
    handler: Handler, conversation: ConversationHarness
) -> None:
    due = DueWork(conversation.tenant_id, "session", UUID(int=1), datetime.now(UTC) + timedelta(hours=3))
    assert failed_message_ids(handler(sqs_event(due.to_json()), LAMBDA_CONTEXT)) == []
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName="wakeups")["QueueUrl"]
    held = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessagesDelayed"])
    assert held["Attributes"]["ApproximateNumberOfMessagesDelayed"] == "1"


def test_nonsense_is_left_for_the_dead_letters_and_holds_nobody_back(
    handler: Handler, conversation: ConversationHarness, unanswered: UUID
) -> None:
    event = sqs_event(
        {"kind": "x"}, DueWork(conversation.tenant_id, "session", unanswered, datetime.now(UTC)).to_json()
    )
    for record in event["Records"]:
        del record["attributes"]["MessageGroupId"]
    assert failed_message_ids(handler(event, LAMBDA_CONTEXT)) == ["id-0"]
    assert len(on_queue("turns_messaging.fifo")) == 1


def test_what_is_due_later_is_left_alone(handler: Handler, conversation: ConversationHarness) -> None:
    later = datetime.now(UTC) + timedelta(minutes=5)
    conversation.database.run(conversation.tenant_id, lambda tx: work_due.schedule(tx, "session", UUID(int=1), later))
    assert handler(an_event("sweep_schedule"), LAMBDA_CONTEXT) == {
        "woken_count": 0,
        "settled_count": 0,
        "busy_count": 0,
        "has_more": False,
    }
