"""The real parts that chaos is made with: PostgreSQL, the emulator's queues and secrets, a phone, an office, a model.

Nothing is deployed: the handlers run in forked workers, with the environment that the template would give them.
"""

import json
import os
import re
import shutil
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import psycopg

from local import emulator, queues
from local.chaos.desk import OFFICE, PACK_SECRETS, pack
from local.chaos.gateway import Gateway, event
from local.database import APP, Cluster
from local.event_source import EventSource, Source
from local.gupshup import text_message
from local.interrupts import Interrupts
from local.processes import Processes
from local.scripted_model import Script, ScriptedModel
from local.servers import serve
from local.state import FOLDER, free_ports, plain_environment
from local.workers import Workers
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Database, connector
from parlour.packs.apply import apply
from parlour.tenancy import roles

TOKEN = "chaos-webhook-token"
APP_SECRET = "chaos-app-secret-0000"
OPERATOR = "o" * 48
_PASSWORD = "chaos"
_SIGNATURE = re.compile(r"\br\d{12}\b")
_START_SECONDS = 30.0

SOURCES = (
    Source("intake", "IntakeQueue", "receiver", seconds=8, visibility=10),
    Source("turns", "TurnsMessagingQueue", "orchestrator", seconds=15, visibility=17),
    Source("web", "TurnsWebQueue", "orchestrator", seconds=15, visibility=17),
    Source("outbox", "OutboxQueue", "outbound", seconds=10, visibility=12),
    Source("tools", "ToolsQueue", "tool_dispatcher", seconds=26, visibility=28),
    Source("wakeups", "WakeupsQueue", "sweep", seconds=10, visibility=12),
)
"""The template's mappings, with shorter limits, so that a lease ends while one waits for it. One message at a time,
so that one kill is one message's."""


_CONNECTIONS = 400
"""Each worker keeps one or two, those of a trial that is over too, and fifty turns at once have a worker for every
step."""

_AT_THE_OFFICE = (
    "cap", "cap-probe", "cloud", "cut", "cut-control", "down", "gupshup", "killed", "killed-probe", "kills", "poison",
    "redrive", "reduced", "sequence", "sequence-probe", "stalled0", "stalled1",
)  # fmt: skip
"""The trials' tenants: each may reach the office on this machine, which is a private address, and nobody else may."""


@dataclass(frozen=True, slots=True)
class Desk:
    """A tenant with the example's site desk; `app` is what its WhatsApp number is called at the provider."""

    tenant_id: UUID
    slug: str
    app: str


@dataclass(frozen=True, slots=True)
class Servers:
    """Where the outside is played, as base addresses."""

    phone: str
    office: str
    gateway: str


class World:
    """Everything that runs, and what one may do with it from outside."""

    def __init__(
        self,
        cluster: Cluster,
        endpoint: str,
        servers: Servers,
        model: ScriptedModel,
        workers: Workers,
        urls: Mapping[str, str],
    ) -> None:
        self.cluster = cluster
        self.servers = servers
        self.model = model
        self.workers = workers
        self.sqs = emulator.client("sqs", endpoint)
        self._secrets = emulator.client("secretsmanager", endpoint)
        self.sources = [EventSource(self.sqs, replace(source, url=urls[source.url])) for source in SOURCES]
        self.dead = {
            name: EventSource(self.sqs, Source(name, url, "", 0, 0))
            for name, url in urls.items()
            if name.endswith("DeadLetters")
        }
        self._reading = threading.Lock()
        self._superuser = cluster.superuser("parlour")
        self._numbers = iter(range(447_700_100_000, 447_700_999_999))

    def close(self) -> None:
        """Let go of the database and the emulator."""
        self._superuser.close()
        self.sqs.close()
        self._secrets.close()

    @property
    def places(self) -> dict[str, str]:
        """What the servers are called, by host and port."""
        urls = {"phone": self.servers.phone, "office": self.servers.office, "model": self.model.url}
        return {url.removeprefix("http://"): name for name, url in urls.items()}

    def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Rows of the database, past row-level security."""
        with self._reading:
            try:
                return self._superuser.execute(query.encode(), parameters).fetchall()
            except psycopg.OperationalError:  # the trial killed it, or the whole database
                self._superuser.close()
                self._superuser = self.cluster.superuser("parlour")
                return self._superuser.execute(query.encode(), parameters).fetchall()

    def value(self, query: str, *parameters: object) -> Any:
        """The first column of the first row; None when there is no row."""
        return next((row[0] for row in self.rows(query, *parameters)), None)

    @contextmanager
    def database(self) -> Iterator[Database]:
        """The database as the app role has it, under row-level security."""
        opened = Database(connector(self.cluster.parameters("parlour", APP, _PASSWORD)))
        try:
            yield opened
        finally:
            opened.close()

    def open_desk(self, slug: str, *, cloud: bool = False, whole: bool = False) -> Desk:
        """A new tenant with the chaos pack, or the `whole` example; its number is at Gupshup, or at Meta."""
        app = f"1000{len(slug)}000" if cloud else f"Chaos-{slug}"
        desk = Desk(uuid7(datetime.now(UTC)), slug, app)
        for name in PACK_SECRETS:
            self._secrets.create_secret(Name=f"parlour/tenants/{slug}/{name}", SecretString="not-a-secret")
        with self.database() as database:
            apply(
                roles.operator(desk.tenant_id), database, Nowhere(), pack(slug, desk.app, cloud=cloud, whole=whole),
                datetime.now(UTC), uuid7,
            )  # fmt: skip
        return desk

    def number(self) -> str:
        """A telephone number that nobody has used here."""
        return f"+{next(self._numbers)}"

    def message(self, desk: Desk, number: str, text: str, message_id: str) -> JsonObject:
        """What the provider's webhook says when somebody writes."""
        return text_message(
            app=desk.app, sender=number, name="Chaos", text=text, message_id=message_id, now=datetime.now(UTC)
        )

    def received(self) -> dict[str, list[str]]:
        """The texts that phones have received, by number."""
        found: dict[str, list[str]] = {}
        for message in httpx2.get(f"{self.servers.phone}/messages", timeout=10).json()["messages"]:
            found.setdefault(message["to"], []).append(message["text"])
        return found

    def effects(self) -> dict[tuple[str, str], int]:
        """How often the office has done something, by tool and signature."""
        done = httpx2.get(f"{self.servers.office}/done", timeout=10).json()
        found: Counter[tuple[str, str]] = Counter()
        for kept in done["notifications"]:
            found["notify_foreman", _signature(kept)] += 1
        for kept in done["rfis"]:
            found["order_survey" if kept["subject"].startswith("Survey") else "raise_rfi", _signature(kept)] += 1
        return found

    def dead_letters(self) -> dict[str, int]:
        """How many messages lie in each dead-letter queue that is not empty."""
        counts = {name: queue.held() for name, queue in self.dead.items()}
        return {name: count for name, count in counts.items() if count}


def _signature(kept: JsonObject) -> str:
    """Whose conversation something was done for."""
    found = _SIGNATURE.search(json.dumps(kept))
    return found[0] if found else ""


class Nowhere:
    """An embedder for packs without texts: every text is at the same place."""

    model = "nowhere"
    dimensions = 8

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        return [[1.0] * self.dimensions for _ in texts]


def webhook(payload: JsonObject) -> dict[str, Any]:
    """Gupshup's POST as API Gateway hands it to the inbound function."""
    headers = {"Content-Type": "application/json"}
    return event("POST", f"/webhooks/gupshup/{TOKEN}", headers, json.dumps(payload))


@contextmanager
def world(
    scripts: Mapping[str, Script], *, offline: bool = False, given: Mapping[str, str] | None = None
) -> Iterator[World]:
    """Everything started, in a folder and on ports of its own; taken down at the end.

    offline   the offline model answers instead of the scripts.
    given     variables that the functions have besides, or instead.
    """
    folder = FOLDER / f"chaos-{os.getpid()}"
    with ExitStack() as running:
        interrupts = running.enter_context(Interrupts())
        folder.mkdir(parents=True)
        running.callback(_tidy, folder)
        cluster = Cluster(folder / "postgres")
        running.callback(cluster.stop)
        cluster.allow(_CONNECTIONS)
        cluster.create("parlour")
        cluster.migrate("parlour", datetime.now(UTC), _PASSWORD)
        processes = Processes(folder, interrupts)
        running.callback(processes.stop)
        ports = free_ports()
        endpoint = emulator.start(processes, ports.emulator, folder)
        gateway = Gateway()
        running.callback(gateway.close)
        servers = _servers(processes, ports.phone, ports.console, gateway.url)
        model = ScriptedModel(scripts)
        running.callback(model.close)
        urls = queues.create(emulator.client("sqs", endpoint), "chaos")
        environment = _environment(cluster, endpoint, servers, model, urls, "" if offline else "chaos")
        environment |= given or {}
        workers = gateway.workers = Workers(environment, folder / "logs")
        running.callback(workers.stop)
        opened = World(cluster, endpoint, servers, model, workers, urls)
        running.callback(opened.close)
        yield opened


def _servers(processes: Processes, phone: int, office: int, gateway: str) -> Servers:
    """Meta reports what became of a message; Gupshup keeps silent, so that an operator has something to do."""
    environment = plain_environment()
    reporting = ("--whatsapp-callback", f"{gateway}/webhooks/whatsapp", "--whatsapp-secret", APP_SECRET)
    started = [
        serve(processes, "phone", phone, "/messages", *reporting, environment=environment),
        serve(processes, "office", office, "/done", environment=environment),
    ]
    for server in started:
        processes.wait_for(server.child, server.ready, _START_SECONDS)
    return Servers(f"http://127.0.0.1:{phone}", f"http://127.0.0.1:{office}", gateway)


def _environment(
    cluster: Cluster, endpoint: str, servers: Servers, model: ScriptedModel, urls: Mapping[str, str], key: str
) -> dict[str, str]:
    """What the template gives its functions: one environment for all of them."""
    s3 = emulator.client("s3", endpoint)
    for bucket in ("chaos-media", "chaos-files"):
        s3.create_bucket(Bucket=bucket)
    return {
        **plain_environment(),
        **emulator.environment(endpoint),
        **{queues.variable(resource): url for resource, url in urls.items()},
        **_secrets(cluster, endpoint, key),
        "ENVIRONMENT": "chaos",
        "TZ": "UTC",
        "MEDIA_BUCKET": "chaos-media",
        "FILES_BUCKET": "chaos-files",
        "GUPSHUP_BASE_URL": servers.phone,
        "WHATSAPP_BASE_URL": servers.phone,
        "ANTHROPIC_BASE_URL": model.url,
        "EMBEDDING_URL": f"{model.url}/v1",
        "EMBEDDING_MODEL": Nowhere.model,
        "EMBEDDING_DIMENSIONS": str(Nowhere.dimensions),
        "PRIVATE_TOOL_HOSTS": ",".join(f"{slug}@{OFFICE}={servers.office}" for slug in _AT_THE_OFFICE),
        "PUBLIC_URL": servers.gateway,
        "DAILY_CAP_USD": "100000",
    }


def _secrets(cluster: Cluster, endpoint: str, key: str) -> dict[str, str]:
    client = emulator.client("secretsmanager", endpoint)
    known = cluster.parameters("parlour", APP, _PASSWORD)
    login = {"username": APP, "password": _PASSWORD, "host": known["host"], "dbname": "parlour"}
    whatsapp = {"whatsapp_app_secrets": [APP_SECRET], "whatsapp_verify_tokens": ["chaos-verify-token-00"]}
    values = {
        "DATABASE_SECRET": json.dumps(login),
        "WEBHOOK_SECRET": json.dumps({"gupshup_tokens": [TOKEN], **whatsapp}),
        "MODEL_SECRET": json.dumps({"anthropic_api_key": key}),
        "TOKEN_SECRET": "t" * 64,
        "OPERATOR_SECRET": OPERATOR,
    }
    return {
        name: client.create_secret(Name=f"chaos-{name.lower()}", SecretString=value)["ARN"]
        for name, value in values.items()
    }


def _tidy(folder: Path) -> None:
    """The last run's logs stay, for whoever asks why a row broke."""
    kept = FOLDER / "logs" / "chaos"
    shutil.rmtree(kept, ignore_errors=True)
    if (folder / "logs").exists():
        shutil.copytree(folder / "logs", kept)
    shutil.rmtree(folder, ignore_errors=True)
