"""What has to be looked at again by a certain time, should nothing else have seen to it.

A row is written with the work itself, in one transaction, and goes when the work is done; what is left lying is
found by the sweep. The hot paths do both inside their own statements; these functions are for everybody else.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

type Kind = Literal["session", "outbox", "tool_call"]

GRACE = timedelta(minutes=5)
"""How long work may take its usual way before the sweep looks after it."""

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class Due:
    """One piece of work that is due: whose, what, and since when."""

    tenant_id: UUID
    kind: Kind
    id: UUID
    due_at: datetime


def mark(tx: Transaction, kind: Kind, work_id: UUID, due_at: datetime) -> None:
    """Have the work looked at when `due_at` has come, and not before, whatever was said earlier."""
    tx.run(SQL["mark_due"], kind=kind, id=work_id, due_at=due_at)


def settle(tx: Transaction, kind: Kind, work_id: UUID) -> None:
    """The work is done; nobody has to look."""
    tx.run(SQL["settle_due"], kind=kind, id=work_id)


def due(tx: Transaction, now: datetime, most: int) -> list[Due]:
    """What is due in any tenant, longest first; read in a transaction without a tenant."""
    return tx.all(SQL["due"], Due, now=now, most=most)
