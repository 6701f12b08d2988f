"""What the calls of forgotten turns did to the tenant's records, taken back as far as that can be.

A record that such a call made is deleted and emptied, unless somebody else has worked on it since. In such a one, and
in one that it changed, the values that still stand as the call wrote them are taken away, with every row that tells of
them; what the record's kind requires, and a record's name, stay and are told, for somebody has to say what is to stand
there instead.
"""

from datetime import datetime
from uuid import UUID

from parlour.forgetting import echoes, store, wrote
from parlour.forgetting.lineage import Reach
from parlour.forgetting.report import Report
from parlour.forgetting.store import ChangedRow
from parlour.infra.errors import InvalidRequest, NotFound
from parlour.infra.ids import NewId
from parlour.infra.postgres import Transaction
from parlour.knowledge.records import entities
from parlour.knowledge.records.record import Patch
from parlour.principal import Principal, system


def take_back(
    tx: Transaction, principal: Principal, reach: Reach, told: Report, now: datetime, new_id: NewId
) -> None:  # fmt: skip
    """Take back what the calls did; what cannot be is noted in the report. Done twice, the second finds nothing."""
    ids = {name: reach.ids(name) for name in ("entities", "documents", "edges")}
    if any(ids.values()):
        store.run(
            tx, "empty_records", ids=ids["entities"], documents=ids["documents"], edges=ids["edges"], now=now
        )  # fmt: skip
    for row in reach.changed:
        if row.id not in ids["entities"]:
            _restore(tx, principal, row, told, now, new_id)


def _restore(
    tx: Transaction, principal: Principal, row: ChangedRow, told: Report, now: datetime, new_id: NewId
) -> None:  # fmt: skip
    """One record that one call changed."""
    acting, origin = system(principal.tenant_id), f"forgotten:{told.id}"
    try:
        record = entities.read(acting, tx, row.id)
    except NotFound:
        return
    left = wrote.still(row.arguments, record.properties)
    required = [name for name in left if not _take_away(tx, acting, row.id, name, now, new_id, origin)]
    told.note("emptied", "entities", [f"{row.id}/{name}" for name in left if name not in required])
    told.note("kept", "entities", [f"{row.id}/{name}" for name in required], "its kind requires it: write another")
    if record.name and record.name in wrote.texts(row.arguments):
        told.note("kept", "entities", [f"{row.id}/name"], "a call gave it its name: rename it")
    if record.type == "document" and any(name in row.arguments for name in ("text", "more")):
        told.note("kept", "documents", [f"{row.id}/text"], "somebody has worked on it since: look through its text")
    patterns = echoes.patterns(wrote.telling(wrote.texts(list(left.values()))))
    rows = [row.row_id] if row.row_id else []
    store.run(tx, "drop_deltas", id=row.id, rows=rows, origin=origin, patterns=patterns)


def _take_away(
    tx: Transaction, acting: Principal, record_id: UUID, name: str, now: datetime, new_id: NewId, origin: str
) -> bool:
    """Whether the record can do without that property, and does."""
    try:
        entities.change(acting, tx, record_id, Patch(properties={name: None}), None, now, new_id, origin=origin)
    except InvalidRequest:
        return False
    return True
