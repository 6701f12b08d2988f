"""What rows are of, in the database."""

from collections.abc import Sequence
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.knowledge.cards.card import Origin

SQL = Queries.beside(__file__)


def origins(tx: Transaction, row_ids: Sequence[UUID], clearance: int) -> list[Origin]:
    return tx.all(SQL["origins"], Origin, row_ids=list(row_ids), clearance=clearance)
