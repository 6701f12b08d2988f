"""What the API runs on; `parlour.bootstrap` builds it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from parlour.api.database_pool import DatabasePool
from parlour.infra.objects import ObjectStore, UploadStore
from parlour.infra.queues import DelayedQueue, FifoQueue
from parlour.jobs.dead_letters import DeadLetters
from parlour.search.index.embedding_spaces import EmbeddingSpaces
from parlour.tenancy.authentication import Authenticator


@dataclass(frozen=True, slots=True)
class ApiDependencies:
    """The ports of the API.

    turns        the queue that wakes turns of web sessions.
    messaging    the queue that wakes turns of all other sessions.
    tools        the dispatcher's queue, for tool calls that run on their own.
    outbox       the queue that has replies sent.
    embedding    the embedder's queue, for rows whose vectors come later.
    ingest       the queue that has uploaded files read.
    pulse        the queue that has a record's Pulses written, or a question about it answered.
    uploads      the bucket that people upload their files to.
    media        the bucket of what is sent along with messages.
    dead_letters what every queue gave up on, by the queue's name.
    token_secret the key that visitors' and call-back tokens are signed with.
    default_cap  US dollars that models may cost a tenant in a day, when it has no cap of its own.
    pulse_cap    what of that Pulses may cost, when it says nothing of its own.
    spaces       the models that text is embedded with, by what a tenant's searches look into.
    measure      text -> tokens, to refuse a pack whose persona does not fit its budget; None does not look.
    environment  what this deployment is called; the console shows it.
    local        whether a phone and a member's token are served beside the API (`/local/`); only on a laptop.
    showcase     tenants, by slug, whose public agents the console offers at any address; elsewhere the host decides.
    """

    databases: DatabasePool
    authenticator: Authenticator
    turns_web_queue: FifoQueue
    turns_messaging_queue: FifoQueue
    tools_queue: FifoQueue
    outbox_queue: FifoQueue
    embedder_queue: DelayedQueue
    ingest_queue: FifoQueue
    pulse_queue: DelayedQueue
    upload_bucket: UploadStore
    media_bucket: ObjectStore
    dead_letters: Mapping[str, DeadLetters]
    token_secret: Callable[[], str]
    default_daily_cap: Decimal
    default_pulse_cap: Decimal
    embedding_spaces: EmbeddingSpaces
    clock: Callable[[], datetime]
    count_tokens: Callable[[str], int] | None = None
    environment: str = ""
    is_local: bool = False
    showcase_tenants: tuple[str, ...] = ()

    @property
    def turn_queues(self) -> Mapping[str, FifoQueue]:
        """The queue that wakes a session's turn, by the session's channel."""
        return {"web": self.turns_web_queue, "whatsapp": self.turns_messaging_queue}
