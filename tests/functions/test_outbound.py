"""The outbound function, whole: a batch through the real handler to a provider that listens, on the real database."""

import importlib.util
import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import boto3
import pytest
from moto import mock_aws

from local.database import APP_ROLE, Cluster
from parlour.bootstrap import clients
from parlour.bootstrap.outbound import build_outbound
from tests.functions.deployed_function import LAMBDA_CONTEXT
from tests.integration.channels.conftest import OutboxHarness, open_outbox_harness, outbox_harness

__all__ = ["open_outbox_harness", "outbox_harness"]

ROOT = Path(__file__).parents[2]

type Handler = Callable[[dict[str, Any], object], dict[str, Any]]


class Provider(ThreadingHTTPServer):
    """Plays Gupshup: takes messages with `status`, and keeps key and text of each."""

    status = 202

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.received: list[tuple[str, str]] = []


class _Answer(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        self.server.received.append((self.headers["apikey"], json.loads(form["message"][0])["text"]))
        body = json.dumps({"status": "submitted", "messageId": f"gs-{len(self.server.received)}"}).encode()
        self.send_response(self.server.status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def provider() -> Iterator[Provider]:
    server = Provider()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(5)


@pytest.fixture
def handler(
    cluster: Cluster, database_name: str, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Handler]:
    """The function in its deployment: the database's secret, the tenant's key, and where the provider is."""
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        parameters = cluster.connection_parameters(database_name, APP_ROLE, "app")
        secret = {"username": APP_ROLE, "password": "app", "host": parameters["host"], "dbname": database_name}
        secrets = boto3.client("secretsmanager")
        secrets.create_secret(Name="database", SecretString=json.dumps(secret))
        secrets.create_secret(Name="parlour/gupshup", SecretString="key-of-the-tenant")
        monkeypatch.setenv("DATABASE_SECRET", "database")
        monkeypatch.setenv("DATABASE_IDLE", "true")
        monkeypatch.setenv("GUPSHUP_BASE_URL", f"http://127.0.0.1:{provider.server_port}")
        monkeypatch.setenv("PUBLIC_URL", "https://parlour.example")
        url = boto3.client("sqs").create_queue(QueueName="wakeups")["QueueUrl"]
        monkeypatch.setenv("WAKEUPS_QUEUE_URL", url)
        _forget()
        yield _load()
        _forget()


def _forget() -> None:
    build_outbound.cache_clear()
    clients.build_change_visibility.cache_clear()


def _load() -> Handler:
    spec = importlib.util.spec_from_file_location("outbound_handler", ROOT / "functions" / "outbound" / "handler.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Handler = module.handler
    return found


def a_batch(*bodies: object) -> dict[str, Any]:
    [sample] = json.loads((ROOT / "events" / "outbound_reply.json").read_text("utf-8"))["Records"]
    return {
        "Records": [
            {**sample, "messageId": f"m{number}", "body": json.dumps(body)} for number, body in enumerate(bodies, 1)
        ]
    }


def wake(outbox_harness: OutboxHarness, text: str) -> dict[str, str]:
    outbox_harness.add_inbound(datetime.now(UTC))
    return {"tenant_id": str(outbox_harness.principal.tenant_id), "outbox_id": str(outbox_harness.add_reply(text))}


def test_replies_reach_the_provider_with_the_tenants_key_in_order(
    handler: Handler, provider: Provider, outbox_harness: OutboxHarness
) -> None:
    batch = a_batch(wake(outbox_harness, "Poured on **Tuesday**."), wake(outbox_harness, "Anything else?"))

    assert handler(batch, LAMBDA_CONTEXT) == {"batchItemFailures": []}
    assert handler(batch, LAMBDA_CONTEXT) == {"batchItemFailures": []}
    assert provider.received == [
        ("key-of-the-tenant", "Poured on *Tuesday*."),
        ("key-of-the-tenant", "Anything else?"),
    ]


def test_a_busy_provider_brings_the_message_and_what_comes_after_it_again(
    handler: Handler, provider: Provider, outbox_harness: OutboxHarness
) -> None:
    batch = a_batch(wake(outbox_harness, "first"), wake(outbox_harness, "second"))
    provider.status = 503

    assert handler(batch, LAMBDA_CONTEXT) == {"batchItemFailures": [{"itemIdentifier": "m1"}, {"itemIdentifier": "m2"}]}
    assert [text for _, text in provider.received] == ["first"]

    provider.status = 202
    assert handler(batch, LAMBDA_CONTEXT) == {"batchItemFailures": []}
    assert [text for _, text in provider.received] == ["first", "first", "second"]


def test_a_refused_key_leaves_no_dead_letter_and_a_wake_up_for_later(
    handler: Handler, provider: Provider, outbox_harness: OutboxHarness
) -> None:
    body, sqs = wake(outbox_harness, "waits for its key"), boto3.client("sqs")
    outbox_harness.query("UPDATE outbox SET created_at = now() RETURNING id")
    provider.status = 401

    assert handler(a_batch(body), LAMBDA_CONTEXT) == {"batchItemFailures": []}
    url = sqs.get_queue_url(QueueName="wakeups")["QueueUrl"]
    waiting = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessagesDelayed"])
    assert waiting["Attributes"] == {"ApproximateNumberOfMessagesDelayed": "1"}

    provider.status = 202
    assert handler(a_batch(body), LAMBDA_CONTEXT) == {"batchItemFailures": []}
    assert [text for _, text in provider.received] == ["waits for its key"] * 2


def test_the_sample_event_of_a_row_that_is_not_here_is_done_with(handler: Handler, provider: Provider) -> None:
    event = json.loads((ROOT / "events" / "outbound_reply.json").read_text("utf-8"))

    assert handler(event, LAMBDA_CONTEXT) == {"batchItemFailures": []}
    assert provider.received == []


def test_a_message_that_is_no_wake_up_goes_to_the_dead_letters_alone(
    handler: Handler, provider: Provider, outbox_harness: OutboxHarness
) -> None:
    batch = a_batch({"hello": "world"}, wake(outbox_harness, "still sent"))

    assert handler(batch, LAMBDA_CONTEXT) == {"batchItemFailures": [{"itemIdentifier": "m1"}]}
    assert [text for _, text in provider.received] == ["still sent"]
