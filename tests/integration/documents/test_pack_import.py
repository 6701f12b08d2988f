"""Documents are written once, changed where they changed, and given back as they came."""

from dataclasses import replace

import pytest

from parlour.documents.pack_import import DocumentDraft, export_documents, import_documents, prepare_document_import
from parlour.infra.errors import Conflict, InvalidRequest
from parlour.records.crud import RecordKey
from parlour.records.pack_import import RecordDraft
from parlour.records.write_counts import WriteCounts
from parlour.search.index.embedders import Vectors, space_name
from tests.integration.knowledge_tenant import KnowledgeTenant, WordEmbedder

CONTRACT = DocumentDraft(
    key="contract",
    title="Contract",
    content="# Contract\n\n## Payment\n\nRetention is five per cent.\n\n## Delay\n\nDamages accrue weekly.\n",
    kind="contract",
    metadata={"date": "2025-11-20", "reference": "C-7"},
)
TOWER = RecordDraft(RecordKey("project", "tower"), "Riverside Tower", {"status": "open"})


def test_a_document_becomes_rows_with_vectors(library: KnowledgeTenant) -> None:
    assert library.import_documents(CONTRACT) == WriteCounts(created=1)
    rows = library.rows()
    assert [(row.ordinal, row.content) for row in rows] == [
        (0, "[2025-11-20] Contract > Payment\nRetention is five per cent."),
        (1, "[2025-11-20] Contract > Delay\nDamages accrue weekly."),
    ]
    assert {tuple(row.spaces) for row in rows} == {("words@64",)}


def test_writing_the_same_again_writes_nothing(library: KnowledgeTenant) -> None:
    library.import_documents(CONTRACT)
    before = library.rows()
    sent = library.database.statements.by_name
    written = {name: sent[name] for name in ("documents.upsert_document", "index.add_row", "index.add_vector")}
    assert library.import_documents(CONTRACT) == WriteCounts(unchanged=1)
    assert library.rows() == before
    assert {name: sent[name] for name in written} == written
    assert "index.update_row" not in sent


def test_a_changed_passage_leaves_the_other_rows_alone(library: KnowledgeTenant) -> None:
    library.import_documents(CONTRACT)
    before = {row.content: row.id for row in library.rows()}
    changed = replace(CONTRACT, content=CONTRACT.content.replace("five", "ten") + "\n## New\n\nText.\n")
    assert library.import_documents(changed) == WriteCounts(changed=1)
    rows = library.rows()
    assert [row.ordinal for row in rows] == [0, 1, 2]
    assert "ten per cent" in rows[0].content
    assert rows[0].id not in before.values()
    assert rows[1].id == before["[2025-11-20] Contract > Delay\nDamages accrue weekly."]
    assert {tuple(row.spaces) for row in rows} == {("words@64",)}


def test_a_passage_that_is_gone_is_not_found_any_more(library: KnowledgeTenant) -> None:
    library.import_documents(CONTRACT)
    library.import_documents(replace(CONTRACT, content="Damages accrue weekly."))
    assert [row.content for row in library.rows()] == ["[2025-11-20] Contract\nDamages accrue weekly."]


def test_level_kind_and_entity_flow_to_rows_whose_text_stays(library: KnowledgeTenant) -> None:
    library.import_records(TOWER)
    library.import_documents(CONTRACT)
    ids = [row.id for row in library.rows() if row.document]
    assert library.import_documents(
        replace(CONTRACT, classification=2, kind="deed", record_key=TOWER.key)
    ) == WriteCounts(changed=1)
    rows = [row for row in library.rows() if row.document]
    assert [row.id for row in rows] == ids
    assert {(row.classification, row.entity, row.label) for row in rows} == {(2, "tower", "deed")}


def test_another_model_adds_its_vectors_and_leaves_the_documents_alone(library: KnowledgeTenant) -> None:
    library.import_documents(CONTRACT)
    moved = replace(library, embedder=WordEmbedder("words", 32))
    assert moved.import_documents(CONTRACT) == WriteCounts(unchanged=1)
    assert {tuple(row.spaces) for row in library.rows()} == {("words@32", "words@64")}


def test_a_document_about_nothing_known_is_refused(library: KnowledgeTenant) -> None:
    with pytest.raises(InvalidRequest, match="project/moon"):
        library.import_documents(replace(CONTRACT, record_key=RecordKey("project", "moon")))
    assert library.rows() == []


def test_two_documents_of_one_key_are_refused(library: KnowledgeTenant) -> None:
    with pytest.raises(InvalidRequest, match="contract is listed twice"):
        library.import_documents(CONTRACT, replace(CONTRACT, title="Other"))


def test_a_text_without_its_vector_is_a_conflict_and_writes_nothing(library: KnowledgeTenant) -> None:
    library.import_documents(CONTRACT)
    with library.database.transaction(library.principal) as tx:
        plan = prepare_document_import(tx, [replace(CONTRACT, kind="deed")], space_name(library.embedder))
    assert list(plan.texts_to_embed) == []
    library.import_documents(replace(CONTRACT, content="Something else by somebody else."))
    with pytest.raises(Conflict, match="again"), library.database.transaction(library.principal) as tx:
        import_documents(library.principal, tx, plan, Vectors(space_name(library.embedder), {}), library.now)
    assert [row.label for row in library.rows()] == ["contract"]


def test_an_empty_document_is_kept_and_has_no_rows(library: KnowledgeTenant) -> None:
    assert library.import_documents(DocumentDraft("empty", "Empty", " ")) == WriteCounts(created=1)
    assert library.rows() == []


def test_documents_are_given_back_as_they_came(library: KnowledgeTenant, other_library: KnowledgeTenant) -> None:
    library.import_records(TOWER)
    drafts = [replace(CONTRACT, record_key=TOWER.key), DocumentDraft("annex", "Annex", "Text.", classification=3)]
    library.import_documents(*drafts)
    with library.database.transaction(library.principal) as tx:
        assert export_documents(library.principal, tx) == sorted(drafts, key=lambda draft: draft.key)
        assert [draft.key for draft in export_documents(replace(library.principal, clearance=2), tx)] == ["contract"]
    with library.database.transaction(other_library.principal) as tx:
        assert export_documents(other_library.principal, tx) == []


def test_two_tenants_may_use_one_key(library: KnowledgeTenant, other_library: KnowledgeTenant) -> None:
    library.import_documents(CONTRACT)
    assert other_library.import_documents(CONTRACT) == WriteCounts(created=1)
    assert {row.id for row in library.rows()}.isdisjoint(row.id for row in other_library.rows())
