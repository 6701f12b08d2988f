"""What a record's Pulse said before, and what changed between two of its texts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from parlour.infra.errors import NotFound
from parlour.infra.page_cursor import cut_page, decode_position, parse_count
from parlour.infra.postgres import Transaction
from parlour.principal import RESTRICTED, Principal
from parlour.pulse.pulse import Statement
from parlour.pulse.reading import store
from parlour.pulse.reading.pulse_view import find_pulse_view
from parlour.pulse.reading.store import VersionRow
from parlour.pulse.reading.text_diff import TextDiff, diff_statements
from parlour.records import crud
from parlour.records.record import RecordRef

MAX_VERSIONS = 50


@dataclass(frozen=True, slots=True)
class PulseHistory:
    """Some texts of a Pulse at a level, the newest first; next_cursor: "" when these are the last."""

    record: str
    level: int | None
    versions: Sequence[VersionRow]
    next_cursor: str


@dataclass(frozen=True, slots=True)
class VersionDiff:
    """Two texts compared; without `before` all statements are new."""

    record: str
    before: VersionRow | None
    after: VersionRow
    text: TextDiff


def list_versions(
    principal: Principal, tx: Transaction, ref: RecordRef, *, limit: int = 20, cursor: str = ""
) -> PulseHistory:
    """Return a page of the texts of the Pulse that this reader sees, the newest first. InvalidRequest for a bad cursor.

    Only those who see everything are told what a text was written for: marks have no levels. A text that was written
    from something above its level by now is left out. NotFound as `read_pulse`.
    """
    before = decode_position(cursor, parse_count)[0] if cursor else None
    entity_id, handle, level = _visible_pulse(principal, tx, ref)
    rows = [] if level is None else store.list_versions(tx, entity_id, level, before_version=before, limit=limit + 1)
    page = cut_page(rows, limit, lambda row: (row.version,))
    shown = [*page.rows]
    if principal.clearance < RESTRICTED:
        shown = [replace(row, causes=None, mark_count=None) for row in shown]
    return PulseHistory(handle, level, shown, page.next_cursor)


def diff_versions(
    principal: Principal,
    tx: Transaction,
    ref: RecordRef,
    older_version: int | None = None,
    newer_version: int | None = None,
) -> VersionDiff:
    """Compare two texts; without `newer_version` the newest, without `older_version` the one before that.

    NotFound when there is no such text for this reader.
    """
    entity_id, handle, level = _visible_pulse(principal, tx, ref)
    if level is None:
        raise NotFound(f"{handle} has no Pulse yet")
    newer = _find_version(tx, entity_id, level, handle, newer_version)
    older = (
        _find_version(tx, entity_id, level, handle, older_version)
        if older_version is not None
        else next(iter(store.list_versions(tx, entity_id, newer.level, before_version=newer.version, limit=1)), None)
    )
    changes = diff_statements(_parse_statements(older) if older else [], _parse_statements(newer))
    return VersionDiff(handle, older, newer, changes)


def _visible_pulse(principal: Principal, tx: Transaction, ref: RecordRef) -> tuple[UUID, str, int | None]:
    """Return the record, and the level of the Pulse that this reader sees."""
    entity = crud.get_record(principal, tx, ref)
    found = find_pulse_view(principal, tx, entity.id)
    if found is None:
        raise NotFound(f"{entity.handle} has no Pulse: its type does not set `pulse: auto`")
    return entity.id, entity.handle, found.pulse.level if found.pulse else None


def _find_version(tx: Transaction, entity_id: UUID, level: int, handle: str, number: int | None) -> VersionRow:
    rows = store.list_versions(tx, entity_id, level, numbers=None if number is None else [number], limit=1)
    if not rows:
        raise NotFound(f"{handle} has no Pulse version {number} that you can see")
    return rows[0]


def _parse_statements(row: VersionRow) -> list[Statement]:
    return list(map(Statement.from_json, row.statements))
