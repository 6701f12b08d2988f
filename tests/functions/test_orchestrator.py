"""The orchestrator function, whole: a wake-up through the real handler to an answered turn."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from local.database import Cluster
from parlour.bootstrap import clients
from parlour.bootstrap.orchestrator import build_orchestrator
from parlour.infra.settings import OrchestratorSettings
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
from tests.functions.fake_provider import FakeProvider, fake_provider

__all__ = ["fake_provider"]


@pytest.fixture
def handler(
    cluster: Cluster,
    conversation: ConversationHarness,
    database_name: str,
    fake_provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Handler]:
    """The function in its deployment: no model key, and an embeddings endpoint that is away."""
    del conversation
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        key = json.dumps({"anthropic_api_key": ""})
        boto3.client("secretsmanager").create_secret(Name="model", SecretString=key)
        set_environment(
            OrchestratorSettings,
            monkeypatch,
            database_secret=store_database_secret(cluster, database_name),
            database_idle="true",
            model_secret="model",
            embedding_url="http://127.0.0.1:9",
            media_bucket="media",
            whatsapp_base_url=fake_provider.url,
        )
        _forget()
        yield load_handler("orchestrator")
        _forget()


def _forget() -> None:
    build_orchestrator.cache_clear()
    clients.build_change_visibility.cache_clear()


def wake(conversation: ConversationHarness) -> dict[str, Any]:
    return sqs_event(conversation.list_wakes()[-1].to_queue_message("x", 0).body)


def test_a_wake_without_embeddings_gets_sources_from_the_offline_model(
    handler: Handler, conversation: ConversationHarness
) -> None:
    conversation.send_whatsapp("How wide is the crack at C4?")
    assert failed_message_ids(handler(wake(conversation), LAMBDA_CONTEXT)) == []
    ((body, state),) = conversation.query(
        "SELECT m.body, o.state FROM messages m JOIN outbox o ON o.message_id = m.id WHERE m.direction = 'outbound'"
    )
    assert str(body).startswith("Offline model")
    assert state == "pending"
    assert conversation.query("SELECT count(*) > 0 FROM citations") == [(True,)]


def test_a_wake_of_a_held_session_is_left_to_its_worker(handler: Handler, conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("How wide is the crack at C4?")
    conversation.query("UPDATE sessions SET lease_until = '2099-01-01' RETURNING 1")
    assert failed_message_ids(handler(wake(conversation), LAMBDA_CONTEXT)) == []
    assert conversation.query("SELECT has_pending_wake, (SELECT count(*) FROM turns) FROM sessions") == [(True, 0)]


def test_a_message_to_metas_number_is_marked_as_read(
    handler: Handler, conversation: ConversationHarness, fake_provider: FakeProvider
) -> None:
    boto3.client("secretsmanager").create_secret(
        Name="parlour/parlour/tenants/northbank/whatsapp", SecretString="token"
    )
    conversation.send_whatsapp("Hello", "wamid.1", provider="whatsapp_cloud", to="whatsapp:104729350000142")
    assert failed_message_ids(handler(wake(conversation), LAMBDA_CONTEXT)) == []
    assert [(one.message_id, one.is_typing) for one in fake_provider.phone.receipts()] == [("wamid.1", True)]


def test_a_wake_that_is_none_goes_to_the_dead_letters(handler: Handler) -> None:
    assert failed_message_ids(handler(sqs_event({"tenant_id": "x"}), LAMBDA_CONTEXT)) == ["id-0"]


@pytest.mark.parametrize("has_real_provider", [False, True])
def test_the_demo_answers_only_where_there_is_no_real_provider(
    handler: Handler, conversation: ConversationHarness, monkeypatch: pytest.MonkeyPatch, *, has_real_provider: bool
) -> None:
    monkeypatch.setenv("LAPTOP_MODEL", "demo")
    monkeypatch.setenv("BEDROCK_CLAUDE", str(has_real_provider).lower())
    conversation.send_whatsapp("Hello")
    handler(wake(conversation), LAMBDA_CONTEXT)
    ((body,),) = conversation.query("SELECT body FROM messages WHERE direction = 'outbound'")
    assert str(body).startswith("Hello! What may I look up") is not has_real_provider
