"""What packs say of kinds and projects: everybody's kinds without a definition, sources, and types that change."""

from datetime import datetime

import pytest

from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from parlour.jobs import work_due
from parlour.packs.export import export
from parlour.principal import Principal
from parlour.records import crud
from parlour.records.crud import RecordInput
from tests.integration.packs.conftest import ApplyFunction
from tests.unit.packs.sample_pack import SMALL_PACK, with_file

PROJECTS = "- {key: NRS, name: Northbank, properties: {state: active}}\n"
FINDINGS = """\
- key: F-1
  name: Gap in the guard rail
  project: project/NRS
  properties: {kind: safety, severity: high, status: open}
  sources:
    - {title: Site report, locator: section 3, page: 7}
"""
FILES = with_file("entities/project.yaml", PROJECTS) | {"entities/finding.yaml": FINDINGS}


def test_a_pack_has_records_of_everybodys_kinds(
    apply_pack: ApplyFunction, database: Database, operator: Principal
) -> None:
    apply_pack(FILES)
    with database.transaction(operator) as tx:
        finding = crud.get_record(operator, tx, "finding/F-1")
    assert (finding.project, finding.type_name) == ("project/NRS", "Finding")
    assert finding.properties["sources"] == [{"title": "Site report", "locator": "section 3", "page": 7}]


def test_applying_them_again_changes_nothing(apply_pack: ApplyFunction) -> None:
    assert apply_pack(FILES).has_changes
    assert not apply_pack(FILES).has_changes


def test_what_was_exported_applies_without_a_change(
    apply_pack: ApplyFunction, database: Database, operator: Principal, now: datetime
) -> None:
    apply_pack(FILES)
    with database.transaction(operator) as tx:
        new = RecordInput("risk", "Rain", properties={"severity": "low"}, project="project/NRS", classification=1)
        crud.create_record(operator, tx, new, now)
    exported = export(operator, database)
    assert exported.keys() == {*FILES, "entities/risk.yaml"}
    assert not apply_pack(exported).has_changes
    assert export(operator, database) == exported


@pytest.mark.parametrize(
    ("before", "after", "is_due"),
    [("since {{opened}}", "from {{opened}} on", True), ("[status]", "[]", False)],
)
def test_a_type_that_tells_otherwise_has_its_other_records_described_anew(
    apply_pack: ApplyFunction, database: Database, operator: Principal, before: str, after: str, is_due: bool
) -> None:
    apply_pack(SMALL_PACK)
    file = SMALL_PACK["entity_types/site.yaml"]
    assert before in file
    apply_pack(with_file("entity_types/site.yaml", file.replace(before, after)))
    query = Query("test.t", "-", "SELECT id FROM entity_types WHERE key = 'site'")
    with database.transaction(operator) as tx:
        assert (work_due.find(tx, "record_type", tx.value(query)) is not None) is is_due


def test_applying_writes_nothing_of_what_people_wrote(
    apply_pack: ApplyFunction, database: Database, operator: Principal, now: datetime
) -> None:
    apply_pack(FILES)
    with database.transaction(operator) as tx:
        made = crud.create_record(operator, tx, RecordInput("finding", "Loose plank"), now)
    apply_pack(FILES)
    with database.transaction(operator) as tx:
        assert crud.get_record(operator, tx, made.handle) == made
