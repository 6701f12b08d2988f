"""The sweep of Pulses, whole: a schedule and wake-ups through the real handler to the queue of the writers."""

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
from parlour.bootstrap import clients, pulse_sweep
from parlour.infra.settings import PulseSweepSettings
from parlour.jobs import work_due
from parlour.records import crud, staleness
from parlour.records.crud import RecordInput
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
    del conversation
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        secret = store_database_secret(cluster, database_name)
        set_environment(PulseSweepSettings, monkeypatch, database_secret=secret, database_idle="true")
        _forget()
        yield load_handler("pulse_sweep")
        _forget()


def _forget() -> None:
    for one in (
        pulse_sweep.build_sweep,
        pulse_sweep.build_wakeup,
        pulse_sweep._make_sweep,
        clients.build_change_visibility,
    ):
        one.cache_clear()


def an_event(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text("utf-8"))
    return event


def on_queue(name: str) -> list[Any]:
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    return [json.loads(one["Body"]) for one in sqs.receive_message(QueueUrl=url).get("Messages", [])]


def later(name: str) -> str:
    """How many messages wait for their time."""
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    held = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessagesDelayed"])
    return held["Attributes"]["ApproximateNumberOfMessagesDelayed"]


@pytest.fixture
def plan(conversation: ConversationHarness) -> UUID:
    """The only record whose Pulse is due; it was made long ago, by the real clock."""
    conversation.query("DELETE FROM work_due WHERE kind = 'pulse' RETURNING 1")
    with conversation.database.transaction(conversation.admin) as tx:
        return crud.create_record(conversation.admin, tx, RecordInput("plan", "Shoring"), conversation.clock()).id


def test_the_schedule_sends_what_is_due_once(handler: Handler, conversation: ConversationHarness, plan: UUID) -> None:
    assert handler(an_event("pulse_sweep_schedule"), LAMBDA_CONTEXT) == {
        "sent_count": 1,
        "waiting_count": 0,
        "settled_count": 0,
        "has_more": False,
    }
    assert handler(an_event("pulse_sweep_schedule"), LAMBDA_CONTEXT)["sent_count"] == 0
    assert on_queue("pulse") == [{"tenant_id": str(conversation.tenant_id), "entity_id": str(plan)}]


def test_a_wake_up_does_so_for_its_tenant_and_has_the_next_one_looked_at_in_its_time(
    handler: Handler, conversation: ConversationHarness, plan: UUID
) -> None:
    soon = datetime.now(UTC) + timedelta(minutes=2)
    with conversation.database.transaction(conversation.admin) as tx:
        other = crud.create_record(conversation.admin, tx, RecordInput("plan", "Lifts"), conversation.clock()).id
        work_due.schedule(tx, "pulse", other, soon)
    assert failed_message_ids(handler(sqs_event({"tenant_id": str(conversation.tenant_id)}), LAMBDA_CONTEXT)) == []
    assert [one["entity_id"] for one in on_queue("pulse")] == [str(plan)]
    assert later("pulse_wakeups") == "1"


def test_a_wake_up_with_nothing_to_do_soon_is_the_last(
    handler: Handler, conversation: ConversationHarness, plan: UUID
) -> None:
    tomorrow = datetime.now(UTC) + timedelta(hours=20)
    conversation.database.run(conversation.tenant_id, lambda tx: work_due.schedule(tx, "pulse", plan, tomorrow))
    assert failed_message_ids(handler(sqs_event({"tenant_id": str(conversation.tenant_id)}), LAMBDA_CONTEXT)) == []
    assert (on_queue("pulse"), later("pulse_wakeups")) == ([], "0")


def test_a_wake_up_for_a_tenant_that_is_not_there_and_nonsense_harm_nobody(
    handler: Handler, conversation: ConversationHarness, plan: UUID
) -> None:
    assert failed_message_ids(handler(an_event("pulse_sweep_wakeup"), LAMBDA_CONTEXT)) == []
    event = sqs_event({"tenant_id": "x"}, {"tenant_id": str(conversation.tenant_id)})
    for record in event["Records"]:
        del record["attributes"]["MessageGroupId"]
    assert failed_message_ids(handler(event, LAMBDA_CONTEXT)) == ["id-0"]
    assert len(on_queue("pulse")) == 1


def test_who_asks_for_a_refresh_is_served_by_the_next_sweep_should_the_message_get_lost(
    handler: Handler, conversation: ConversationHarness, plan: UUID
) -> None:
    tomorrow = datetime.now(UTC) + timedelta(hours=20)
    with conversation.database.transaction(conversation.admin) as tx:
        work_due.schedule(tx, "pulse", plan, tomorrow)
        staleness.request_refresh(tx, plan, conversation.clock())
    assert handler(an_event("pulse_sweep_schedule"), LAMBDA_CONTEXT)["sent_count"] == 1
