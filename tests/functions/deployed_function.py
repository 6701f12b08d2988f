"""A function as it is deployed: its handler loaded from its own folder, its database by a secret."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest

from local.database import APP_ROLE, Cluster
from local.temporary_database import APP_PASSWORD
from parlour.infra.settings import Settings

type Handler = Callable[[dict[str, Any], object], dict[str, Any]]

_STANDARD_QUEUES = {
    "embedding_queue_url",
    "wakeups_queue_url",
    "pulse_queue_url",
    "pulse_wakeups_queue_url",
    "memory_queue_url",
}
_FUNCTIONS = Path(__file__).parents[2] / "functions"


class FakeLambdaContext:
    """What Lambda says about the invocation: a minute is left."""

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


LAMBDA_CONTEXT = FakeLambdaContext()


def load_handler(function: str) -> Handler:
    """The handler of functions/<function>, imported the way Lambda does: as a file, not as part of a package."""
    spec = importlib.util.spec_from_file_location(f"{function}_handler", _FUNCTIONS / function / "handler.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    handler: Handler = module.handler
    return handler


def store_database_secret(cluster: Cluster, database_name: str) -> str:
    """Keep the app role's credentials in the (mocked) secret store; returns the secret's name."""
    host = cluster.connection_parameters(database_name, APP_ROLE)["host"]
    secret = {"username": APP_ROLE, "password": APP_PASSWORD, "host": host, "dbname": database_name}
    boto3.client("secretsmanager").create_secret(Name="database", SecretString=json.dumps(secret))
    return "database"


def create_fifo_queue(name: str) -> str:
    """A FIFO queue in the (mocked) SQS; returns its URL."""
    made = boto3.client("sqs").create_queue(QueueName=f"{name}.fifo", Attributes={"FifoQueue": "true"})
    return made["QueueUrl"]


def create_delayed_queue(name: str) -> str:
    """A standard queue in the (mocked) SQS; returns its URL."""
    return boto3.client("sqs").create_queue(QueueName=name)["QueueUrl"]


def set_environment(settings: type[Settings], monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    """The environment that `settings` asks for: a queue of its own for every queue's URL, and the `values`."""
    for name, field in settings.model_fields.items():
        if name in values:
            monkeypatch.setenv(name.upper(), values[name])
        elif field.is_required() and name.endswith(("_queue_url", "_dead_letters_url")):
            make = create_delayed_queue if name in _STANDARD_QUEUES else create_fifo_queue
            monkeypatch.setenv(name.upper(), make(name.removesuffix("_url").removesuffix("_queue")))


def sqs_event(*bodies: object) -> dict[str, Any]:
    """An SQS event; a body that is not text is sent as JSON."""
    return {
        "Records": [
            {
                "messageId": f"id-{number}",
                "receiptHandle": f"handle-{number}",
                "body": body if isinstance(body, str) else json.dumps(body),
                "attributes": {"ApproximateReceiveCount": "1", "MessageGroupId": "g", "SequenceNumber": str(number)},
                "messageAttributes": {},
                "md5OfBody": "",
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:intake.fifo",
                "awsRegion": "eu-central-1",
            }
            for number, body in enumerate(bodies)
        ]
    }


def failed_message_ids(answer: dict[str, Any]) -> list[str]:
    """The messages that an answer asks to have delivered again."""
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
