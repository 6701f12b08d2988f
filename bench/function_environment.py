"""What a built function needs around it to answer for real: a database, queues and secrets, on this machine."""

import json
import logging
import shutil
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

from moto.server import ThreadedMotoServer

from local import emulator
from local.database import APP_ROLE, OWNER_ROLE, Cluster
from local.state import STATE_FOLDER

TOKEN = "development-token"
"""The webhook token that the sample events carry."""

_QUEUES = ("intake", "turns_messaging", "turns_web", "tools", "outbox", "ingest")
_UNORDERED = ("wakeups", "embedding", "pulse", "pulse_wakeups", "memory")
_PASSWORD = "surroundings"


@contextmanager
def surroundings(*, migrated: bool = True) -> Iterator[dict[str, str]]:
    """The environment to give a function, any of them; what it names runs until the end of the block."""
    with ExitStack() as running:
        folder = STATE_FOLDER / f"surroundings-{uuid.uuid4().hex[:8]}"
        folder.mkdir(parents=True)
        running.callback(shutil.rmtree, folder, ignore_errors=True)
        cluster = Cluster(folder / "postgres")
        running.callback(cluster.stop)
        cluster.create("parlour")
        if migrated:
            cluster.migrate("parlour", datetime.now(UTC), _PASSWORD)
        yield {**_amazon(running, cluster, folder.name), "ENVIRONMENT": "bench", "DATABASE_NAME": "parlour"}


def _amazon(running: ExitStack, cluster: Cluster, name: str) -> dict[str, str]:
    """Names begin with `name`: servers of one process share their state."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running.callback(server.stop)
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    return {
        **emulator.client_environment(endpoint),
        "EMBEDDING_URL": endpoint,
        "PUBLIC_URL": endpoint,
        "ALLOW_OPERATOR_KEY": "true",
        "FILE_READER_FUNCTION": f"{name}-file-reader",
        "MEDIA_BUCKET": _bucket(endpoint, f"{name}-media"),
        "FILES_BUCKET": _bucket(endpoint, f"{name}-files"),
        **_queues(endpoint, name),
        **_secrets(endpoint, cluster, name),
    }


def _queues(endpoint: str, prefix: str) -> dict[str, str]:
    client = emulator.client("sqs", endpoint)

    def fifo(name: str) -> str:
        return client.create_queue(QueueName=f"{prefix}-{name}.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]

    def standard(name: str) -> str:
        return client.create_queue(QueueName=f"{prefix}-{name}")["QueueUrl"]

    return {
        **{f"{name.upper()}_QUEUE_URL": fifo(name) for name in _QUEUES},
        **{f"{name.upper()}_DEAD_LETTERS_URL": fifo(f"{name}-dead") for name in _QUEUES},
        **{f"{name.upper()}_QUEUE_URL": standard(name) for name in _UNORDERED},
    }


def _bucket(endpoint: str, name: str) -> str:
    emulator.client("s3", endpoint).create_bucket(Bucket=name)
    return name


def _secrets(endpoint: str, cluster: Cluster, prefix: str) -> dict[str, str]:
    client = emulator.client("secretsmanager", endpoint)
    values = {
        "WEBHOOK_SECRET": json.dumps({"gupshup_tokens": [TOKEN]}),
        "EMBEDDING_SECRET": "{}",
        "MODEL_SECRET": json.dumps({"anthropic_api_key": ""}),
        "TOKEN_SECRET": "t" * 64,
        "OPERATOR_SECRET": "o" * 48,
        "DATABASE_SECRET": _login(cluster, APP_ROLE),
        "OWNER_SECRET": _login(cluster, OWNER_ROLE),
    }
    return {
        name: client.create_secret(Name=f"{prefix}-{name}", SecretString=value)["ARN"] for name, value in values.items()
    }


def _login(cluster: Cluster, role: str) -> str:
    known = cluster.connection_parameters("parlour", role, _PASSWORD)
    return json.dumps({"username": role, "password": _PASSWORD, "host": known["host"], "dbname": known["dbname"]})
