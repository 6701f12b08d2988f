"""Records whose type says something else of them are described anew, batch by batch, until all are."""

from uuid import UUID

import pytest

from parlour.infra.json_values import JsonObject
from parlour.jobs import work_due
from parlour.records import backfill
from parlour.records.crud import RecordInput
from tests.integration.knowledge_tenant import KnowledgeTenant, execute
from tests.integration.records.record_harness import RecordHarness, open_record_harness

NOTE: JsonObject = {"note": {"type": "text"}}


@pytest.fixture
def desk(library: KnowledgeTenant) -> RecordHarness:
    desk = open_record_harness(library)
    desk.define_type("log", NOTE)
    return desk


def redefine(desk: RecordHarness, rag: JsonObject) -> UUID:
    """The next version of the kind, marked as an apply of a pack marks it."""
    with desk.transaction() as tx:
        execute(tx, "UPDATE entity_types SET rag = %(rag)s, version = version + 1 WHERE key = 'log'", rag=rag)
        type_id = desk.type_id(tx, "log")
        backfill.schedule_backfill(tx, type_id, desk.now)
    return type_id


def run(desk: RecordHarness, type_id: UUID, seconds: float = 60.0) -> bool:
    return backfill.run_backfill(desk.database, desk.principal.tenant_id, type_id, desk.now, lambda: seconds)


def test_a_new_template_reaches_every_record(desk: RecordHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill, "_BATCH", 2)
    made = [desk.create(RecordInput("log", f"Line {number}", properties={"note": "wet"})) for number in range(5)]
    type_id = redefine(desk, {"semantic": "On this day: {{note}}"})
    assert not run(desk, type_id, seconds=1.0)
    assert run(desk, type_id)
    for record in made:
        assert [row.content for row in desk.context_rows_of(record) if row.kind == "snapshot"] == ["On this day: wet"]
        assert desk.read(record.id) == record
    with desk.transaction() as tx:
        assert work_due.find(tx, "record_type", type_id) is None
        assert work_due.find(tx, "embedding", desk.principal.tenant_id)


def test_a_record_that_reads_the_same_keeps_its_row(desk: RecordHarness) -> None:
    desk.create(RecordInput("log", "Line", properties={"note": "wet"}))
    before = desk.row_ids()
    assert run(desk, redefine(desk, {"icon": "pen"}))
    assert desk.row_ids() == before


def test_a_kind_that_is_searched_no_more_loses_its_rows_and_gets_them_back(desk: RecordHarness) -> None:
    made = desk.create(RecordInput("log", "Line"))
    assert run(desk, redefine(desk, {"context": "off"}))
    assert desk.context_rows_of(made) == []
    assert run(desk, redefine(desk, {}))
    assert [row.kind for row in desk.context_rows_of(made)] == ["snapshot"]


def test_a_kind_that_gets_pulses_has_them_all_to_be_written(desk: RecordHarness) -> None:
    made = desk.create(RecordInput("log", "Line"))
    assert desk.read(made.id).stale_causes == []
    assert run(desk, redefine(desk, {"pulse": "auto"}))
    assert (desk.read(made.id).stale_causes, desk.read(made.id).stale_since) == (["type_changed"], desk.now)


def test_deleted_records_are_left_alone(desk: RecordHarness) -> None:
    made = desk.create(RecordInput("log", "Line"))
    desk.delete(made.id)
    assert run(desk, redefine(desk, {"semantic": "{{name}}!"}))
    assert desk.row_ids() == []
