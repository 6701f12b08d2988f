"""The whole of Parlour on one machine, in one folder: what `make run`, `make demo` and the tests start.

Order matters: the database first, then the servers that functions will call, then the emulator with the
same template that runs on AWS, then what needs its addresses. Stopping goes the other way round.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from local import deployment, emulator, example, state
from local.database import APP, OWNER, Cluster
from local.deployment import Deployment
from local.interrupts import Interrupts
from local.problems import StackProblem
from local.processes import Processes
from local.progress import Progress
from local.servers import Server, options, serve
from local.state import Keys, Ports

EMBEDDING_MODEL, EMBEDDING_DIMENSIONS = "all-MiniLM-L6-v2", 384
"""What local/embeddings.py serves; said here as well, since loading it takes half a second."""

_DATABASE = "parlour"
_START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    """folder: where this stack keeps its state; anthropic_*: a real model, when there is a key."""

    folder: Path
    ports: Ports
    anthropic_key: str = ""
    anthropic_url: str = ""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a running stack is reached."""

    console: str
    api: str
    webhook: str
    whatsapp: str
    phone: str
    issuer: str
    office: str
    emulator: str


@dataclass(frozen=True, slots=True)
class Running:
    """A stack that is up. `cluster` and `keys` are for tests and tools on this machine."""

    addresses: Addresses
    keys: Keys
    cluster: Cluster
    processes: Processes
    folder: Path

    def watch(self) -> None:
        """Return never; StackProblem when one of the processes ends by itself, Stopped when somebody asks."""
        while (fallen := self.processes.fallen()) is None:
            time.sleep(0.5)
        raise StackProblem(f"{fallen.name} ended by itself: {fallen.last_words()} (all of it: {fallen.log})")


@contextmanager
def running(options: Options, progress: Progress, interrupts: Interrupts) -> Iterator[Running]:
    """Start everything; stop everything that was started at the end of the block, however it ends."""
    with state.only_one(options.folder), ExitStack() as started:
        state.check_space(options.folder)
        processes = Processes(options.folder, interrupts)
        if left := processes.sweep():
            progress.note(f"   swept up {left} processes that an earlier start left behind")
        options.ports.check()
        try:
            yield _Start(options, progress, interrupts, processes, started).everything()
        finally:
            interrupts.silence()
            with suppress(OSError):  # the terminal may be gone: that is no reason to leave anything running
                progress.note("   stopping")
            processes.stop()


class _Start:
    """One start, step by step; the database is put on `started` as soon as it is there, and stops last."""

    def __init__(
        self, options: Options, progress: Progress, interrupts: Interrupts, processes: Processes, started: ExitStack
    ) -> None:
        self._options = options
        self._folder = options.folder
        self._ports = options.ports
        self._progress = progress
        self._interrupts = interrupts
        self._processes = processes
        self._started = started
        self._keys = state.keys(options.folder)
        self._plain = {**state.plain_environment(), "PYTHONPATH": str(state.ROOT / "shared")}

    def everything(self) -> Running:
        """Returns when every part answers and the example pack is applied."""
        say = self._progress.detail
        with self._progress.step("database (PostgreSQL 16, pgvector)"):
            cluster = self._database()
        servers = [self._embeddings(), self._issuer(), self._office()]
        with self._progress.step("AWS emulator"):
            endpoint = emulator.start(self._processes, self._ports.emulator, self._folder)
        with self._progress.step("functions and layers (sam build)"):
            built = deployment.build(deployment.host_architecture(), say)
        with self._progress.step("deployment (sam deploy)"):
            deployed = deployment.deploy(endpoint, built, self._parameters(cluster), self._folder, say)
            self._store_provider_keys(endpoint)
        addresses = self._addresses(deployed)
        with self._progress.step("embeddings, sign-in, site office, phone, console"):
            self._await([*servers, self._phone(addresses), self._console(deployed, addresses)])
        with self._progress.step(f"example pack ({example.PACK.name})"):
            self._example(addresses)
        return Running(addresses, self._keys, cluster, self._processes, self._folder)

    def _database(self) -> Cluster:
        with self._interrupts.held():
            cluster = Cluster(self._folder / "postgres")
            self._started.callback(cluster.stop)
        if not cluster.exists(_DATABASE):
            cluster.create(_DATABASE)
        space = f"{EMBEDDING_MODEL}@{EMBEDDING_DIMENSIONS}"
        cluster.migrate(_DATABASE, datetime.now(UTC), self._keys.app_password, {space: EMBEDDING_DIMENSIONS})
        return cluster

    def _parameters(self, cluster: Cluster) -> dict[str, str]:
        """What the template is deployed with here and not in the cloud."""
        keys, options = self._keys, self._options
        return {
            "DatabaseSecretValue": _credentials(cluster, APP, keys.app_password),
            "OwnerSecretValue": _credentials(cluster, OWNER, keys.owner_password),
            "WebhookSecretValue": _webhook_secret(keys),
            "ModelSecretValue": json.dumps({"anthropic_api_key": options.anthropic_key}),
            "TokenSecretValue": keys.token_secret,
            "OperatorSecretValue": keys.operator_key,
            "GupshupBaseUrl": _here(self._ports.phone),
            "WhatsappBaseUrl": _here(self._ports.phone),
            "PrivateToolHosts": f"{example.TENANT}@{example.OFFICE}={_here(self._ports.office)}",
            "PublicUrl": _here(self._ports.console),
            "EmbeddingUrl": f"{_here(self._ports.embeddings)}/v1",
            "EmbeddingModel": EMBEDDING_MODEL,
            "EmbeddingDimensions": str(EMBEDDING_DIMENSIONS),
            "AnthropicBaseUrl": options.anthropic_url,
            "OidcIssuers": _here(self._ports.issuer),
        }

    def _store_provider_keys(self, endpoint: str) -> None:
        """The example tenant's own secrets, by the names that its pack refers to them by."""
        client = emulator.client("secretsmanager", endpoint)
        for name in example.SECRETS:
            try:
                client.create_secret(Name=name, SecretString=self._keys.provider_key)
            except client.exceptions.ResourceExistsException:
                client.put_secret_value(SecretId=name, SecretString=self._keys.provider_key)

    def _addresses(self, deployed: Deployment) -> Addresses:
        return Addresses(
            console=_here(self._ports.console),
            api=deployed.api_url,
            webhook=f"{deployed.api_url}/webhooks/gupshup/{self._keys.webhook_token}",
            whatsapp=f"{deployed.api_url}/webhooks/whatsapp",
            phone=_here(self._ports.phone),
            issuer=_here(self._ports.issuer),
            office=_here(self._ports.office),
            emulator=deployed.endpoint,
        )

    def _embeddings(self) -> Server:
        return serve(self._processes, "embeddings", self._ports.embeddings, "/v1/models", environment=self._plain)

    def _issuer(self) -> Server:
        key = ("--key", str(self._folder / "issuer.pem"))
        return serve(self._processes, "issuer", self._ports.issuer, "/jwks.json", *key, environment=self._plain)

    def _office(self) -> Server:
        return serve(self._processes, "office", self._ports.office, "/done", environment=self._plain)

    def _phone(self, addresses: Addresses) -> Server:
        arguments = {
            "--callback": addresses.webhook,
            "--whatsapp-callback": addresses.whatsapp,
            "--whatsapp-secret": self._keys.whatsapp_app_secret,
        }
        given = options(arguments)
        return serve(self._processes, "phone", self._ports.phone, "/messages", *given, environment=self._plain)

    def _console(self, deployed: Deployment, addresses: Addresses) -> Server:
        """In the environment that the template gave the function, and as somebody the emulator lets in."""
        function = emulator.client("lambda", deployed.endpoint).get_function_configuration(
            FunctionName=deployed.outputs["HttpApiFunctionName"]
        )
        given = function["Environment"]["Variables"]
        environment = {**self._plain, **emulator.environment(deployed.endpoint), **given}
        arguments = {
            "--webhook": addresses.webhook,
            "--phone": addresses.phone,
            "--tenant": example.TENANT,
            "--contact": example.CONTACT,
            "--issuer": addresses.issuer,
            "--issuer-key": str(self._folder / "issuer.pem"),
            "--subject": example.DEVELOPER,
        }
        named = options(arguments)
        return serve(self._processes, "console", self._ports.console, "/v1/health", *named, environment=environment)

    def _await(self, servers: Sequence[Server]) -> None:
        for server in servers:
            self._processes.wait_for(server.child, server.ready, _START_SECONDS)

    def _example(self, addresses: Addresses) -> None:
        example.apply(addresses.console, self._keys.operator_key)
        example.enrol(addresses.console, self._keys.operator_key, addresses.issuer)
        example.sign_in_command(self._folder, addresses.console, self._keys.operator_key)


def _credentials(cluster: Cluster, role: str, password: str) -> str:
    parameters = cluster.parameters(_DATABASE, role, password)
    return json.dumps(
        {"username": role, "password": password, "host": parameters["host"], "dbname": parameters["dbname"]}
    )


def _webhook_secret(keys: Keys) -> str:
    return json.dumps(
        {
            "gupshup_tokens": [keys.webhook_token],
            "whatsapp_app_secrets": [keys.whatsapp_app_secret],
            "whatsapp_verify_tokens": [keys.whatsapp_verify_token],
        }
    )


def _here(port: int) -> str:
    return f"http://127.0.0.1:{port}"
