"""A deployment in one process: the real handlers, each worker with its own, on the template's queues."""

import functools
import importlib.util
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from local import queues
from local.database import APP_ROLE, Cluster
from local.temporary_database import APP_PASSWORD
from parlour.bootstrap.inbound import build_inbound
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, OpenConnection
from parlour.jobs.renewal import ChangeVisibility
from tests.functions.deployed_function import load_handler

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

ROOT = Path(__file__).parents[3]
TOKEN = "token-of-the-webhook-and-long-enough"
DEAD_LETTER_QUEUES = ("IntakeDeadLetters", "TurnsMessagingDeadLetters", "TurnsWebDeadLetters")
FUNCTIONS_BY_QUEUE = {"IntakeQueue": "receiver", "TurnsMessagingQueue": "orchestrator", "TurnsWebQueue": "orchestrator"}

type Handler = Callable[[dict[str, Any], object], dict[str, Any]]


class Invocation:
    """What Lambda says about an invocation: when it ends."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._ends - time.monotonic()) * 1000))


@dataclass
class InProcessDeployment:
    """Queues as the template has them, and workers that serve them until all are empty.

    A failed message comes back after `back_off` seconds, at once by default: sooner than the functions ask for, so
    that the tries are used up sooner, which is the harder test.
    """

    client: "SQSClient"
    urls: dict[str, str]
    databases: list[Database]
    back_off: int = 0
    invocations: int = 0
    redeliveries: int = 0
    _receiving: threading.Lock = field(default_factory=threading.Lock)

    def post_webhook(self, number: int) -> int:
        """One person writes; returns the status that the provider is answered."""
        event = json.loads((ROOT / "events" / "inbound_gupshup_text.json").read_text())
        phone, body = f"9198{number:08d}", json.loads(event["body"])
        body["payload"] |= {"id": f"trouble-{number}", "source": phone}
        body["payload"]["sender"] |= {"phone": phone, "dial_code": "91"}
        body["app"] = "ParlourDemo"
        event |= {"body": json.dumps(body), "path": event["path"].replace("development-token", TOKEN)}
        event["pathParameters"]["token"] = TOKEN
        return int(load_handler("inbound")(event, None)["statusCode"])

    def run_workers(self, workers: int, is_over: Callable[[], bool], seconds: float) -> None:
        """Deliver what is on the queues with so many workers until it is over; AssertionError if it never is."""
        ends = time.monotonic() + seconds
        served = [self._worker() for _ in range(workers)]
        threads = [
            threading.Thread(target=self._work, args=(handlers, lambda: is_over() or time.monotonic() > ends))
            for handlers in served
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert is_over(), f"not over after {seconds} seconds: {self.count_messages()}"

    def count_messages(self) -> dict[str, int]:
        """How many messages each queue holds, in whatever state; empty ones are left out."""
        return {
            name: count
            for name in (*FUNCTIONS_BY_QUEUE, *DEAD_LETTER_QUEUES)
            if (count := self._count(self.urls[name]))
        }

    def count_dead_letters(self) -> int:
        return sum(self.count_messages().get(name, 0) for name in DEAD_LETTER_QUEUES)

    def is_quiet(self) -> bool:
        """Whether nothing is on its way any more."""
        return not any(name in FUNCTIONS_BY_QUEUE for name in self.count_messages())

    def close(self) -> None:
        """Let every worker's connection go."""
        for database in self.databases:
            if database._connection is not None:
                database._connection.close()

    def _count(self, url: str) -> int:
        found = self.client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        return sum(int(text) for name, text in found.items() if name.startswith("ApproximateNumberOf"))

    def _worker(self) -> dict[str, Handler]:
        return {function: _fresh(function, self._change_visibility) for function in set(FUNCTIONS_BY_QUEUE.values())}

    def _change_visibility(self, queue_url: str, receipt_handle: str, seconds: int) -> None:
        del queue_url
        for name in FUNCTIONS_BY_QUEUE:  # a record tells its queue's ARN, from which AWS's URL is made, not moto's
            try:
                self.client.change_message_visibility(
                    QueueUrl=self.urls[name], ReceiptHandle=receipt_handle, VisibilityTimeout=seconds
                )
            except self.client.exceptions.ClientError:
                continue

    def _work(self, handlers: dict[str, Handler], is_over: Callable[[], bool]) -> None:
        while True:
            busy = [self._serve_one(queue, handlers[function]) for queue, function in FUNCTIONS_BY_QUEUE.items()]
            if not any(busy):
                if is_over():
                    return
                time.sleep(0.05)

    def _serve_one(self, queue: str, handler: Handler) -> bool:
        url = self.urls[queue]
        with self._receiving:
            found = self.client.receive_message(
                QueueUrl=url, MaxNumberOfMessages=1, AttributeNames=["All"], VisibilityTimeout=90
            ).get("Messages", [])
        if not found:
            return False
        answer = handler({"Records": [_record(message) for message in found]}, Invocation(60))
        failed = {item["itemIdentifier"] for item in answer["batchItemFailures"]}
        for message in found:
            if message["MessageId"] not in failed:
                self.client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        self.invocations += 1
        self.redeliveries += len(failed)
        return True


def deploy_in_process(cluster: Cluster, database_name: str, monkeypatch: pytest.MonkeyPatch) -> InProcessDeployment:
    """Queues, secrets and variables as the template gives them; inside `mock_aws`."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = boto3.client("sqs")
    urls = queues.create_queues(client, "trouble")
    where = cluster.connection_parameters(database_name, APP_ROLE)
    secrets: dict[str, JsonObject] = {
        "database": {"username": APP_ROLE, "password": APP_PASSWORD, "host": where["host"], "dbname": database_name},
        "model": {"anthropic_api_key": ""},
        "webhook": {"gupshup_tokens": [TOKEN], "whatsapp_app_secrets": [], "whatsapp_verify_tokens": []},
        "token": {},
    }
    for name, value in secrets.items():
        boto3.client("secretsmanager").create_secret(Name=name, SecretString=json.dumps(value))
        monkeypatch.setenv(f"{name.upper()}_SECRET", name)
    for name, url in urls.items():
        monkeypatch.setenv(queues.environment_variable(name), url)
    monkeypatch.setenv("EMBEDDING_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("MEDIA_BUCKET", "media")
    build_inbound.cache_clear()
    opened: list[Database] = []

    class Opened(Database):
        def __init__(self, connect: OpenConnection) -> None:
            super().__init__(connect)
            opened.append(self)

    monkeypatch.setattr("parlour.bootstrap.database.Database", Opened)
    deployment = InProcessDeployment(client, urls, opened)
    monkeypatch.setattr("parlour.jobs.batches.retry_delay_seconds", lambda _error, _receives: deployment.back_off)
    return deployment


def _fresh(function: str, change_visibility: ChangeVisibility) -> Handler:
    """The handler as a new sandbox has it: what it builds is its own."""
    path = ROOT / "functions" / function / "handler.py"
    spec = importlib.util.spec_from_file_location(f"{function}_handler", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    build = f"build_{function}"
    vars(module)[build] = functools.cache(vars(module)[build].__wrapped__)
    vars(module)["build_change_visibility"] = lambda: change_visibility
    handler: Handler = module.handler
    vars(module)[build]()  # clients are made here: boto3's default session is not for several threads at once
    return handler


def _record(message: Any) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "messageAttributes": {},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:any.fifo",
        "awsRegion": "us-east-1",
    }


def phone_numbers(count: int, start: int = 1) -> Sequence[int]:
    return range(start, start + count)
