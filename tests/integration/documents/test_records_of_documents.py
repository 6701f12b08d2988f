"""A document that is changed or deleted as any other record: its tree, its link and its pieces follow."""

from dataclasses import replace

import pytest

from parlour.documents import authored_documents, catalogue
from parlour.documents.authored_documents import NewDocument
from parlour.documents.pack_import import DocumentDraft
from parlour.documents.projects import create_project
from parlour.documents.store import Document
from parlour.infra.errors import Conflict, InvalidRequest
from parlour.records import crud, record_links
from parlour.records.record import Record, RecordInput, RecordPatch
from parlour.search.hybrid_search import Question, search
from tests.integration.knowledge_tenant import KnowledgeTenant, execute

TEXT = "# Method\n\nThe slab is poured in two bays.\n"


@pytest.fixture
def yard(library: KnowledgeTenant) -> KnowledgeTenant:
    """A library with two projects."""
    for key in ("tower", "bridge"):
        with library.database.transaction(library.principal) as tx:
            new = RecordInput("project", key.capitalize(), key)
            create_project(library.principal, tx, new, "", library.now)
    return library


def write(
    yard: KnowledgeTenant, title: str, parent: str | None = None, project: str | None = "project/tower"
) -> Document:
    with yard.database.transaction(yard.principal) as tx:
        return authored_documents.create_document(
            yard.principal, tx, NewDocument(project, title, content=TEXT, parent=parent, key=title), now=yard.now
        )


def patch(yard: KnowledgeTenant, ref: str, patch: RecordPatch, version: int | None = None) -> Record:
    with yard.database.transaction(yard.principal) as tx:
        return authored_documents.update_record_and_document(yard.principal, tx, ref, patch, version, yard.now)


def outline(yard: KnowledgeTenant, project: str) -> list[tuple[str, int, int]]:
    """(title, depth, position) of what stands in the tree."""
    with yard.database.transaction(yard.principal) as tx:
        seen = catalogue.read_project_tree(yard.principal, tx, project)
        assert len(seen.nodes) == len(seen.entries)
        return [(seen.by_id[one.document_id].title, one.depth, one.position) for one in seen.entries]


def links(yard: KnowledgeTenant, key: str) -> set[str]:
    with yard.database.transaction(yard.principal) as tx:
        return {one.source.key for one in record_links.export_links(yard.principal, tx) if one.target.key == key}


def test_a_document_goes_to_another_project_with_its_place_and_its_link(yard: KnowledgeTenant) -> None:
    for title, parent in (("Method", None), ("Curing", "document/Method"), ("Plan", None)):
        write(yard, title, parent)
    write(yard, "Piers", project="project/bridge")
    moved = patch(yard, "document/Method", RecordPatch(project="project/bridge"), 1)
    assert (moved.project, moved.version) == ("project/bridge", 2)
    assert outline(yard, "project/tower") == [("Project context: Tower", 0, 0), ("Curing", 0, 1), ("Plan", 0, 2)]
    assert outline(yard, "project/bridge") == [("Project context: Bridge", 0, 0), ("Piers", 0, 1), ("Method", 0, 2)]
    assert links(yard, "Method") == {"bridge"}
    with yard.database.transaction(yard.principal) as tx:
        assert catalogue.get_document(yard.principal, tx, "document/Method").project == "project/bridge"
    told = [row.content for row in yard.rows(changes=True) if row.entity == "tower"]
    assert any("no longer linked: contains Method (document/Method)" in one for one in told)


def test_a_document_leaves_its_project_and_finds_one_again(yard: KnowledgeTenant) -> None:
    write(yard, "Method")
    assert patch(yard, "document/Method", RecordPatch(project=None)).project is None
    assert [title for title, *_ in outline(yard, "project/tower")] == ["Project context: Tower"]
    assert links(yard, "Method") == set()
    patch(yard, "document/Method", RecordPatch(project="project/bridge"))
    assert outline(yard, "project/bridge")[1:] == [("Method", 0, 1)]


def test_a_document_leaves_a_project_that_its_mover_may_not_see(yard: KnowledgeTenant) -> None:
    write(yard, "Method")
    patch(yard, "project/tower", RecordPatch(classification=3))
    below = replace(yard, principal=replace(yard.principal, clearance=1))
    patch(below, "document/Method", RecordPatch(project="project/bridge"))
    assert [title for title, *_ in outline(yard, "project/tower")] == ["Project context: Tower"]
    assert links(yard, "Method") == {"bridge"}
    told = [row.classification for row in yard.rows(changes=True) if "no longer linked" in row.content]
    assert told == [3, 3]


def test_a_projects_context_stays_with_it(yard: KnowledgeTenant) -> None:
    with yard.database.transaction(yard.principal) as tx:
        (context,) = catalogue.read_project_tree(yard.principal, tx, "project/tower").by_id.values()
    with pytest.raises(InvalidRequest, match="is the context document of its project"):
        patch(yard, context.handle, RecordPatch(project="project/bridge"))


def test_the_pieces_of_a_document_read_their_records_new_title(yard: KnowledgeTenant) -> None:
    write(yard, "Method")
    changed = patch(yard, "document/Method", RecordPatch("Pouring", {"description": "How", "state": "scratch"}))
    pieces = [row for row in yard.rows() if row.document == "Method"]
    assert {(row.title, row.content.partition(" > ")[0]) for row in pieces} == {("Pouring", "Pouring")}
    with yard.database.transaction(yard.principal) as tx:
        assert [row.title for row in search(yard.principal, tx, Question(text="slab", vector=None))] == ["Pouring"]
        assert execute(tx, "SELECT FROM context_rows WHERE document_id IS NOT NULL AND pending AND title = 'Pouring'")
        found = catalogue.get_document(yard.principal, tx, "document/Method")
        assert (found.title, found.description, found.kind, found.version) == ("Pouring", "How", "scratch", 2)
    assert patch(yard, "document/Method", RecordPatch("Pouring"), changed.version).version == changed.version
    patch(yard, "document/Method", RecordPatch(properties={"description": None}))
    with yard.database.transaction(yard.principal) as tx:
        assert catalogue.get_document(yard.principal, tx, "document/Method").description == ""


def test_a_document_deleted_as_a_record_leaves_no_hole_in_the_tree(yard: KnowledgeTenant) -> None:
    for title, parent in (("Method", None), ("Curing", "document/Method"), ("Plan", None)):
        write(yard, title, parent)
    with pytest.raises(Conflict), yard.database.transaction(yard.principal) as tx:
        authored_documents.delete_record_and_document(yard.principal, tx, "document/Method", 2, yard.now)
    with yard.database.transaction(yard.principal) as tx:
        authored_documents.delete_record_and_document(yard.principal, tx, "document/Method", 1, yard.now)
        assert crud.find_records(yard.principal, tx, ["document/Method"]) == []
    assert outline(yard, "project/tower")[1:] == [("Curing", 0, 1), ("Plan", 0, 2)]


def test_a_packs_document_and_other_records_are_changed_as_ever(yard: KnowledgeTenant) -> None:
    yard.import_documents(DocumentDraft("plan.md", "Plan", TEXT))
    with yard.database.transaction(yard.principal) as tx:
        note = crud.create_record(yard.principal, tx, RecordInput("task", "Order"), yard.now)
    assert patch(yard, note.handle, RecordPatch(project="project/bridge")).project == "project/bridge"
    with yard.database.transaction(yard.principal) as tx:
        authored_documents.delete_record_and_document(yard.principal, tx, note.id, None, yard.now)
        assert crud.find_records(yard.principal, tx, [note.handle]) == []
