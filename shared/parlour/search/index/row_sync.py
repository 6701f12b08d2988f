"""Bringing the searchable rows of documents and entities in line with their drafts, vectors included."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.errors import Conflict, InvalidRequest
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Transaction
from parlour.search.index import store
from parlour.search.index.context_rows import RowDiff, RowDraft, StoredRow, diff_rows
from parlour.search.index.embedders import Vectors
from parlour.search.index.store import RowOwner


@dataclass(frozen=True, slots=True)
class OwnerRows:
    """The rows that one owner should have, and whether the owner itself changed: its place, title or level then
    flow to the rows whose text stays."""

    owner: RowOwner
    rows: Sequence[RowDraft]
    is_owner_changed: bool


def reject_duplicate_keys(keys: Sequence[object]) -> None:
    """InvalidRequest when a key is there twice: the second would undo the first."""
    repeated = [key for key, times in Counter(keys).items() if times > 1]
    if repeated:
        raise InvalidRequest(f"{repeated[0]} is listed twice; give each its own key")


def group_by_owner(rows: Sequence[StoredRow]) -> Mapping[UUID, list[StoredRow]]:
    """Group stored rows by their document or entity, in the order given."""
    grouped: dict[UUID, list[StoredRow]] = defaultdict(list)
    for row in rows:
        grouped[row.owner_id].append(row)
    return grouped


def sync_rows(
    tx: Transaction,
    entries: Sequence[tuple[OwnerRows, Sequence[StoredRow]]],
    vectors: Vectors,
    now: datetime,
) -> None:
    """Write what differs between each entry and its stored rows.

    A row without a vector in the space of `vectors` gets one from there; Conflict when there is none for its
    text, which happens when somebody else wrote between the preparation and now.
    """
    differences = [(entry, diff_rows(stored, entry.rows)) for entry, stored in entries]
    new = [(uuid7(now), entry.owner, draft) for entry, difference in differences for draft in difference.added]
    store.delete_rows(tx, [row_id for _, difference in differences for row_id in difference.removed_ids])
    store.update_rows(
        tx, [change for entry, difference in differences for change in _rows_to_update(entry, difference)]
    )
    store.add_rows(tx, new, now)
    missing = [
        (row.id, draft) for _, difference in differences for row, draft in difference.unchanged if not row.has_vector
    ]
    missing += [(row_id, draft) for row_id, _, draft in new]
    try:
        by_row = {row_id: vectors.by_text[draft.content] for row_id, draft in missing}
    except KeyError:
        raise Conflict("these documents were changed by someone else; apply again") from None
    store.add_vectors(tx, vectors.space, by_row)


def sync_rows_without_vectors(tx: Transaction, entry: OwnerRows, stored: Sequence[StoredRow], now: datetime) -> int:
    """Write what differs between an entry and its stored rows; new rows get their vectors later. How many are new.

    Whoever calls this marks the tenant's pending rows, and has them embedded once they are committed.
    """
    difference = diff_rows(stored, entry.rows)
    store.delete_rows(tx, difference.removed_ids)
    store.update_rows(tx, _rows_to_update(entry, difference))
    store.add_rows(tx, [(uuid7(now), entry.owner, draft) for draft in difference.added], now, is_pending=True)
    return len(difference.added)


def _rows_to_update(entry: OwnerRows, difference: RowDiff) -> list[tuple[UUID, RowOwner, RowDraft]]:
    return [
        (row.id, entry.owner, draft)
        for row, draft in difference.unchanged
        if entry.is_owner_changed or row.metadata != draft.metadata
    ]
