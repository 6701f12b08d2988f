"""The real parts that chaos is made with: PostgreSQL, the emulator's queues and secrets, a phone, an office, a model.

Nothing is deployed: the handlers run in forked workers, with the environment that the template would give them.
"""

import json
import os
import re
import shutil
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import psycopg
from aiosmtpd.controller import Controller

from local import emulator, queues
from local.database import APP_ROLE, Cluster
from local.event_source import EventSource, EventSourceMapping
from local.gupshup_webhooks import button_reply, text_message
from local.interrupts import StopSignals
from local.processes import ProcessGroup
from local.scripted_model import Script, ScriptedModel
from local.servers import start_server
from local.state import STATE_FOLDER, free_ports, minimal_environment
from local.workers import WorkerPool
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, connector
from parlour.packs.apply import apply
from parlour.tenancy import roles
from tests.chaos.api_gateway import ApiGateway, proxy_event
from tests.chaos.chaos_pack import OFFICE_HOST, PACK_SECRETS, build_chaos_pack

WEBHOOK_TOKEN = "chaos-webhook-token"
APP_SECRET = "chaos-app-secret-0000"
OPERATOR_KEY = "o" * 48
_PASSWORD = "chaos"
_SIGNATURE_PATTERN = re.compile(r"\br\d{12}\b")
_START_SECONDS = 30.0

EVENT_SOURCE_MAPPINGS = (
    EventSourceMapping("intake", "IntakeQueue", "receiver", timeout_seconds=8, visibility_seconds=10),
    EventSourceMapping("turns", "TurnsMessagingQueue", "orchestrator", timeout_seconds=15, visibility_seconds=17),
    EventSourceMapping("web", "TurnsWebQueue", "orchestrator", timeout_seconds=15, visibility_seconds=17),
    EventSourceMapping("outbox", "OutboxQueue", "outbound", timeout_seconds=26, visibility_seconds=28),
    EventSourceMapping("tools", "ToolsQueue", "tool_dispatcher", timeout_seconds=26, visibility_seconds=28),
    EventSourceMapping("wakeups", "WakeupsQueue", "sweep", timeout_seconds=10, visibility_seconds=12),
)
"""The template's mappings, with shorter limits, so that a lease ends while one waits for it. One message at a time,
so that one kill is one message's."""


_MAX_CONNECTIONS = 400
"""Each worker keeps one or two, those of a trial that is over too, and fifty turns at once have a worker for every
step."""

_TOOLS_BY_SUBJECT = {"Survey": "order_survey", "Crane": "order_crane", "Hoist": "order_hoist"}

_TENANTS_WITH_OFFICE = (
    "cap",
    "cap-probe",
    "cloud",
    "cut",
    "cut-control",
    "down",
    "gupshup",
    "interrupts",
    "killed",
    "killed-probe",
    "kills",
    "meanwhile",
    "people",
    "poison",
    "redrive",
    "reduced",
    "reduced-people",
    "sequence",
    "sequence-probe",
    "stalled0",
    "stalled1",
    "steers",
)
"""The trials' tenants: each may reach the office on this machine, which is a private address, and nobody else may."""


@dataclass(frozen=True, slots=True)
class ChaosTenant:
    """A tenant with the example's site desk; `app` is what its WhatsApp number is called at the provider."""

    tenant_id: UUID
    slug: str
    whatsapp_app: str


@dataclass(frozen=True, slots=True)
class SimulatedServers:
    """Where the outside is played, as base addresses."""

    phone: str
    office: str
    gateway: str


class Mailbox:
    """An SMTP server, and the mails that it took."""

    def __init__(self) -> None:
        self.mails: list[Message] = []
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self._controller = Controller(self, hostname="127.0.0.1", port=port)

    def start(self) -> str:
        """Listen, and return the server's address."""
        self._controller.start()
        return f"smtp://127.0.0.1:{self._controller.port}"

    def stop(self) -> None:
        self._controller.stop()

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd's name
        self.mails.append(message_from_bytes(envelope.content))
        return "250 OK"


class ChaosEnvironment:
    """Everything that runs, and what one may do with it from outside."""

    def __init__(
        self,
        cluster: Cluster,
        endpoint: str,
        servers: SimulatedServers,
        model: ScriptedModel,
        workers: WorkerPool,
        urls: Mapping[str, str],
        mailbox: Mailbox,
    ) -> None:
        self.cluster = cluster
        self.mailbox = mailbox
        self.servers = servers
        self.model = model
        self.workers = workers
        self.sqs = emulator.client("sqs", endpoint)
        self._secrets = emulator.client("secretsmanager", endpoint)
        self.event_sources = [
            EventSource(self.sqs, replace(source, url=urls[source.url])) for source in EVENT_SOURCE_MAPPINGS
        ]
        self.dead_letter_queues = {
            name: EventSource(self.sqs, EventSourceMapping(name, url, "", 0, 0))
            for name, url in urls.items()
            if name.endswith("DeadLetters")
        }
        self._reading = threading.Lock()
        self._superuser = cluster.connect_as_superuser("parlour")
        self._numbers = iter(range(447_700_100_000, 447_700_999_999))

    def close(self) -> None:
        """Let go of the database and the emulator."""
        self._superuser.close()
        self.sqs.close()
        self._secrets.close()

    @property
    def server_names(self) -> dict[str, str]:
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
                self._superuser = self.cluster.connect_as_superuser("parlour")
                return self._superuser.execute(query.encode(), parameters).fetchall()

    def value(self, query: str, *parameters: object) -> Any:
        """The first column of the first row; None when there is no row."""
        return next((row[0] for row in self.rows(query, *parameters)), None)

    @contextmanager
    def database(self) -> Iterator[Database]:
        """The database as the app role has it, under row-level security."""
        opened = Database(connector(self.cluster.connection_parameters("parlour", APP_ROLE, _PASSWORD)))
        try:
            yield opened
        finally:
            opened.close()

    def create_tenant(self, slug: str, *, cloud: bool = False, **pack_options: Any) -> ChaosTenant:
        """A new tenant with the chaos pack; its number is at Gupshup, or at Meta. The rest as `build_chaos_pack`."""
        app = f"1000{len(slug)}000" if cloud else f"Chaos-{slug}"
        desk = ChaosTenant(uuid7(datetime.now(UTC)), slug, app)
        for name in PACK_SECRETS:
            self._secrets.create_secret(Name=f"parlour/parlour/tenants/{slug}/{name}", SecretString="not-a-secret" * 3)
        with self.database() as database:
            apply(
                roles.operator_principal(desk.tenant_id),
                database,
                ConstantEmbedder(),
                build_chaos_pack(slug, desk.whatsapp_app, cloud=cloud, **pack_options),
                datetime.now(UTC),
            )
        return desk

    def new_phone_number(self) -> str:
        """A telephone number that nobody has used here."""
        return f"+{next(self._numbers)}"

    def webhook_payload(
        self, desk: ChaosTenant, number: str, text: str, message_id: str, button_id: str = ""
    ) -> JsonObject:
        """What the provider's webhook says when somebody writes, or presses the button of that id."""
        app, now = desk.whatsapp_app, datetime.now(UTC)
        if button_id:
            return button_reply(
                app=app,
                sender=number,
                name="Chaos",
                title=text,
                button_id=button_id,
                message_id=message_id,
                now=now,
            )
        return text_message(app=app, sender=number, name="Chaos", text=text, message_id=message_id, now=now)

    def texts_by_phone(self) -> dict[str, list[str]]:
        """The texts that phones have received, by number."""
        found: dict[str, list[str]] = {}
        for message in httpx2.get(f"{self.servers.phone}/messages", timeout=10).json()["messages"]:
            found.setdefault(message["to"], []).append(message["text"])
        return found

    def effect_counts(self) -> dict[tuple[str, str], int]:
        """How often the office has done something, by tool and signature."""
        done = self._done_at_office()
        found: Counter[tuple[str, str]] = Counter()
        for kept in done["notifications"]:
            found["notify_foreman", _find_signature(kept)] += 1
        for kept in done["rfis"]:
            found[_find_tool(kept["subject"]), _find_signature(kept)] += 1
        return found

    def notification_counts(self) -> Counter[str]:
        """How many mails, and webhooks, have come by the id of their notification."""
        ids = [str(mail["Message-ID"]).strip("<>").partition("@")[0] for mail in self.mailbox.mails]
        return Counter([*ids, *(kept["key"] for kept in self._done_at_office()["notifications"])])

    def _done_at_office(self) -> dict[str, list[dict[str, Any]]]:
        done: dict[str, list[dict[str, Any]]] = httpx2.get(f"{self.servers.office}/done", timeout=10).json()
        return done

    def dead_letters(self) -> dict[str, int]:
        """How many messages lie in each dead-letter queue that is not empty."""
        counts = {name: queue.count_messages() for name, queue in self.dead_letter_queues.items()}
        return {name: count for name, count in counts.items() if count}


def _find_tool(subject: str) -> str:
    """Which of the tools that leave a request for information left this one."""
    return next((tool for word, tool in _TOOLS_BY_SUBJECT.items() if subject.startswith(word)), "raise_rfi")


def _find_signature(kept: JsonObject) -> str:
    """Whose conversation something was done for."""
    found = _SIGNATURE_PATTERN.search(json.dumps(kept))
    return found[0] if found else ""


class ConstantEmbedder:
    """An embedder for packs without texts: every text is at the same place."""

    model = "nowhere"
    dimensions = 8

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        return [[1.0] * self.dimensions for _ in texts]


def webhook_event(payload: JsonObject) -> dict[str, Any]:
    """Gupshup's POST as API Gateway hands it to the inbound function."""
    headers = {"Content-Type": "application/json"}
    return proxy_event("POST", f"/webhooks/gupshup/{WEBHOOK_TOKEN}", headers, json.dumps(payload))


@contextmanager
def open_chaos_environment(
    scripts: Mapping[str, Script], *, offline: bool = False, extra_variables: Mapping[str, str] | None = None
) -> Iterator[ChaosEnvironment]:
    """Everything started, in a folder and on ports of its own; taken down at the end.

    offline   the offline model answers instead of the scripts.
    given     variables that the functions have besides, or instead.
    """
    folder = STATE_FOLDER / f"chaos-{os.getpid()}"
    with ExitStack() as running:
        interrupts = running.enter_context(StopSignals())
        folder.mkdir(parents=True)
        running.callback(_clean_up, folder)
        cluster = Cluster(folder / "postgres")
        running.callback(cluster.stop)
        cluster.set_max_connections(_MAX_CONNECTIONS)
        cluster.create("parlour")
        cluster.migrate("parlour", datetime.now(UTC), _PASSWORD)
        processes = ProcessGroup(folder, interrupts)
        running.callback(processes.stop)
        ports = free_ports()
        endpoint = emulator.start(processes, ports.emulator, folder)
        gateway = ApiGateway()
        running.callback(gateway.close)
        servers = _start_servers(processes, ports.phone, ports.console, gateway.url)
        model = ScriptedModel(scripts)
        running.callback(model.close)
        urls = queues.create_queues(emulator.client("sqs", endpoint), "chaos")
        environment = _function_environment(cluster, endpoint, servers, model, urls, "" if offline else "chaos")
        environment |= extra_variables or {}
        mailbox = Mailbox()
        smtp_url = mailbox.start()
        running.callback(mailbox.stop)
        environment |= {"MAIL_FROM": "parlour@chaos.example", "SMTP_URL": smtp_url}
        workers = gateway.workers = WorkerPool(environment, folder / "logs")
        running.callback(workers.stop)
        opened = ChaosEnvironment(cluster, endpoint, servers, model, workers, urls, mailbox)
        running.callback(opened.close)
        yield opened


def _start_servers(processes: ProcessGroup, phone: int, office: int, gateway: str) -> SimulatedServers:
    """Meta reports what became of a message; Gupshup keeps silent, so that an operator has something to do."""
    environment = minimal_environment()
    reporting = ("--whatsapp-callback", f"{gateway}/webhooks/whatsapp", "--whatsapp-secret", APP_SECRET)
    started = [
        start_server(processes, "phone", phone, "/messages", *reporting, environment=environment),
        start_server(processes, "office", office, "/done", environment=environment),
    ]
    for server in started:
        processes.wait_until_ready(server.child, server.is_ready, _START_SECONDS)
    return SimulatedServers(f"http://127.0.0.1:{phone}", f"http://127.0.0.1:{office}", gateway)


def _function_environment(
    cluster: Cluster, endpoint: str, servers: SimulatedServers, model: ScriptedModel, urls: Mapping[str, str], key: str
) -> dict[str, str]:
    """What the template gives its functions: one environment for all of them."""
    s3 = emulator.client("s3", endpoint)
    for bucket in ("chaos-media", "chaos-files"):
        s3.create_bucket(Bucket=bucket)
    return {
        **minimal_environment(),
        **emulator.client_environment(endpoint),
        **{queues.environment_variable(resource): url for resource, url in urls.items()},
        **_create_secrets(cluster, endpoint, key),
        "ENVIRONMENT": "chaos",
        "TZ": "UTC",
        "MEDIA_BUCKET": "chaos-media",
        "FILES_BUCKET": "chaos-files",
        "GUPSHUP_BASE_URL": servers.phone,
        "WHATSAPP_BASE_URL": servers.phone,
        "ANTHROPIC_BASE_URL": model.url,
        "EMBEDDING_URL": f"{model.url}/v1",
        "EMBEDDING_MODEL": ConstantEmbedder.model,
        "EMBEDDING_DIMENSIONS": str(ConstantEmbedder.dimensions),
        "PRIVATE_TOOL_HOSTS": ",".join(f"{slug}@{OFFICE_HOST}={servers.office}" for slug in _TENANTS_WITH_OFFICE),
        "PUBLIC_URL": servers.gateway,
        "AWS_ENDPOINT_URL_LAMBDA": servers.gateway,
        "FILE_READER_FUNCTION": "file_reader",
        "UNBOUND_WEBHOOK_SECRETS": "allow",
        "ALLOW_OPERATOR_KEY": "true",
        "DAILY_CAP_USD": "100000",
        "MAX_TENANT_TURNS": "1000",  # killed workers count for as long as their invocation could have lasted
    }


def _create_secrets(cluster: Cluster, endpoint: str, key: str) -> dict[str, str]:
    client = emulator.client("secretsmanager", endpoint)
    known = cluster.connection_parameters("parlour", APP_ROLE, _PASSWORD)
    login = {"username": APP_ROLE, "password": _PASSWORD, "host": known["host"], "dbname": "parlour"}
    whatsapp = {"whatsapp_app_secrets": [APP_SECRET], "whatsapp_verify_tokens": ["chaos-verify-token-00"]}
    values = {
        "DATABASE_SECRET": json.dumps(login),
        "WEBHOOK_SECRET": json.dumps({"gupshup_tokens": [WEBHOOK_TOKEN], **whatsapp}),
        "MODEL_SECRET": json.dumps({"anthropic_api_key": key}),
        "TOKEN_SECRET": "t" * 64,
        "OPERATOR_SECRET": OPERATOR_KEY,
    }
    return {
        name: client.create_secret(Name=f"chaos-{name.lower()}", SecretString=value)["ARN"]
        for name, value in values.items()
    }


def _clean_up(folder: Path) -> None:
    """The last run's logs stay, for whoever asks why a row broke."""
    kept = STATE_FOLDER / "logs" / "chaos"
    shutil.rmtree(kept, ignore_errors=True)
    if (folder / "logs").exists():
        shutil.copytree(folder / "logs", kept)
    shutil.rmtree(folder, ignore_errors=True)
