"""What the calls of forgotten turns did to the tenant's records, taken back as far as that can be.

A record that such a call made is deleted and emptied, unless somebody else has worked on it since. In such a one, and
in one that it changed, the values that still stand as the call wrote them are taken away, with every row that tells of
them; what the record's kind requires, and a record's name, stay and are told, for somebody has to say what is to stand
there instead.
"""

from datetime import datetime
from uuid import UUID

from parlour.erasure import quotations, store, tool_writes
from parlour.erasure.erasure_plan import ErasurePlan
from parlour.erasure.report import ErasureReport
from parlour.erasure.store import ChangedRecordRow
from parlour.infra.errors import InvalidRequest, NotFound
from parlour.infra.postgres import Transaction
from parlour.principal import Principal, system_principal
from parlour.records import crud
from parlour.records.record import RecordPatch


def revert_record_writes(
    tx: Transaction, principal: Principal, plan: ErasurePlan, report: ErasureReport, now: datetime
) -> None:
    """Take back what the calls did; what cannot be is noted in the report. Done twice, the second finds nothing."""
    ids = {name: plan.ids_of(name) for name in ("entities", "documents", "edges")}
    if any(ids.values()):
        store.execute(
            tx, "redact_records", ids=ids["entities"], documents=ids["documents"], edges=ids["edges"], now=now
        )
    for row in plan.changed_records:
        if row.id not in ids["entities"]:
            _revert_record(tx, principal, row, report, now)


def _revert_record(
    tx: Transaction, principal: Principal, row: ChangedRecordRow, report: ErasureReport, now: datetime
) -> None:
    """One record that one call changed."""
    acting, origin = system_principal(principal.tenant_id), f"forgotten:{report.id}"
    try:
        record = crud.get_record(acting, tx, row.id)
    except NotFound:
        return
    left = tool_writes.values_still_written(row.arguments, record.properties)
    required = [name for name in left if not _clear_property(tx, acting, row.id, name, now, origin)]
    report.record_rows("redacted", "entities", [f"{row.id}/{name}" for name in left if name not in required])
    report.record_rows(
        "kept", "entities", [f"{row.id}/{name}" for name in required], "its kind requires it: write another"
    )
    if record.name and record.name in tool_writes.argument_texts(row.arguments):
        report.record_rows("kept", "entities", [f"{row.id}/name"], "a call gave it its name: rename it")
    if record.type == "document" and any(name in row.arguments for name in ("text", "more")):
        report.record_rows(
            "kept", "documents", [f"{row.id}/text"], "somebody has worked on it since: look through its text"
        )
    patterns = quotations.ilike_patterns(
        tool_writes.distinctive_values(tool_writes.argument_texts(list(left.values())))
    )
    rows = [row.row_id] if row.row_id else []
    store.execute(tx, "delete_deltas", id=row.id, rows=rows, origin=origin, patterns=patterns)


def _clear_property(tx: Transaction, acting: Principal, record_id: UUID, name: str, now: datetime, origin: str) -> bool:
    """Whether the record can do without that property, and does."""
    try:
        crud.update_record(acting, tx, record_id, RecordPatch(properties={name: None}), None, now, origin=origin)
    except InvalidRequest:
        return False
    return True
