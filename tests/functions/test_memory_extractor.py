"""The work of memory, whole: an order through the real handler."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import boto3
import pytest
from moto import mock_aws

from local.database import Cluster
from parlour.bootstrap import clients, memory_extractor
from parlour.infra.settings import MemoryExtractorSettings
from parlour.memory.memory_job import MEMORY_JOB_KINDS
from tests.conversation_harness import ConversationHarness
from tests.functions.deployed_function import (
    FakeLambdaContext,
    Handler,
    failed_message_ids,
    load_handler,
    set_environment,
    sqs_event,
    store_database_secret,
)
from tests.integration.memory.extraction_harness import ExtractionConversation

EVENTS = Path(__file__).parents[2] / "events"


class LongContext(FakeLambdaContext):
    """As much time as the function has in its deployment."""

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


CONTEXT = LongContext()


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
        boto3.client("s3").create_bucket(
            Bucket="media", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
        )
        set_environment(
            MemoryExtractorSettings,
            monkeypatch,
            database_secret=secret,
            database_idle="true",
            model_secret="model",
            media_bucket="media",
        )
        _forget()
        yield load_handler("memory_extractor")
        _forget()


def _forget() -> None:
    for one in (memory_extractor.build_memory_extractor, clients.build_change_visibility):
        one.cache_clear()


def order(conversation: ConversationHarness, kind: str, work_id: UUID) -> dict[str, Any]:
    event = sqs_event({"tenant_id": str(conversation.tenant_id), "kind": kind, "target_id": str(work_id)})
    for record in event["Records"]:
        del record["attributes"]["MessageGroupId"]
    return event


def test_a_session_that_is_due_is_looked_through(handler: Handler, conversation: ConversationHarness) -> None:
    talk = ExtractionConversation(conversation)
    talk.say("I live in Pune.")
    conversation.query(f"UPDATE work_due SET due_at = '{datetime.now(UTC)}' WHERE kind = 'extraction' RETURNING 1")
    assert failed_message_ids(handler(order(conversation, "extraction", talk.session), CONTEXT)) == []
    assert talk.due_rows() == []
    assert conversation.query("SELECT extraction_cursor FROM session_memory_state") == [(1,)]


@pytest.mark.parametrize("kind", MEMORY_JOB_KINDS)
def test_an_order_for_what_is_not_there_harms_nothing(
    handler: Handler, conversation: ConversationHarness, kind: str
) -> None:
    assert failed_message_ids(handler(order(conversation, kind, uuid4()), CONTEXT)) == []


def test_the_sample_event_is_about_a_tenant_that_is_not_here_and_harms_nothing(
    handler: Handler, conversation: ConversationHarness
) -> None:
    event = json.loads((EVENTS / "memory_extractor_job.json").read_text("utf-8"))
    assert failed_message_ids(handler(event, CONTEXT)) == []
    assert conversation.query("SELECT count(*) FROM facts") == [(0,)]


@pytest.mark.parametrize(
    "body", [{"tenant_id": "x"}, {}, {"tenant_id": str(uuid4()), "kind": "pulse", "id": str(uuid4())}]
)
def test_nonsense_is_left_for_the_dead_letters(handler: Handler, body: dict[str, str]) -> None:
    event = sqs_event(body)
    del event["Records"][0]["attributes"]["MessageGroupId"]
    assert failed_message_ids(handler(event, CONTEXT)) == ["id-0"]


def test_a_database_that_is_away_leaves_the_message_on_the_queue(
    handler: Handler, conversation: ConversationHarness, cluster: Cluster, database_name: str
) -> None:
    talk = ExtractionConversation(conversation)
    talk.say("I live in Pune.")
    cluster.drop(database_name)
    assert failed_message_ids(handler(order(conversation, "extraction", talk.session), CONTEXT)) == ["id-0"]
