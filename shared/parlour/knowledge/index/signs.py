"""What recall reads of a conversation's rows in a few bytes, filled where it is lacking: in rows that were there before
it was kept, and in all of a tenant that has moved to another model.

In batches, the newest rows first, each batch with how far it came in one commit: what breaks off goes on where it was.
Meanwhile recall reads the rows themselves, which takes it two to three times as long; one that was never filled is one
of which nothing is known, and words find it once it is compared.
"""

from parlour.infra.postgres import Database
from parlour.knowledge.index import store
from parlour.knowledge.index.spaces import Spaces
from parlour.principal import Principal

BATCH = 500
"""Rows in one commit; half a second."""


def fill(database: Database, principal: Principal, spaces: Spaces) -> None:
    """One batch; after the last one nothing is lacking."""
    database.run(principal, lambda tx: store.fill_signs(tx, store.tenant_space(tx) or spaces.names[0], BATCH))
