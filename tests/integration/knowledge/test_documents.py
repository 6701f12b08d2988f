"""Documents are written once, changed where they changed, and given back as they came."""

from dataclasses import replace

import pytest

from parlour.infra.errors import Conflict, InvalidRequest
from parlour.infra.ids import uuid7
from parlour.knowledge.documents.documents import DocumentDraft, prepare_documents, read_documents, write_documents
from parlour.knowledge.index.embed import Vectors, space
from parlour.knowledge.records.changes import Changes
from parlour.knowledge.records.drafts import EntityDraft
from parlour.knowledge.records.entities import EntityKey
from tests.integration.knowledge.conftest import Library, WordEmbedder

CONTRACT = DocumentDraft(
    key="contract",
    title="Contract",
    content="# Contract\n\n## Payment\n\nRetention is five per cent.\n\n## Delay\n\nDamages accrue weekly.\n",
    kind="contract",
    metadata={"date": "2025-11-20", "reference": "C-7"},
)
TOWER = EntityDraft(EntityKey("project", "tower"), "Riverside Tower", {"status": "open"})


def test_a_document_becomes_rows_with_vectors(library: Library) -> None:
    assert library.put(CONTRACT) == Changes(created=1)
    rows = library.rows()
    assert [(row.ordinal, row.content) for row in rows] == [
        (0, "[2025-11-20] Contract > Payment\nRetention is five per cent."),
        (1, "[2025-11-20] Contract > Delay\nDamages accrue weekly."),
    ]
    assert {tuple(row.spaces) for row in rows} == {("words@64",)}


def test_writing_the_same_again_writes_nothing(library: Library) -> None:
    library.put(CONTRACT)
    before = library.rows()
    sent = library.database.statements.by_name
    written = {name: sent[name] for name in ("documents.put_document", "index.add_row", "index.add_vector")}
    assert library.put(CONTRACT) == Changes(unchanged=1)
    assert library.rows() == before
    assert {name: sent[name] for name in written} == written
    assert "index.change_row" not in sent


def test_a_changed_passage_leaves_the_other_rows_alone(library: Library) -> None:
    library.put(CONTRACT)
    before = {row.content: row.id for row in library.rows()}
    changed = replace(CONTRACT, content=CONTRACT.content.replace("five", "ten") + "\n## New\n\nText.\n")
    assert library.put(changed) == Changes(changed=1)
    rows = library.rows()
    assert [row.ordinal for row in rows] == [0, 1, 2]
    assert "ten per cent" in rows[0].content
    assert rows[0].id not in before.values()
    assert rows[1].id == before["[2025-11-20] Contract > Delay\nDamages accrue weekly."]
    assert {tuple(row.spaces) for row in rows} == {("words@64",)}


def test_a_passage_that_is_gone_is_not_found_any_more(library: Library) -> None:
    library.put(CONTRACT)
    library.put(replace(CONTRACT, content="Damages accrue weekly."))
    assert [row.content for row in library.rows()] == ["[2025-11-20] Contract\nDamages accrue weekly."]


def test_level_kind_and_entity_flow_to_rows_whose_text_stays(library: Library) -> None:
    library.put_entities(TOWER)
    library.put(CONTRACT)
    ids = [row.id for row in library.rows() if row.document]
    assert library.put(replace(CONTRACT, classification=2, kind="deed", entity=TOWER.key)) == Changes(changed=1)
    rows = [row for row in library.rows() if row.document]
    assert [row.id for row in rows] == ids
    assert {(row.classification, row.entity, row.label) for row in rows} == {(2, "tower", "deed")}


def test_another_model_adds_its_vectors_and_leaves_the_documents_alone(library: Library) -> None:
    library.put(CONTRACT)
    moved = replace(library, embedder=WordEmbedder("words", 32))
    assert moved.put(CONTRACT) == Changes(unchanged=1)
    assert {tuple(row.spaces) for row in library.rows()} == {("words@32", "words@64")}


def test_a_document_about_nothing_known_is_refused(library: Library) -> None:
    with pytest.raises(InvalidRequest, match="project/moon"):
        library.put(replace(CONTRACT, entity=EntityKey("project", "moon")))
    assert library.rows() == []


def test_two_documents_of_one_key_are_refused(library: Library) -> None:
    with pytest.raises(InvalidRequest, match="contract is there twice"):
        library.put(CONTRACT, replace(CONTRACT, title="Other"))


def test_a_text_without_its_vector_is_a_conflict_and_writes_nothing(library: Library) -> None:
    library.put(CONTRACT)
    with library.database.transaction(library.principal) as tx:
        plan = prepare_documents(tx, [replace(CONTRACT, kind="deed")], space(library.embedder))
    assert list(plan.texts) == []
    library.put(replace(CONTRACT, content="Something else by somebody else."))
    with pytest.raises(Conflict, match="again"), library.database.transaction(library.principal) as tx:
        write_documents(library.principal, tx, plan, Vectors(space(library.embedder), {}), library.now, uuid7)
    assert [row.label for row in library.rows()] == ["contract"]


def test_an_empty_document_is_kept_and_has_no_rows(library: Library) -> None:
    assert library.put(DocumentDraft("empty", "Empty", " ")) == Changes(created=1)
    assert library.rows() == []


def test_documents_are_given_back_as_they_came(library: Library, other_library: Library) -> None:
    library.put_entities(TOWER)
    drafts = [replace(CONTRACT, entity=TOWER.key), DocumentDraft("annex", "Annex", "Text.", classification=3)]
    library.put(*drafts)
    with library.database.transaction(library.principal) as tx:
        assert read_documents(library.principal, tx) == sorted(drafts, key=lambda draft: draft.key)
        assert [draft.key for draft in read_documents(replace(library.principal, clearance=2), tx)] == ["contract"]
    with library.database.transaction(other_library.principal) as tx:
        assert read_documents(other_library.principal, tx) == []


def test_two_tenants_may_use_one_key(library: Library, other_library: Library) -> None:
    library.put(CONTRACT)
    assert other_library.put(CONTRACT) == Changes(created=1)
    assert {row.id for row in library.rows()}.isdisjoint(row.id for row in other_library.rows())
