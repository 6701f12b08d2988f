"""The sweep over a desk's queues."""

from parlour.bootstrap.sweep import SweepQueues, finders
from parlour.infra.postgres import Database
from parlour.infra.queues import Delays, Queue
from parlour.jobs.sweep import SweepDependencies
from tests.desk import Delayed, Desk


def dependencies(
    desk: Desk, wakeups: Delays | None = None, web: Queue | None = None, database: Database | None = None
) -> SweepDependencies:
    """What the deployed sweep runs with. web: the queue of turns on the web, if it is another one."""
    queues = SweepQueues(
        {"whatsapp": desk.turns, "web": web or desk.turns},
        desk.outbox,
        desk.tools,
        desk.ingest,
        desk.embedding,
        desk.memory,
    )
    return SweepDependencies(database or desk.database, finders(queues), wakeups or Delayed(), desk.clock)
