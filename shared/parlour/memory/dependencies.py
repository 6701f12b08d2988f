"""What the work of memory runs with, whichever it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from parlour.infra.postgres import Database, Transaction
from parlour.infra.queues import DelayedQueue
from parlour.models import spend
from parlour.models.background_completion import BackgroundCompletion
from parlour.models.model import Model

_DAILY_CAP_SHARE = Decimal("0.8")
"""Of a tenant's daily cap; past it what is remembered waits, and people are still answered."""


@dataclass(frozen=True, slots=True)
class MemoryDependencies:
    """The ports, and the sources of time, ids and chance.

    models       asked for anew each time, for keys change.
    default_cap  US dollars a day for a tenant without a cap of its own.
    memory       the queue of this very work, for what is to be done later.
    embedding    the embedder's, since what is written gets its vectors later.
    """

    database: Database
    models: Callable[[], Mapping[str, Model]]
    default_cap: Decimal
    memory_queue: DelayedQueue
    embedder_queue: DelayedQueue
    clock: Callable[[], datetime]
    sleep: Callable[[float], None]
    jitter: Callable[[float, float], float]

    def check_reservation(self, tx: Transaction, amount: Decimal, _reservation: UUID, now: datetime) -> None:
        """As `models.aside.Admit`: memory leaves the rest of a day's cap to turns."""
        if amount:
            spend.require_free_share(tx, _DAILY_CAP_SHARE, default_cap=self.default_cap, now=now)

    @property
    def background_completion(self) -> BackgroundCompletion:
        """How a model is asked."""
        return BackgroundCompletion(self.database, self.default_cap, self.clock, self.sleep, self.jitter)
