"""The inbound function, whole: sample events through the real handler onto a queue (moto's)."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from parlour.bootstrap.inbound import build_inbound

ROOT = Path(__file__).parents[2]
HANDLER = ROOT / "functions" / "inbound" / "handler.py"
TOKEN = "development-token"

type Handler = Callable[[dict[str, Any], object], dict[str, Any]]


def an_event(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((ROOT / "events" / f"{name}.json").read_text("utf-8"))
    return event


@pytest.fixture
def handler() -> Handler:
    spec = importlib.util.spec_from_file_location("inbound_handler", HANDLER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Handler = module.handler
    return found


@pytest.fixture
def intake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """The deployment: a queue and the webhook secret. Called: what is on the queue."""
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        sqs = boto3.client("sqs")
        url = sqs.create_queue(QueueName="intake.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
        secret = json.dumps(
            {
                "gupshup_tokens": [TOKEN],
                "whatsapp_app_secrets": ["development-app-secret"],
                "whatsapp_verify_tokens": ["development-verify-token"],
            }
        )
        boto3.client("secretsmanager").create_secret(Name="webhook", SecretString=secret)
        monkeypatch.setenv("INTAKE_QUEUE_URL", url)
        monkeypatch.setenv("WEBHOOK_SECRET", "webhook")
        build_inbound.cache_clear()
        yield lambda: [
            json.loads(message["Body"])
            for message in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        ]
        build_inbound.cache_clear()


@pytest.mark.parametrize(
    ("name", "kind"),
    [("inbound_gupshup_text", "text"), ("inbound_gupshup_image", "media"), ("inbound_gupshup_status", "status")],
)
def test_a_webhook_is_answered_empty_and_queued(
    handler: Handler, intake: Callable[[], list[dict[str, Any]]], name: str, kind: str
) -> None:
    response = handler(an_event(name), None)

    assert (response["statusCode"], response["body"]) == (200, "")
    [body] = intake()
    assert (body["kind"], body["to"]) == (kind, "gupshup:ParlourDemo")


@pytest.mark.parametrize(("name", "status"), [("inbound_challenge", 200), ("inbound_gupshup_malformed", 400)])
def test_what_is_no_message_is_answered_and_not_queued(
    handler: Handler, intake: Callable[[], list[dict[str, Any]]], name: str, status: int
) -> None:
    assert handler(an_event(name), None)["statusCode"] == status
    assert intake() == []


def test_metas_batch_is_one_envelope_for_each_person(
    handler: Handler, intake: Callable[[], list[dict[str, Any]]]
) -> None:
    response = handler(an_event("inbound_whatsapp_batch"), None)

    assert (response["statusCode"], response["body"]) == (200, "")
    assert {(body["sender"], body["to"]) for body in intake()} == {
        ("+447700900123", "whatsapp:106540352242922"),
        ("+447700900177", "whatsapp:106540352242922"),
    }


@pytest.mark.parametrize(("name", "kind"), [("inbound_whatsapp_image", "media"), ("inbound_whatsapp_status", "status")])
def test_metas_webhooks_are_queued(
    handler: Handler, intake: Callable[[], list[dict[str, Any]]], name: str, kind: str
) -> None:
    assert handler(an_event(name), None)["statusCode"] == 200
    assert [body["kind"] for body in intake()] == [kind]


@pytest.mark.parametrize("provider", ["gupshup", "whatsapp"])
def test_a_pressed_button_is_queued_with_its_id(
    handler: Handler, intake: Callable[[], list[dict[str, Any]]], provider: str
) -> None:
    assert handler(an_event(f"inbound_{provider}_button"), None)["statusCode"] == 200
    [body] = intake()
    assert (body["kind"], body["text"]) == ("text", "Yes")
    assert body["metadata"]["button_id"] == "approval:0195f3a0-0000-7000-8000-000000000001:yes"


def test_metas_challenge_is_given_back(handler: Handler, intake: Callable[[], list[dict[str, Any]]]) -> None:
    response = handler(an_event("inbound_whatsapp_challenge"), None)

    assert (response["statusCode"], response["body"]) == (200, "1158201444")
    assert response["headers"] == {"Content-Type": "text/plain"}
    assert intake() == []


def test_metas_forged_webhook_is_refused(handler: Handler, intake: Callable[[], list[dict[str, Any]]]) -> None:
    event = an_event("inbound_whatsapp_batch")

    assert handler({**event, "body": event["body"].replace("crane", "crate")}, None)["statusCode"] == 401
    assert intake() == []


def test_a_forged_webhook_is_refused(handler: Handler, intake: Callable[[], list[dict[str, Any]]]) -> None:
    event = an_event("inbound_gupshup_text")

    assert handler({**event, "path": event["path"].replace(TOKEN, "development-guess")}, None)["statusCode"] == 401
    assert intake() == []


@pytest.mark.parametrize("variable", ["INTAKE_QUEUE_URL", "WEBHOOK_SECRET"])
def test_a_deployment_that_lacks_something_asks_the_provider_to_come_back(
    handler: Handler,
    intake: Callable[[], list[dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    monkeypatch.delenv(variable)

    assert handler(an_event("inbound_gupshup_text"), None)["statusCode"] == 503


def test_a_missing_secret_asks_the_provider_to_come_back(
    handler: Handler, intake: Callable[[], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEBHOOK_SECRET", "of-another-deployment")

    assert handler(an_event("inbound_gupshup_text"), None)["statusCode"] == 503


def test_the_path_of_a_webhook_imports_no_database_driver_and_no_model_sdk() -> None:
    script = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("handler", {str(HANDLER)!r})
spec.loader.exec_module(importlib.util.module_from_spec(spec))
print("\\n".join(sorted(sys.modules)))
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    imported = {name.partition(".")[0] for name in answer.stdout.split()}

    assert "botocore" in imported
    assert imported.isdisjoint(
        {"psycopg", "anthropic", "openai", "tiktoken", "httpx", "httpx2", "fastapi", "jsonschema", "markdown_it"}
    )
    assert "aws_lambda_powertools.utilities.batch" not in answer.stdout.split()
