"""What the API runs on; `parlour.bootstrap` builds it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from parlour.api.connections import Connections
from parlour.infra.ids import NewId
from parlour.infra.objects import Store, Uploads
from parlour.infra.queues import Delays, Queue
from parlour.jobs.dead_letters import DeadLetters
from parlour.knowledge.index.spaces import Spaces
from parlour.tenancy.sign_in import SignIn


@dataclass(frozen=True, slots=True)
class Services:
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

    connections: Connections
    sign_in: SignIn
    turns: Queue
    messaging: Queue
    tools: Queue
    outbox: Queue
    embedding: Delays
    ingest: Queue
    pulse: Delays
    uploads: Uploads
    media: Store
    dead_letters: Mapping[str, DeadLetters]
    token_secret: Callable[[], str]
    default_cap: Decimal
    pulse_cap: Decimal
    spaces: Spaces
    clock: Callable[[], datetime]
    new_id: NewId
    measure: Callable[[str], int] | None = None
    environment: str = ""
    local: bool = False
    showcase: tuple[str, ...] = ()

    @property
    def by_channel(self) -> Mapping[str, Queue]:
        """The queue that wakes a session's turn, by the session's channel."""
        return {"web": self.turns, "whatsapp": self.messaging}
