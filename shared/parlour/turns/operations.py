"""What the tools of a turn did to records, as its feed tells it: what was done, and what is stored since."""

from collections.abc import Mapping, Sequence

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.records import entities
from parlour.knowledge.records.record import Entity
from parlour.knowledge.tools.operations import Operation
from parlour.principal import Principal

type Events = list[tuple[str, JsonObject]]
"""Kinds and payloads, in order."""


def events(principal: Principal, tx: Transaction, done: Sequence[Operation]) -> Events:
    """An `operation` for each thing done, then an `entity_patch` for each record that is new or at a new version, as it
    is stored now and as far as the principal may see it. One statement."""
    handles = list(dict.fromkeys(handle for one in done for handle in (one.handle, one.other) if handle))
    stored = {entity.handle: entity for entity in entities.read_many(principal, tx, handles)}
    written = dict.fromkeys(one.handle for one in done if one.action in ("create", "update"))
    told: Events = [("operation", _operation(one, stored)) for one in done if _is_known(one, stored)]
    return told + [("entity_patch", _patch(stored[handle])) for handle in written if handle in stored]


def _is_known(one: Operation, stored: Mapping[str, Entity]) -> bool:
    """Whether its records are still there for this reader."""
    return one.handle in stored and (not one.other or one.other in stored)


def _operation(one: Operation, stored: Mapping[str, Entity]) -> JsonObject:
    told: JsonObject = {"action": one.action, "status": "done", **_named(stored[one.handle])}
    return {**told, "relation": one.relation, "other": _named(stored[one.other])} if one.other else told


def _named(entity: Entity) -> JsonObject:
    """A record as people name it; the id is for what a page keeps of it."""
    return {
        "entity_type": entity.type, "entity_name": entity.name, "entity_id": str(entity.id), "handle": entity.handle
    }  # fmt: skip


def _patch(entity: Entity) -> JsonObject:
    return {
        **_named(entity), "type_name": entity.type_name, "version": entity.version, "project": entity.project,
        "classification": entity.classification, "properties": entity.properties,
        "updated_at": entity.updated_at.isoformat(),
    }  # fmt: skip
