"""Records and links: written once, changed where they changed, and given back as they came."""

from dataclasses import replace

import pytest

from parlour.infra.errors import InvalidRequest
from parlour.records.crud import RecordKey
from parlour.records.pack_import import RecordDraft, export_records
from parlour.records.record_links import LinkDraft, export_links
from parlour.records.snapshots import SnapshotTemplate
from parlour.records.write_counts import WriteCounts
from tests.integration.knowledge_tenant import PROJECT, TASK, KnowledgeTenant, WordEmbedder, execute

TOWER = RecordDraft(RecordKey("project", "tower"), "Riverside Tower", {"status": "open", "floors": 14})
POUR = RecordDraft(RecordKey("task", "tower"), "Slab pour", {"due": "2026-03-09"}, classification=2)
PART_OF = LinkDraft(POUR.key, TOWER.key, "part_of")


def versions(library: KnowledgeTenant) -> list[int]:
    with library.database.transaction(library.principal) as tx:
        counts = [execute(tx, "SELECT FROM entities WHERE version = %(v)s", v=version) for version in (1, 2, 3)]
    return [version for version, count in enumerate(counts, start=1) for _ in range(count)]


def test_a_record_is_searchable_by_its_snapshot(library: KnowledgeTenant) -> None:
    assert library.import_records(TOWER, POUR) == WriteCounts(created=2)
    assert [(row.label, row.title, row.content, row.classification, row.spaces) for row in library.rows()] == [
        ("Project", "Riverside Tower", "Riverside Tower is a Project, status open\nfloors: 14", 0, ["words@64"]),
        ("Task", "Slab pour", "Slab pour (Task)\ndue: 2026-03-09", 2, ["words@64"]),
    ]


def test_writing_the_same_again_writes_nothing(library: KnowledgeTenant) -> None:
    library.import_records(TOWER, POUR)
    before = library.rows()
    assert library.import_records(TOWER, POUR) == WriteCounts(unchanged=2)
    assert library.rows() == before
    assert versions(library) == [1, 1]


def test_a_changed_record_has_a_new_version_and_a_new_snapshot(library: KnowledgeTenant) -> None:
    library.import_records(TOWER, POUR)
    changed = replace(TOWER, properties={"status": "stopped"})
    assert library.import_records(changed, POUR) == WriteCounts(changed=1, unchanged=1)
    assert library.rows()[0].content == "Riverside Tower is a Project, status stopped"
    assert versions(library) == [1, 2]


def test_another_level_keeps_the_row(library: KnowledgeTenant) -> None:
    library.import_records(TOWER)
    (before,) = library.rows()
    library.import_records(replace(TOWER, classification=3))
    assert library.rows() == [replace(before, classification=3)]


def test_another_template_renders_the_snapshot_anew_and_leaves_the_record_alone(library: KnowledgeTenant) -> None:
    library.import_records(TOWER)
    other = SnapshotTemplate("project", "Project", {}, {"semantic": "{{name}} has {{floors}} floors"})
    assert library.import_records(TOWER, types=[other]) == WriteCounts(unchanged=1)
    assert [row.content for row in library.rows()] == ["Riverside Tower has 14 floors\nstatus: open"]


def test_another_name_of_the_type_reaches_rows_whose_text_stays(library: KnowledgeTenant) -> None:
    types = [SnapshotTemplate("project", name, {}, {"semantic": "{{name}}"}) for name in ("Project", "Site")]
    library.import_records(TOWER, types=types[:1])
    (before,) = library.rows()
    library.import_records(TOWER, types=types[1:])
    assert library.rows() == [replace(before, label="Site")]


def test_another_model_adds_its_vectors(library: KnowledgeTenant) -> None:
    library.import_records(TOWER)
    assert replace(library, embedder=WordEmbedder("other")).import_records(TOWER) == WriteCounts(unchanged=1)
    assert library.rows()[0].spaces == ["other@64", "words@64"]


def test_a_deleted_record_that_is_written_again_is_a_new_one(library: KnowledgeTenant) -> None:
    library.import_records(TOWER)
    with library.database.transaction(library.principal) as tx:
        execute(tx, "UPDATE entities SET deleted_at = %(now)s", now=library.now)
        assert export_records(library.principal, tx) == []
    assert library.import_records(TOWER) == WriteCounts(created=1)
    with library.database.transaction(library.principal) as tx:
        assert export_records(library.principal, tx) == [TOWER]


def test_a_record_of_no_known_type_is_refused(library: KnowledgeTenant) -> None:
    with pytest.raises(InvalidRequest, match="invoice/7"):
        library.import_records(RecordDraft(RecordKey("invoice", "7"), "Invoice 7"))


def test_two_records_of_one_key_are_refused(library: KnowledgeTenant) -> None:
    with pytest.raises(InvalidRequest, match="project/tower is listed twice"):
        library.import_records(TOWER, replace(TOWER, name="Other"))


def test_records_are_given_back_as_they_came(library: KnowledgeTenant, other_library: KnowledgeTenant) -> None:
    library.import_records(POUR, TOWER, types=[TASK, PROJECT])
    with library.database.transaction(library.principal) as tx:
        assert export_records(library.principal, tx) == [TOWER, POUR]
        assert export_records(replace(library.principal, clearance=1), tx) == [TOWER]
    with library.database.transaction(other_library.principal) as tx:
        assert export_records(other_library.principal, tx) == []


def test_a_link_is_added_once(library: KnowledgeTenant, other_library: KnowledgeTenant) -> None:
    library.import_records(TOWER, POUR)
    back = LinkDraft(TOWER.key, POUR.key, "has")
    assert library.import_links(PART_OF, PART_OF) == WriteCounts(created=1)
    assert library.import_links(PART_OF, back) == WriteCounts(created=1, unchanged=1)
    with library.database.transaction(library.principal) as tx:
        assert export_links(library.principal, tx) == [back, PART_OF]
        assert export_links(replace(library.principal, clearance=1), tx) == []
    with library.database.transaction(other_library.principal) as tx:
        assert export_links(other_library.principal, tx) == []


def test_a_link_to_nothing_is_refused(library: KnowledgeTenant, other_library: KnowledgeTenant) -> None:
    library.import_records(POUR)
    other_library.import_records(TOWER)
    with pytest.raises(InvalidRequest, match="project/tower"):
        library.import_links(PART_OF)


def test_no_links_are_no_links(library: KnowledgeTenant) -> None:
    assert library.import_links() == WriteCounts()
