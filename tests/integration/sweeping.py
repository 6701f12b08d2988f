"""The sweep over a desk's queues."""

from parlour.bootstrap.sweep import SweepQueues, finders
from parlour.infra.postgres import Database
from parlour.infra.queues import DelayedQueue, FifoQueue
from parlour.jobs.sweep import SweepDependencies
from tests.conversation_harness import ConversationHarness, FakeDelayedQueue


def dependencies(
    conversation: ConversationHarness,
    wakeups: DelayedQueue | None = None,
    web: FifoQueue | None = None,
    database: Database | None = None,
) -> SweepDependencies:
    """What the deployed sweep runs with. web: the queue of turns on the web, if it is another one."""
    queues = SweepQueues(
        {"whatsapp": conversation.turns, "web": web or conversation.turns},
        conversation.outbox,
        conversation.tools,
        conversation.ingest,
        conversation.embedding,
        conversation.memory,
    )
    return SweepDependencies(
        database or conversation.database, finders(queues), wakeups or FakeDelayedQueue(), conversation.clock
    )
