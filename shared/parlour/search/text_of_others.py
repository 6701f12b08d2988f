"""Text in files and documents that others than the tenant wrote: it may tell the model what to do."""

from collections.abc import Iterable

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.search import store
from parlour.search.results import SearchResult

WRITTEN_BY_OTHERS = "written_by_others"
"""The key that marks a tool's result with such text; also of a document's metadata, and the column of a file."""


def mark_text_of_others(tx: Transaction, rows: Iterable[SearchResult], result: JsonObject) -> JsonObject:
    """Return the result of a tool that read some rows, marked if one of them is text of others."""
    row_ids = [row.row_id for row in rows]
    return {**result, WRITTEN_BY_OTHERS: True} if row_ids and store.has_text_of_others(tx, row_ids) else result
