"""The writer of Pulses, whole: an order through the real handler to a text with its sources."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import boto3
import pytest
from moto import mock_aws

from local.database import Cluster
from parlour.bootstrap import clients, pulse_writer
from parlour.infra.settings import PulseWriterSettings
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
    """The function in its deployment, without a model's key."""
    del conversation
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        key = json.dumps({"anthropic_api_key": ""})
        boto3.client("secretsmanager").create_secret(Name="model", SecretString=key)
        secret = store_database_secret(cluster, database_name)
        set_environment(
            PulseWriterSettings, monkeypatch, database_secret=secret, database_idle="true", model_secret="model"
        )
        _forget()
        yield load_handler("pulse_writer")
        _forget()


def _forget() -> None:
    for one in (pulse_writer.build_pulse_writer, clients.build_change_visibility):
        one.cache_clear()


@pytest.fixture
def plan(conversation: ConversationHarness) -> UUID:
    """A record whose Pulse somebody wants now."""
    with conversation.database.transaction(conversation.admin) as tx:
        new = RecordInput("plan", "Shoring", properties={"state": "active"})
        made = crud.create_record(conversation.admin, tx, new, conversation.clock()).id
        staleness.request_refresh(tx, made, conversation.clock())
        return made


def order(conversation: ConversationHarness, record_id: UUID) -> dict[str, Any]:
    event = sqs_event({"tenant_id": str(conversation.tenant_id), "entity_id": str(record_id)})
    for record in event["Records"]:
        del record["attributes"]["MessageGroupId"]
    return event


def test_an_order_is_written_by_the_offline_model_with_its_sources(
    handler: Handler, conversation: ConversationHarness, plan: UUID
) -> None:
    assert failed_message_ids(handler(order(conversation, plan), LAMBDA_CONTEXT)) == []
    ((text, citations),) = conversation.query(f"SELECT markdown, citations FROM pulses WHERE entity_id = '{plan}'")
    assert "Shoring" in str(text)
    assert "[1]" in str(text)
    assert citations


def test_the_same_order_again_changes_nothing(handler: Handler, conversation: ConversationHarness, plan: UUID) -> None:
    assert failed_message_ids(handler(order(conversation, plan), LAMBDA_CONTEXT)) == []
    before = conversation.query("SELECT * FROM pulses")
    assert failed_message_ids(handler(order(conversation, plan), LAMBDA_CONTEXT)) == []
    assert conversation.query("SELECT * FROM pulses") == before


def test_the_sample_event_is_about_a_tenant_that_is_not_here_and_harms_nothing(
    handler: Handler, conversation: ConversationHarness
) -> None:
    event = json.loads((EVENTS / "pulse_writer_job.json").read_text("utf-8"))
    assert failed_message_ids(handler(event, LAMBDA_CONTEXT)) == []
    assert conversation.query("SELECT count(*) FROM pulses") == [(0,)]


def test_nonsense_is_left_for_the_dead_letters(handler: Handler) -> None:
    event = sqs_event({"tenant_id": "x"})
    del event["Records"][0]["attributes"]["MessageGroupId"]
    assert failed_message_ids(handler(event, LAMBDA_CONTEXT)) == ["id-0"]
