"""What rows are of, in the database."""

from collections.abc import Sequence
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.records.cards.card import RelatedRecord, ResultOrigin
from parlour.search.results import SearchResult

SQL = Queries.for_module(__file__)


def find_origins(tx: Transaction, row_ids: Sequence[UUID], clearance: int) -> list[ResultOrigin]:
    return tx.all(SQL["find_origins"], ResultOrigin, row_ids=list(row_ids), clearance=clearance)


def find_related_records(
    tx: Transaction, found: Sequence[SearchResult], clearance: int, limit: int
) -> list[RelatedRecord]:
    rows, scores = [row.row_id for row in found], [row.score for row in found]
    return tx.all(
        SQL["find_related_records"], RelatedRecord, row_ids=rows, scores=scores, clearance=clearance, most=limit
    )
