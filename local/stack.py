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

from local import deployment, emulator, example_tenant, laptop_packs, state
from local.database import APP_ROLE, OWNER_ROLE, Cluster
from local.deployment import STACK_NAME, Deployment
from local.errors import StackError
from local.interrupts import StopSignals
from local.laptop_packs import LaptopPack
from local.processes import ProcessGroup
from local.progress import Progress
from local.servers import Server, command_line_options, start_mail_server, start_server
from local.state import Ports, StackKeys
from parlour.infra.errors import ParlourError
from parlour.infra.secrets import SecretsManager
from parlour.packs.function_deployment import DeployedStack, deploy_functions
from parlour.packs.function_tools import has_functions
from parlour.tools.addresses import EVERY_TENANT

EMBEDDING_MODEL, EMBEDDING_DIMENSIONS = "all-MiniLM-L6-v2", 384
"""What local/embeddings.py serves; said here as well, since loading it takes half a second."""

_DATABASE = "parlour"
_START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class StackOptions:
    """What a stack is started with.

    folder       where it keeps its state.
    anthropic_*  a real model, when there is a key.
    pack         a pack of the developer's own, applied beside the example; the console opens with its tenant.
    is_demo      without a key, play the scenes of packs that have some; the pager then loses the answer to its first
                 page.
    """

    folder: Path
    ports: Ports
    anthropic_key: str = ""
    anthropic_url: str = ""
    pack: LaptopPack | None = None
    is_demo: bool = False

    @property
    def model(self) -> str:
        """Return who answers: live, demo or offline."""
        if self.anthropic_key:
            return "live"
        return "demo" if self.is_demo else "offline"


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
class RunningStack:
    """A stack that is up. `cluster` and `keys` are for tests and tools on this machine."""

    addresses: Addresses
    keys: StackKeys
    cluster: Cluster
    processes: ProcessGroup
    folder: Path

    def wait_for_failure(self) -> None:
        """Return never; StackProblem when one of the processes ends by itself, Stopped when somebody asks."""
        while (fallen := self.processes.find_ended()) is None:
            time.sleep(0.5)
        raise StackError(f"{fallen.name} stopped unexpectedly: {fallen.last_log_lines()} (full log: {fallen.log})")


@contextmanager
def run_stack(options: StackOptions, progress: Progress, interrupts: StopSignals) -> Iterator[RunningStack]:
    """Start everything; stop everything that was started at the end of the block, however it ends."""
    with state.lock_folder(options.folder), ExitStack() as started:
        state.check_disk_space(options.folder)
        processes = ProcessGroup(options.folder, interrupts)
        if left := processes.stop_leftovers():
            progress.print_line(f"   stopped {left} processes left over from an earlier start")
        options.ports.check_free()
        try:
            yield _StackStart(options, progress, interrupts, processes, started).start_all()
        finally:
            interrupts.ignore()
            with suppress(OSError):  # the terminal may be gone: that is no reason to leave anything running
                progress.print_line("   stopping")
            processes.stop()


class _StackStart:
    """One start, step by step; the database is put on `started` as soon as it is there, and stops last."""

    def __init__(
        self,
        options: StackOptions,
        progress: Progress,
        interrupts: StopSignals,
        processes: ProcessGroup,
        started: ExitStack,
    ) -> None:
        self._options = options
        self._folder = options.folder
        self._ports = options.ports
        self._progress = progress
        self._interrupts = interrupts
        self._processes = processes
        self._started = started
        self._keys = state.load_keys(options.folder)
        self._packs = _list_packs(options.pack)
        self._plain = {**state.minimal_environment(), "PYTHONPATH": str(state.ROOT / "shared")}

    def start_all(self) -> RunningStack:
        """Returns when every part answers and the packs are applied."""
        say = self._progress.print_detail
        with self._progress.step("database (PostgreSQL 16, pgvector)"):
            cluster = self._database()
        servers = [self._embeddings(), self._issuer(), self._office(), self._mail()]
        with self._progress.step("AWS emulator"):
            endpoint = emulator.start(self._processes, self._ports.emulator, self._folder)
        with self._progress.step("functions and layers (sam build)"):
            built = deployment.build(deployment.host_architecture(), say)
        with self._progress.step("deployment (sam deploy)"):
            deployed = deployment.deploy(endpoint, built, self._parameters(cluster), self._folder, say)
            self._create_secrets(cluster, endpoint)
        addresses = self._addresses(deployed)
        with self._progress.step("embeddings, sign-in, site office, mail, phone, console"):
            self._wait_for_servers([*servers, self._phone(addresses), self._console(cluster, deployed, addresses)])
        for pack in reversed(self._packs):
            with self._progress.step(f"pack ({pack.folder.name})"):
                laptop_packs.apply_pack(addresses.console, self._keys.operator_key, pack)
                _deploy_functions(deployed, pack)
        self._sign_developer_in(cluster, addresses)
        return RunningStack(addresses, self._keys, cluster, self._processes, self._folder)

    def _database(self) -> Cluster:
        with self._interrupts.deferred():
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
            "DatabaseSecretValue": _credentials(cluster, APP_ROLE, keys.app_password),
            "OwnerSecretValue": _credentials(cluster, OWNER_ROLE, keys.owner_password),
            "WebhookSecretValue": _webhook_secret(keys),
            "ModelSecretValue": json.dumps({"anthropic_api_key": options.anthropic_key}),
            "UnboundWebhookSecrets": "allow",  # the phone speaks for every number
            "TokenSecretValue": keys.token_secret,
            "OperatorSecretValue": keys.operator_key,
            "GupshupBaseUrl": _local_url(self._ports.phone),
            "WhatsappBaseUrl": _local_url(self._ports.phone),
            "PrivateToolHosts": (
                f"{example_tenant.TENANT_SLUG}@{example_tenant.OFFICE_HOST}={_local_url(self._ports.office)},"
                f"{EVERY_TENANT}@127.0.0.1,{EVERY_TENANT}@localhost"
            ),
            "PublicUrl": _local_url(self._ports.console),
            "MailFrom": "parlour@laptop.example",
            "SmtpUrl": f"smtp://127.0.0.1:{self._ports.mail}",
            "EmbeddingUrl": f"{_local_url(self._ports.embeddings)}/v1",
            "EmbeddingModel": EMBEDDING_MODEL,
            "EmbeddingDimensions": str(EMBEDDING_DIMENSIONS),
            "AnthropicBaseUrl": options.anthropic_url,
            "LaptopModel": options.model,
            "OidcIssuers": _local_url(self._ports.issuer),
            "OidcClientId": "parlour",
        }

    def _create_secrets(self, cluster: Cluster, endpoint: str) -> None:
        """Create the secrets of the packs, and those of tenants of earlier starts: the emulator forgets them."""
        references = {reference for pack in self._packs for reference in pack.secrets}
        for tenant_secrets in _secrets_by_tenant(cluster).values():
            references.update(tenant_secrets)
        client = emulator.client("secretsmanager", endpoint)
        store = SecretsManager(client, stack=STACK_NAME)
        for reference in sorted(references):
            with suppress(client.exceptions.ResourceExistsException):
                client.create_secret(Name=store.locate(reference), SecretString=self._keys.provider_key)

    def _addresses(self, deployed: Deployment) -> Addresses:
        return Addresses(
            console=_local_url(self._ports.console),
            api=deployed.api_url,
            webhook=f"{deployed.api_url}/webhooks/gupshup/{self._keys.webhook_token}",
            whatsapp=f"{deployed.api_url}/webhooks/whatsapp",
            phone=_local_url(self._ports.phone),
            issuer=_local_url(self._ports.issuer),
            office=_local_url(self._ports.office),
            emulator=deployed.endpoint,
        )

    def _embeddings(self) -> Server:
        return start_server(
            self._processes, "embeddings", self._ports.embeddings, "/v1/models", environment=self._plain
        )

    def _issuer(self) -> Server:
        arguments = {
            "--key": str(self._folder / "issuer.pem"),
            "--console": _local_url(self._ports.console),
            "--subject": laptop_packs.DEVELOPER,
        }
        given = command_line_options(arguments)
        return start_server(
            self._processes, "issuer", self._ports.issuer, "/jwks.json", *given, environment=self._plain
        )

    def _office(self) -> Server:
        given = ["--lose-first-page"] if self._options.model == "demo" else []
        return start_server(self._processes, "office", self._ports.office, "/done", *given, environment=self._plain)

    def _mail(self) -> Server:
        return start_mail_server(self._processes, self._ports.mail, self._folder / "mail", self._plain)

    def _phone(self, addresses: Addresses) -> Server:
        arguments = {
            "--callback": addresses.webhook,
            "--whatsapp-callback": addresses.whatsapp,
            "--whatsapp-secret": self._keys.whatsapp_app_secret,
        }
        given = command_line_options(arguments)
        return start_server(self._processes, "phone", self._ports.phone, "/messages", *given, environment=self._plain)

    def _console(self, cluster: Cluster, deployed: Deployment, addresses: Addresses) -> Server:
        """In the environment that the template gave the function, and as somebody the emulator lets in."""
        function = emulator.client("lambda", deployed.endpoint).get_function_configuration(
            FunctionName=deployed.outputs["HttpApiFunctionName"]
        )
        given = function["Environment"]["Variables"]
        prefix = {"PACK_FUNCTION_PREFIX": f"{deployment.STACK_NAME}-pack-"}
        environment = {**self._plain, **emulator.client_environment(deployed.endpoint), **given, **prefix}
        tenants = dict.fromkeys([*(pack.tenant for pack in self._packs), *_secrets_by_tenant(cluster)])
        arguments = {
            "--webhook": addresses.webhook,
            "--whatsapp": addresses.whatsapp,
            "--whatsapp-secret": self._keys.whatsapp_app_secret,
            "--phone": addresses.phone,
            "--tenants": ",".join(tenants),
            "--issuer": addresses.issuer,
            "--issuer-key": str(self._folder / "issuer.pem"),
            "--subject": laptop_packs.DEVELOPER,
        }
        named = command_line_options(arguments)
        return start_server(
            self._processes, "console", self._ports.console, "/v1/health", *named, environment=environment
        )

    def _wait_for_servers(self, servers: Sequence[Server]) -> None:
        for server in servers:
            self._processes.wait_until_ready(server.child, server.is_ready, _START_SECONDS)

    def _sign_developer_in(self, cluster: Cluster, addresses: Addresses) -> None:
        """Make the developer a member of every tenant, also of earlier starts: the issuer's port may have changed."""
        key = self._keys.operator_key
        for tenant in _secrets_by_tenant(cluster):
            laptop_packs.add_developer(addresses.console, key, tenant, addresses.issuer)
        laptop_packs.write_cli_credentials(self._folder, addresses.console, key, self._packs[0].tenant)


def _deploy_functions(deployed: Deployment, pack: LaptopPack) -> None:
    """Deploy the pack's own code, if it has some. Raises StackError with the reason why it cannot be deployed."""
    if not has_functions(pack.folder):
        return
    stack = DeployedStack(deployment.STACK_NAME, deployed.outputs["PackFunctionRoleArn"])
    try:
        deploy_functions(emulator.client("lambda", deployed.endpoint), stack, pack.tenant, pack.folder)
    except ParlourError as error:
        raise StackError(str(error)) from None


def _list_packs(own: LaptopPack | None) -> list[LaptopPack]:
    """Return the developer's own pack and the example; a pack of the example's tenant takes its place."""
    example = laptop_packs.read_pack(example_tenant.PACK_FOLDER)
    if own is None:
        return [example]
    return [own] if own.tenant == example.tenant else [own, example]


def _secrets_by_tenant(cluster: Cluster) -> dict[str, list[str]]:
    """Return where the secrets of each tenant that is not archived are kept, by slug."""
    query = """
        SELECT slug, array_remove(array_agg(reference), NULL)
        FROM tenants LEFT JOIN secrets USING (tenant_id)
        WHERE status <> 'archived' GROUP BY slug ORDER BY slug
    """
    with cluster.connect_as_superuser(_DATABASE) as connection:
        return dict(connection.execute(query).fetchall())


def _credentials(cluster: Cluster, role: str, password: str) -> str:
    parameters = cluster.connection_parameters(_DATABASE, role, password)
    return json.dumps(
        {"username": role, "password": password, "host": parameters["host"], "dbname": parameters["dbname"]}
    )


def _webhook_secret(keys: StackKeys) -> str:
    return json.dumps(
        {
            "gupshup_tokens": [keys.webhook_token],
            "whatsapp_app_secrets": [keys.whatsapp_app_secret],
            "whatsapp_verify_tokens": [keys.whatsapp_verify_token],
        }
    )


def _local_url(port: int) -> str:
    return f"http://127.0.0.1:{port}"
