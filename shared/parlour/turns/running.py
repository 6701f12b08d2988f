"""What turns run with, and one turn while it runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from parlour.infra.errors import RetryError
from parlour.infra.ids import NewId
from parlour.infra.postgres import Database
from parlour.infra.queues import Delays, Queue
from parlour.knowledge.records.linked import LinkCache
from parlour.knowledge.tools.kit import EmbedderOf
from parlour.models.fallback import LEAST_SECONDS
from parlour.models.pictures import Pictures
from parlour.models.request import Model
from parlour.tools.calls import OpenCall
from parlour.tools.definition import Tool
from parlour.tools.run import Endpoints
from parlour.turns.events import Feed
from parlour.turns.prompts.prompting import Prompting
from parlour.turns.records import Inbound, Lease, OpenTurn
from parlour.turns.timing import Stages

SECONDS_KEPT = 5.0
"""What models and tools leave of the invocation, so that a reply can still be committed."""

_TO_GO_ON = SECONDS_KEPT + LEAST_SECONDS + 1
"""With fewer seconds than this neither a model nor a tool is begun: it could only be cut off."""


@dataclass(frozen=True, slots=True)
class Services:
    """What turns are run with: the ports, and the sources of time, ids and chance.

    outbox, tools  the queues of the senders and of the dispatcher.
    embedding      the embedder's, since what is said gets its vectors later.
    memory         the queue of those who read what was said for what is to be remembered.
    embedder       what a tenant's questions are embedded with.
    default_cap    US dollars a day for a tenant without a cap of its own.
    links          what conversations about records begin with, as read a moment ago.
    pictures       has the bytes of the pictures that prompts name.
    """

    database: Database
    models: Mapping[str, Model]
    endpoints: Endpoints
    outbox: Queue
    tools: Queue
    embedding: Delays
    memory: Delays
    embedder: EmbedderOf
    default_cap: Decimal
    clock: Callable[[], datetime]
    new_id: NewId
    sleep: Callable[[float], None]
    jitter: Callable[[float, float], float]
    links: LinkCache = field(default_factory=LinkCache)
    pictures: Pictures = field(default_factory=Pictures)


@dataclass(slots=True)
class Running:
    """One turn while it runs, under its lease.

    prompting   the turn's prompts, and the tools that it may call, once its material was read.
    open_calls  effects that are reserved or begun and have no outcome yet, by step and the model's call id.
    """

    services: Services
    lease: Lease
    turn: OpenTurn
    inputs: tuple[Inbound, ...]
    feed: Feed
    stages: Stages
    seconds_left: Callable[[], float]
    prompting: Prompting | None = None
    tools: tuple[Tool, ...] = ()
    open_calls: dict[tuple[int, str], OpenCall] = field(default_factory=dict)

    def require_time(self) -> None:
        """Raises RetryError when this invocation is nearly over: the next one goes on from what is committed."""
        if self.seconds_left() < _TO_GO_ON:
            raise RetryError("the invocation is nearly over; the next one goes on with the turn", after=1)
