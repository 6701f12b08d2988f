"""What a record's Pulse said before, and what changed between two of its texts."""

from datetime import datetime
from uuid import UUID

from parlour.infra.errors import NotFound
from parlour.infra.jsonable import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.records import entities
from parlour.knowledge.records.record import Ref
from parlour.principal import RESTRICTED, Principal
from parlour.pulse.difference import difference
from parlour.pulse.pulse import Statement
from parlour.pulse.reading import store
from parlour.pulse.reading.read import seen
from parlour.pulse.reading.store import VersionRow

MOST = 50


def history(
    principal: Principal, tx: Transaction, ref: Ref, *, most: int = 20, before: int | None = None
) -> JsonObject:
    """The texts of the Pulse that this reader sees, the newest first, from behind the version `before` on.

    {"record", "level", "versions": [{"version", "generated_at", "markdown", "citations", "model", "cost_usd", "causes",
    "marks"}], "next": version | None}. What a text was written for is told only to those who see everything: marks have
    no levels. A text that was written from something above its level by now is not there. NotFound as `read`.
    """
    entity_id, handle, level = _place(principal, tx, ref)
    rows = store.versions(tx, entity_id, level, before=before, most=most + 1) if level is not None else []
    versions: list[Json] = [_told(one, principal.clearance) for one in rows[:most]]
    more = rows[most - 1].version if len(rows) > most else None
    return {"record": handle, "level": level, "versions": versions, "next": more}


def diff(
    principal: Principal, tx: Transaction, ref: Ref, before: int | None = None, after: int | None = None
) -> JsonObject:
    """What changed between two texts; without `after` the newest, without `before` the one before that.

    {"record", "before": {"version", "generated_at"} | None, "after", "added", "removed", "changed", "kept"}. The first
    text is new altogether. NotFound when there is no such text for this reader.
    """
    entity_id, handle, level = _place(principal, tx, ref)
    if level is None:
        raise NotFound(f"{handle} has no Pulse yet")
    newer = _version(tx, entity_id, level, handle, after)
    older = _version(tx, entity_id, level, handle, before) if before is not None else _before(tx, entity_id, newer)
    found = difference(_statements(older) if older else [], _statements(newer))
    return {
        "record": handle, "before": _named(older) if older else None, "after": _named(newer), **found.to_json()
    }  # fmt: skip


def _place(principal: Principal, tx: Transaction, ref: Ref) -> tuple[UUID, str, int | None]:
    """The record, and the level of the Pulse that this reader sees."""
    entity = entities.read(principal, tx, ref)
    found = seen(principal, tx, entity.id)
    if found is None:
        raise NotFound(f"{entity.handle} has no Pulse: its kind does not say `pulse: auto`")
    return entity.id, entity.handle, found.pulse.level if found.pulse else None


def _version(tx: Transaction, entity_id: UUID, level: int, handle: str, number: int | None) -> VersionRow:
    rows = store.versions(tx, entity_id, level, numbers=None if number is None else [number], most=1)
    if not rows:
        raise NotFound(f"{handle} has no version {number} of its Pulse that is for you to see")
    return rows[0]


def _before(tx: Transaction, entity_id: UUID, newer: VersionRow) -> VersionRow | None:
    rows = store.versions(tx, entity_id, newer.level, before=newer.version, most=1)
    return rows[0] if rows else None


def _statements(row: VersionRow) -> list[Statement]:
    return list(map(Statement.from_json, row.statements))


def _told(row: VersionRow, clearance: int) -> JsonObject:
    sees_all = clearance >= RESTRICTED
    return {
        **_named(row), "markdown": row.markdown, "citations": [*row.citations], "model": row.model,
        "cost_usd": f"{row.cost_usd:f}", "causes": [*row.causes] if sees_all else None,
        "marks": row.marks if sees_all else None,
    }  # fmt: skip


def _named(row: VersionRow) -> JsonObject:
    return {"version": row.version, "generated_at": _iso(row.generated_at)}


def _iso(moment: datetime) -> str:
    return moment.isoformat()
