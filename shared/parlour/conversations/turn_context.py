"""What turns run with, and one turn while it runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from parlour.channels.read_receipts import ReadReceiptSenders, ReceivedMessageRow
from parlour.conversations.canned_replies import CannedTexts
from parlour.conversations.event_feed import EventFeed
from parlour.conversations.journal import NOTHING_DONE, Journal
from parlour.conversations.rows import InboundMessage, Lease, OpenTurn
from parlour.conversations.stage_timer import StageTimer
from parlour.conversations.turn_stop import TurnStop
from parlour.infra.errors import RetryError
from parlour.infra.postgres import Database
from parlour.infra.queues import DelayedQueue, FifoQueue
from parlour.models.fallback import MIN_ATTEMPT_SECONDS
from parlour.models.images import ImageResolver
from parlour.models.model import Model
from parlour.prompts.ledger.prompt_builder import PromptBuilder
from parlour.records.linked_records import LinkedRecordsCache
from parlour.tenancy.access import Access
from parlour.tools.builtin.builtin_tools import EmbedderForTenant
from parlour.tools.call_decision import CallDecision
from parlour.tools.calls import UnfinishedCall
from parlour.tools.run import Endpoints
from parlour.tools.tool_definition import Tool

COMMIT_RESERVE_SECONDS = 5.0
"""What models and tools leave of the invocation, so that a reply can still be committed."""

_MIN_SECONDS_LEFT = COMMIT_RESERVE_SECONDS + MIN_ATTEMPT_SECONDS + 1
"""With fewer seconds than this neither a model nor a tool is begun: it could only be cut off."""


@dataclass(frozen=True, slots=True)
class TurnDependencies:
    """What turns are run with: the ports, and the sources of time and chance.

    outbox_queue          wakes the senders of replies.
    tool_queue            the dispatcher's.
    embedding_queue       the embedder's: messages get their vectors after the turn.
    memory_queue          wakes the workers that extract memories.
    wakeup_queue          wakes sessions later.
    max_tenant_turns      turns of one tenant that run at once; further ones wait without holding a worker.
    embedder_of           the embedder of a tenant's questions.
    default_cap_usd       US dollars a day for a tenant without a cap of its own.
    linked_records_cache  records with their links, read less than a minute ago.
    images                loads the bytes of the images that prompts name.
    read_receipts         providers that show that a message was read and somebody types.
    """

    database: Database
    models: Mapping[str, Model]
    endpoints: Endpoints
    outbox_queue: FifoQueue
    tool_queue: FifoQueue
    embedding_queue: DelayedQueue
    memory_queue: DelayedQueue
    wakeup_queue: DelayedQueue
    max_tenant_turns: int
    embedder_of: EmbedderForTenant
    default_cap_usd: Decimal
    clock: Callable[[], datetime]
    sleep: Callable[[float], None]
    jitter: Callable[[float, float], float]
    linked_records_cache: LinkedRecordsCache = field(default_factory=LinkedRecordsCache)
    images: ImageResolver = field(default_factory=ImageResolver)
    read_receipts: ReadReceiptSenders = field(default_factory=dict)


@dataclass(slots=True)
class TurnContext:
    """One turn while it runs, under its lease.

    newest_received   the newest of its messages that a provider delivered.
    access            what the user may do, once the turn's material was read.
    link_hosts        the hosts that links of the reply may lead to.
    canned_texts      the canned replies of the turn's agent, once its material was read.
    prompt_builder    the turn's prompts, once its material was read.
    journal           what the turn has done so far, once its material was read.
    has_untrusted_text  whether the prompt shows text of others than the user and the tenant.
    unfinished_calls  effects that are reserved or begun and have no outcome yet, by step and the model's call id.
    decisions         the decisions about calls of this worker's steps, by the same.
    """

    dependencies: TurnDependencies
    lease: Lease
    turn: OpenTurn
    input_messages: tuple[InboundMessage, ...]
    feed: EventFeed
    stage_timer: StageTimer
    seconds_left: Callable[[], float]
    newest_received: ReceivedMessageRow | None = None
    access: Access | None = None
    link_hosts: frozenset[str] = frozenset()
    canned_texts: CannedTexts = field(default_factory=CannedTexts)
    prompt_builder: PromptBuilder | None = None
    tools: tuple[Tool, ...] = ()
    journal: Journal = NOTHING_DONE
    has_untrusted_text: bool = False
    unfinished_calls: dict[tuple[int, str], UnfinishedCall] = field(default_factory=dict)
    decisions: dict[tuple[int, str], CallDecision] = field(default_factory=dict)

    @property
    def stop(self) -> TurnStop:
        """Whether somebody wants the turn to end."""
        return self.feed.stop

    def require_time(self) -> None:
        """Raise RetryError when this invocation is nearly over: the next one continues from what is committed."""
        if self.seconds_left() < _MIN_SECONDS_LEFT:
            raise RetryError("the invocation is nearly over; the next one goes on with the turn", retry_after=1)
