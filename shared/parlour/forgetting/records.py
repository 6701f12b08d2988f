"""What the calls of forgotten turns did to the tenant's records, taken back as far as that can be.

A record that such a call made is deleted and emptied. In one that it changed, the values that still stand as the call
wrote them are taken away, with every row that tells of them; what the record's kind requires, and a record's name, stay
and are told, for somebody has to say what is to stand there instead.
"""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from parlour.forgetting import echoes, store
from parlour.forgetting.lineage import Reach
from parlour.forgetting.report import Report
from parlour.forgetting.store import ChangedRow
from parlour.infra.errors import InvalidRequest, NotFound
from parlour.infra.ids import NewId
from parlour.infra.jsonable import Json
from parlour.infra.postgres import Database, Transaction
from parlour.knowledge.records import entities
from parlour.knowledge.records.record import Entity, Patch
from parlour.principal import Principal, system

_LEAST_WORDS = 3
"""Characters from which on a value is looked for in what tells of the record's changes."""


def take_back(
    principal: Principal, database: Database, reach: Reach, told: Report, now: datetime, new_id: NewId
) -> None:  # fmt: skip
    """Take back what the calls did; what cannot be is noted in the report."""
    ids = {name: reach.ids(name) for name in ("entities", "documents", "edges")}
    if any(ids.values()):
        database.run(principal, lambda tx: _empty(tx, ids, reach, now))
    for row in reach.changed:
        if row.id not in ids["entities"]:
            with database.transaction(principal) as tx:
                _restore(tx, principal, row, told, now, new_id)


def _empty(tx: Transaction, ids: dict[str, list[UUID]], reach: Reach, now: datetime) -> None:
    store.run(tx, "drop_context", ids=reach.standing_rows)
    store.run(tx, "empty_records", ids=ids["entities"], documents=ids["documents"], edges=ids["edges"], now=now)


def _restore(
    tx: Transaction, principal: Principal, row: ChangedRow, told: Report, now: datetime, new_id: NewId
) -> None:  # fmt: skip
    """One record that one call changed."""
    acting, origin = system(principal.tenant_id), f"forgotten:{told.id}"
    try:
        record = entities.read(acting, tx, row.id)
    except NotFound:
        return
    wrote = {name: value for name, value in written(row.arguments, record) if record.properties.get(name) == value}
    if wrote:
        try:
            patch = Patch(properties=dict.fromkeys(wrote))
            entities.change(acting, tx, row.id, patch, None, now, new_id, origin=origin)
            told.note("emptied", "entities", [f"{row.id}/{name}" for name in wrote])
        except InvalidRequest:
            names = ", ".join(sorted(wrote))
            told.note("kept", "entities", [row.id], f"its kind requires {names}: write something else there")
    if record.name and record.name in set(_texts(row.arguments)):
        told.note("kept", "entities", [f"{row.id}/name"], "a call gave it its name: rename it")
    values = [value for value in map(str, wrote.values()) if len(value) >= _LEAST_WORDS]
    store.run(
        tx, "drop_deltas", id=row.id, rows=[row.row_id], origin=origin, patterns=echoes.patterns(values)
    )  # fmt: skip


def written(arguments: Json, record: Entity) -> Iterator[tuple[str, Json]]:
    """The record's properties that a call's arguments name, with the values that it gave them."""
    if isinstance(arguments, list):
        for one in arguments:
            yield from written(one, record)
    elif isinstance(arguments, dict):
        for name, value in arguments.items():
            if name in record.properties and value is not None and not isinstance(value, dict):
                yield name, value
            yield from written(value, record)


def _texts(arguments: Json) -> Iterator[str]:
    if isinstance(arguments, str):
        yield arguments
    elif isinstance(arguments, list):
        for one in arguments:
            yield from _texts(one)
    elif isinstance(arguments, dict):
        for one in arguments.values():
            yield from _texts(one)
