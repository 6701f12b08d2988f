"""What the work of memory runs with, whichever it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from parlour.infra.ids import NewId
from parlour.infra.postgres import Database
from parlour.infra.queues import Delays
from parlour.models.aside import Aside
from parlour.models.request import Model


@dataclass(frozen=True, slots=True)
class Services:
    """The ports, and the sources of time, ids and chance.

    models       asked for anew each time, for keys change.
    default_cap  US dollars a day for a tenant without a cap of its own.
    memory       the queue of this very work, for what is to be done later.
    embedding    the embedder's, since what is written gets its vectors later.
    """

    database: Database
    models: Callable[[], Mapping[str, Model]]
    default_cap: Decimal
    memory: Delays
    embedding: Delays
    clock: Callable[[], datetime]
    new_id: NewId
    sleep: Callable[[float], None]
    jitter: Callable[[float, float], float]

    @property
    def aside(self) -> Aside:
        """How a model is asked."""
        return Aside(self.database, self.default_cap, self.clock, self.new_id, self.sleep, self.jitter)
