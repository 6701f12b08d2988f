"""What rows are of, in the database."""

from collections.abc import Sequence
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.knowledge.cards.card import Origin, Related
from parlour.knowledge.search.found import Found

SQL = Queries.beside(__file__)


def origins(tx: Transaction, row_ids: Sequence[UUID], clearance: int) -> list[Origin]:
    return tx.all(SQL["origins"], Origin, row_ids=list(row_ids), clearance=clearance)


def related(tx: Transaction, found: Sequence[Found], clearance: int, most: int) -> list[Related]:
    rows, scores = [row.row_id for row in found], [row.score for row in found]
    return tx.all(SQL["related"], Related, row_ids=rows, scores=scores, clearance=clearance, most=most)
