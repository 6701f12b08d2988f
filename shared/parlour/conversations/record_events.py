"""What the tools of a turn did to records, as its feed tells it: what was done, and what is stored since."""

from collections.abc import Sequence

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.records import crud
from parlour.records.record import Record
from parlour.tools.builtin.operations import RecordOperation

type EventList = list[tuple[str, JsonObject]]
"""Kinds and payloads, in order."""


def record_events(principal: Principal, tx: Transaction, operations: Sequence[RecordOperation]) -> EventList:
    """Return an `operation` for each thing done, then an `entity_patch` for each record that is new or changed.

    Records are as stored now and as far as the principal may see them. One statement.
    """
    handles = list(dict.fromkeys(handle for one in operations for handle in (one.handle, one.target) if handle))
    stored = {entity.handle: entity for entity in crud.find_records(principal, tx, handles)}
    written = dict.fromkeys(one.handle for one in operations if one.action in ("create", "update"))
    told: EventList = []
    for one in operations:
        if one.handle in stored and (not one.target or one.target in stored):
            done: JsonObject = {"action": one.action, "status": "success", **_record_identity(stored[one.handle])}
            if one.target:
                done |= {"relation": one.relation, "other_record": _record_identity(stored[one.target])}
            told.append(("operation", done))
    return told + [("entity_patch", _record_payload(stored[handle])) for handle in written if handle in stored]


def _record_identity(entity: Record) -> JsonObject:
    """Return a record as people name it; the id is for pages that keep it."""
    return {
        "entity_type": entity.type,
        "entity_name": entity.name,
        "entity_id": str(entity.id),
        "handle": entity.handle,
    }


def _record_payload(entity: Record) -> JsonObject:
    return {
        **_record_identity(entity),
        "type_name": entity.type_name,
        "version": entity.version,
        "project": entity.project,
        "classification": entity.classification,
        "properties": entity.properties,
        "updated_at": entity.updated_at.isoformat(),
    }
