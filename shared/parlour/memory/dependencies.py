"""The dependencies of all memory jobs."""

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
    """The ports of memory jobs, and their sources of time, ids and random numbers.

    models          returns the models by provider; called for each use, because keys change.
    default_cap     US dollars a day for a tenant without its own cap.
    memory_queue    the queue of memory jobs, for delayed ones.
    embedder_queue  the queue of the embedder, which embeds new rows.
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
        """Refuse a reservation that would use the share of a day's cap that is left to turns."""
        if amount:
            spend.require_free_share(tx, _DAILY_CAP_SHARE, default_cap=self.default_cap, now=now)

    @property
    def background_completion(self) -> BackgroundCompletion:
        """The way in which jobs call a model."""
        return BackgroundCompletion(self.database, self.default_cap, self.clock, self.sleep, self.jitter)
