"""The embedder function, whole: a nudge through the real handler, a served model, and rows with vectors behind it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import boto3
import httpx2
import pytest
from moto import mock_aws

from local.database import Cluster
from parlour.bootstrap import clients, embedder
from parlour.infra.ids import uuid7
from parlour.infra.settings import EmbedderSettings
from parlour.jobs import work_due
from parlour.search.index import scheduling
from parlour.search.index.context_rows import RowDraft
from parlour.search.index.store import RowOwner, add_rows
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
SECRET = "an embedding key"  # pragma: allowlist secret


class Served:
    """The embeddings endpoint; what it was asked, and with which key."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []
        self.status = 200

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        texts = json.loads(request.content)["input"]
        self.asked.append((request.headers.get("authorization", ""), texts))
        data = [{"index": index, "embedding": [1.0, 0.5, 0.25]} for index in range(len(texts))]
        return httpx2.Response(self.status, json={"data": data})


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Served:
    answering, real = Served(), httpx2.Client

    def client(**given: Any) -> httpx2.Client:
        return real(**{**given, "transport": httpx2.MockTransport(answering)})

    monkeypatch.setattr(httpx2, "Client", client)
    return answering


@pytest.fixture
def handler(
    cluster: Cluster,
    conversation: ConversationHarness,
    database_name: str,
    served: Served,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Handler]:
    """The function in its deployment, with a second model that asks for a key and is the tenant's."""
    del served
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        secret = store_database_secret(cluster, database_name)
        boto3.client("secretsmanager").create_secret(Name="embedding", SecretString=json.dumps({"mini": SECRET}))
        further = '[{"model": "mini", "dimensions": 3, "url": "http://embed.test/v1"}]'
        set_environment(
            EmbedderSettings,
            monkeypatch,
            database_secret=secret,
            database_idle="true",
            embedding_url="http://words.test/v1",
            embedding_model="words",
            embedding_dimensions="64",
            embedding_models=further,
            embedding_secret="embedding",
        )
        conversation.query("UPDATE tenants SET embedding_space = 'mini@3' RETURNING slug")
        _forget()
        yield load_handler("embedder")
        _forget()


def _forget() -> None:
    for one in (embedder.build_embedder, clients.build_change_visibility):
        one.cache_clear()


@pytest.fixture(autouse=True)
def _time(monkeypatch: pytest.MonkeyPatch) -> None:
    """More of it than the minute that other functions' tests have."""
    monkeypatch.setattr(type(LAMBDA_CONTEXT), "get_remaining_time_in_millis", lambda _: 300_000)


def write(conversation: ConversationHarness, text: str) -> None:
    now = conversation.clock()
    with conversation.database.transaction(conversation.tenant_id) as tx:
        draft = RowDraft("delta", 0, "Delta", text, 0, {})
        add_rows(tx, [(uuid7(now), RowOwner(None, None), draft)], now, is_pending=True)
        scheduling.schedule_embedding(tx, conversation.tenant_id, now)


def vectors(conversation: ConversationHarness) -> list[tuple[object, ...]]:
    return conversation.query(
        "SELECT r.content, e.space, e.vector::text FROM context_rows r JOIN embeddings e ON e.row_id = r.id"
        " WHERE r.kind = 'delta'"
    )


def nudge(conversation: ConversationHarness) -> dict[str, Any]:
    event = sqs_event({"tenant_id": str(conversation.tenant_id)})
    for record in event["Records"]:
        del record["attributes"]["MessageGroupId"]
    return event


def test_a_nudge_has_the_tenants_rows_embedded_in_its_own_space_with_its_models_key(
    handler: Handler, conversation: ConversationHarness, served: Served
) -> None:
    write(conversation, "The crack is wider.")
    assert failed_message_ids(handler(nudge(conversation), LAMBDA_CONTEXT)) == []
    assert served.asked == [(f"Bearer {SECRET}", ["The crack is wider."])]
    assert vectors(conversation) == [("The crack is wider.", "mini@3", "[1,0.5,0.25]")]


def test_where_no_schedule_looks_every_minute_the_pulses_that_are_due_soon_are_woken(
    handler: Handler, conversation: ConversationHarness
) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=40)
    conversation.query("DELETE FROM work_due WHERE kind = 'pulse' RETURNING 1")
    with conversation.database.transaction(conversation.tenant_id) as tx:
        work_due.schedule(tx, "pulse", uuid7(conversation.clock()), soon)
    assert failed_message_ids(handler(nudge(conversation), LAMBDA_CONTEXT)) == []
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName="pulse_wakeups")["QueueUrl"]
    name: Literal["ApproximateNumberOfMessagesDelayed"] = "ApproximateNumberOfMessagesDelayed"
    assert sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name] == "1"


def test_one_that_the_model_did_not_answer_comes_again(
    handler: Handler, conversation: ConversationHarness, served: Served
) -> None:
    write(conversation, "Once more.")
    served.status = 503
    assert failed_message_ids(handler(nudge(conversation), LAMBDA_CONTEXT)) == ["id-0"]
    served.status = 200
    assert failed_message_ids(handler(nudge(conversation), LAMBDA_CONTEXT)) == []
    assert len(vectors(conversation)) == 1


def test_the_sample_event_is_about_a_tenant_that_is_not_here_and_harms_nothing(
    handler: Handler, conversation: ConversationHarness
) -> None:
    event = json.loads((EVENTS / "embedder_pending.json").read_text("utf-8"))
    assert failed_message_ids(handler(event, LAMBDA_CONTEXT)) == []
    assert conversation.query("SELECT id FROM work_due WHERE kind = 'embedding'") == []


def test_nonsense_is_left_for_the_dead_letters(handler: Handler) -> None:
    event = sqs_event({"tenant": 1})
    del event["Records"][0]["attributes"]["MessageGroupId"]
    assert failed_message_ids(handler(event, LAMBDA_CONTEXT)) == ["id-0"]
