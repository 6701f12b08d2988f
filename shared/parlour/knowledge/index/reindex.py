"""Bringing the searchable rows of documents and entities in line with their drafts, vectors included."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.errors import Conflict, InvalidRequest
from parlour.infra.ids import NewId
from parlour.infra.postgres import Transaction
from parlour.knowledge.index import store
from parlour.knowledge.index.embed import Vectors
from parlour.knowledge.index.rows import Difference, RowDraft, StoredRow, compare
from parlour.knowledge.index.store import Owner


@dataclass(frozen=True, slots=True)
class Entry:
    """The rows that one owner should have, and whether the owner itself changed: its place, title or level then
    flow to the rows whose text stays."""

    owner: Owner
    rows: Sequence[RowDraft]
    changed: bool


def refuse_repeated(keys: Sequence[object]) -> None:
    """InvalidRequest when a key is there twice: the second would undo the first."""
    repeated = [key for key, times in Counter(keys).items() if times > 1]
    if repeated:
        raise InvalidRequest(f"{repeated[0]} is there twice; give each a key of its own")


def by_owner(rows: Sequence[StoredRow]) -> Mapping[UUID, list[StoredRow]]:
    """Stored rows by their document or entity, in the order given."""
    grouped: dict[UUID, list[StoredRow]] = defaultdict(list)
    for row in rows:
        grouped[row.owner_id].append(row)
    return grouped


def reindex(
    tx: Transaction,
    entries: Sequence[tuple[Entry, Sequence[StoredRow]]],
    vectors: Vectors,
    now: datetime,
    new_id: NewId,
) -> None:
    """Write what differs between each entry and its stored rows.

    A row without a vector in the space of `vectors` gets one from there; Conflict when there is none for its
    text, which happens when somebody else wrote between the preparation and now.
    """
    differences = [(entry, compare(stored, entry.rows)) for entry, stored in entries]
    new = [(new_id(now), entry.owner, draft) for entry, difference in differences for draft in difference.new]
    store.remove_rows(tx, [row_id for _, difference in differences for row_id in difference.gone])
    store.change_rows(tx, [change for entry, difference in differences for change in _changes(entry, difference)])
    store.add_rows(tx, new, now)
    missing = [(row.id, draft) for _, difference in differences for row, draft in difference.kept if not row.embedded]
    missing += [(row_id, draft) for row_id, _, draft in new]
    store.add_vectors(tx, vectors.space, {row_id: _vector(vectors, draft.content) for row_id, draft in missing})


def rewrite(tx: Transaction, entry: Entry, stored: Sequence[StoredRow], now: datetime, new_id: NewId) -> int:
    """Write what differs between an entry and its stored rows; new rows get their vectors later. How many are new.

    Whoever calls this marks the tenant's pending rows, and has them embedded once they are committed.
    """
    difference = compare(stored, entry.rows)
    store.remove_rows(tx, difference.gone)
    store.change_rows(tx, _changes(entry, difference))
    store.add_rows(tx, [(new_id(now), entry.owner, draft) for draft in difference.new], now, pending=True)
    return len(difference.new)


def _changes(entry: Entry, difference: Difference) -> list[tuple[UUID, Owner, RowDraft]]:
    return [
        (row.id, entry.owner, draft)
        for row, draft in difference.kept
        if entry.changed or row.metadata != draft.metadata
    ]


def _vector(vectors: Vectors, text: str) -> Sequence[float]:
    try:
        return vectors.by_text[text]
    except KeyError:
        raise Conflict("these documents were changed by somebody else just now; apply again") from None
