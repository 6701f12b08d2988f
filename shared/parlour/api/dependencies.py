"""What the API runs on; `parlour.bootstrap` builds it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Literal

from parlour.api.database_pool import DatabasePool
from parlour.infra.objects import ObjectStore, UploadStore
from parlour.infra.queues import DelayedQueue, FifoQueue
from parlour.infra.secrets import SecretStatus
from parlour.jobs.dead_letters import DeadLetters
from parlour.search.index.embedding_spaces import EmbeddingSpaces
from parlour.tenancy.authentication import Authenticator
from parlour.tenancy.oidc import SignIn
from parlour.tenancy.routing_keys import NO_POLICY, RoutePolicy
from parlour.tools.addresses import PrivateHosts
from parlour.tools.run import Endpoints


@dataclass(frozen=True, slots=True)
class ApiDependencies:
    """The ports of the API.

    turns_web_queue        wakes turns of web sessions.
    turns_messaging_queue  wakes turns of all other sessions.
    tools_queue            the dispatcher's, for tool calls that run outside of turns.
    outbox_queue           has replies sent.
    embedder_queue         has rows embedded.
    ingest_queue           has uploaded files read.
    pulse_queue            has a record's Pulses written, or a question about it answered.
    upload_bucket          the bucket that people upload their files to.
    media_bucket           the bucket of what is sent along with messages.
    dead_letters           every queue's dead letters, by the queue's name.
    token_secret           the key that visitors' and callback tokens are signed with.
    default_daily_cap      US dollars that models may cost a tenant in a day, when it has no cap of its own.
    default_pulse_cap      how much of that Pulses may cost, when the tenant has no such cap of its own.
    embedding_spaces       the models that text is embedded with, by space.
    locate_secret          secret reference -> its name in the secret store.
    find_secret_status     secret reference -> whether the secret has a value; raises SecretUnavailable.
    providers              by channel provider, what raises ProviderUnavailable when the provider does not answer.
    count_tokens           text -> tokens, to refuse a pack whose persona exceeds its budget; None does not check.
    check_challenge        (answer, network address) -> whether a new visitor has solved the page's challenge; None
                           where there is no challenge.
    sign_ins               how people sign in to the console; none where it has no client id.
    environment            the name of this deployment; the console shows it.
    is_local               whether a phone and a member's token are served beside the API (`/local/`), on a laptop.
    laptop_model           who answers on a laptop: live, offline or demo; empty in the cloud.
    private_hosts          what tools may reach besides public hosts.
    tool_endpoints         how tools are called, by scheme; none where the API calls no tools: in the cloud.
    route_policy           which hosts and numbers tenants may claim.
    showcase_tenants       slugs of tenants whose public agents the console offers at any address; elsewhere the host
                           decides.
    """

    databases: DatabasePool
    authenticator: Authenticator
    turns_web_queue: FifoQueue
    turns_messaging_queue: FifoQueue
    tools_queue: FifoQueue
    outbox_queue: FifoQueue
    embedder_queue: DelayedQueue
    ingest_queue: FifoQueue
    wakeup_queue: DelayedQueue
    pulse_queue: DelayedQueue
    upload_bucket: UploadStore
    media_bucket: ObjectStore
    dead_letters: Mapping[str, DeadLetters]
    token_secret: Callable[[], str]
    default_daily_cap: Decimal
    default_pulse_cap: Decimal
    embedding_spaces: EmbeddingSpaces
    clock: Callable[[], datetime]
    find_secret_status: Callable[[str], SecretStatus]
    locate_secret: Callable[[str], str]
    providers: Mapping[str, Callable[[], None]]
    count_tokens: Callable[[str], int] | None = None
    check_challenge: Callable[[str, str], bool] | None = None
    environment: str = ""
    is_local: bool = False
    laptop_model: Literal["", "live", "offline", "demo"] = ""
    private_hosts: PrivateHosts = PrivateHosts({})  # noqa: RUF009 - frozen
    tool_endpoints: Endpoints = MappingProxyType({})
    route_policy: RoutePolicy = NO_POLICY
    showcase_tenants: tuple[str, ...] = ()
    sign_ins: tuple[SignIn, ...] = ()

    @property
    def turn_queues(self) -> Mapping[str, FifoQueue]:
        """The queue that wakes a session's turn, by the session's channel."""
        return {"web": self.turns_web_queue, "whatsapp": self.turns_messaging_queue}
