"""Records and links: written once, changed where they changed, and given back as they came."""

from dataclasses import replace

import pytest

from parlour.infra.errors import InvalidRequest
from parlour.knowledge.records.changes import Changes
from parlour.knowledge.records.drafts import EntityDraft, read_entities
from parlour.knowledge.records.edges import EdgeDraft, read_edges
from parlour.knowledge.records.entities import EntityKey
from parlour.knowledge.records.snapshots import RecordType
from tests.integration.knowledge.conftest import PROJECT, TASK, Library, WordEmbedder, execute

TOWER = EntityDraft(EntityKey("project", "tower"), "Riverside Tower", {"status": "open", "floors": 14})
POUR = EntityDraft(EntityKey("task", "tower"), "Slab pour", {"due": "2026-03-09"}, classification=2)
PART_OF = EdgeDraft(POUR.key, TOWER.key, "part_of")


def versions(library: Library) -> list[int]:
    with library.database.transaction(library.principal) as tx:
        counts = [execute(tx, "SELECT FROM entities WHERE version = %(v)s", v=version) for version in (1, 2, 3)]
    return [version for version, count in enumerate(counts, start=1) for _ in range(count)]


def test_a_record_is_searchable_by_its_snapshot(library: Library) -> None:
    assert library.put_entities(TOWER, POUR) == Changes(created=2)
    assert [(row.label, row.title, row.content, row.classification, row.spaces) for row in library.rows()] == [
        ("Project", "Riverside Tower", "Riverside Tower is a Project, status open\nfloors: 14", 0, ["words@64"]),
        ("Task", "Slab pour", "Slab pour (Task)\ndue: 2026-03-09", 2, ["words@64"]),
    ]


def test_writing_the_same_again_writes_nothing(library: Library) -> None:
    library.put_entities(TOWER, POUR)
    before = library.rows()
    assert library.put_entities(TOWER, POUR) == Changes(unchanged=2)
    assert library.rows() == before
    assert versions(library) == [1, 1]


def test_a_changed_record_has_a_new_version_and_a_new_snapshot(library: Library) -> None:
    library.put_entities(TOWER, POUR)
    changed = replace(TOWER, properties={"status": "stopped"})
    assert library.put_entities(changed, POUR) == Changes(changed=1, unchanged=1)
    assert library.rows()[0].content == "Riverside Tower is a Project, status stopped"
    assert versions(library) == [1, 2]


def test_another_level_keeps_the_row(library: Library) -> None:
    library.put_entities(TOWER)
    (before,) = library.rows()
    library.put_entities(replace(TOWER, classification=3))
    assert library.rows() == [replace(before, classification=3)]


def test_another_template_renders_the_snapshot_anew_and_leaves_the_record_alone(library: Library) -> None:
    library.put_entities(TOWER)
    other = RecordType("project", "Project", {}, {"semantic": "{{name}} has {{floors}} floors"})
    assert library.put_entities(TOWER, types=[other]) == Changes(unchanged=1)
    assert [row.content for row in library.rows()] == ["Riverside Tower has 14 floors\nstatus: open"]


def test_another_name_of_the_type_reaches_rows_whose_text_stays(library: Library) -> None:
    types = [RecordType("project", name, {}, {"semantic": "{{name}}"}) for name in ("Project", "Site")]
    library.put_entities(TOWER, types=types[:1])
    (before,) = library.rows()
    library.put_entities(TOWER, types=types[1:])
    assert library.rows() == [replace(before, label="Site")]


def test_another_model_adds_its_vectors(library: Library) -> None:
    library.put_entities(TOWER)
    assert replace(library, embedder=WordEmbedder("other")).put_entities(TOWER) == Changes(unchanged=1)
    assert library.rows()[0].spaces == ["other@64", "words@64"]


def test_a_deleted_record_that_is_written_again_is_a_new_one(library: Library) -> None:
    library.put_entities(TOWER)
    with library.database.transaction(library.principal) as tx:
        execute(tx, "UPDATE entities SET deleted_at = %(now)s", now=library.now)
        assert read_entities(library.principal, tx) == []
    assert library.put_entities(TOWER) == Changes(created=1)
    with library.database.transaction(library.principal) as tx:
        assert read_entities(library.principal, tx) == [TOWER]


def test_a_record_of_no_known_type_is_refused(library: Library) -> None:
    with pytest.raises(InvalidRequest, match="invoice/7"):
        library.put_entities(EntityDraft(EntityKey("invoice", "7"), "Invoice 7"))


def test_two_records_of_one_key_are_refused(library: Library) -> None:
    with pytest.raises(InvalidRequest, match="project/tower is there twice"):
        library.put_entities(TOWER, replace(TOWER, name="Other"))


def test_records_are_given_back_as_they_came(library: Library, other_library: Library) -> None:
    library.put_entities(POUR, TOWER, types=[TASK, PROJECT])
    with library.database.transaction(library.principal) as tx:
        assert read_entities(library.principal, tx) == [TOWER, POUR]
        assert read_entities(replace(library.principal, clearance=1), tx) == [TOWER]
    with library.database.transaction(other_library.principal) as tx:
        assert read_entities(other_library.principal, tx) == []


def test_a_link_is_added_once(library: Library, other_library: Library) -> None:
    library.put_entities(TOWER, POUR)
    back = EdgeDraft(TOWER.key, POUR.key, "has")
    assert library.link(PART_OF, PART_OF) == Changes(created=1)
    assert library.link(PART_OF, back) == Changes(created=1, unchanged=1)
    with library.database.transaction(library.principal) as tx:
        assert read_edges(library.principal, tx) == [back, PART_OF]
        assert read_edges(replace(library.principal, clearance=1), tx) == []
    with library.database.transaction(other_library.principal) as tx:
        assert read_edges(other_library.principal, tx) == []


def test_a_link_to_nothing_is_refused(library: Library, other_library: Library) -> None:
    library.put_entities(POUR)
    other_library.put_entities(TOWER)
    with pytest.raises(InvalidRequest, match="project/tower"):
        library.link(PART_OF)


def test_no_links_are_no_links(library: Library) -> None:
    assert library.link() == Changes()
