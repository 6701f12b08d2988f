"""Documents that are written here: records with a text, in a project's tree, found by their pieces at once."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from parlour.documents import authored_documents, catalogue, tree
from parlour.documents.authored_documents import DocumentPatch, NewDocument
from parlour.documents.catalogue import Document
from parlour.documents.pack_import import DocumentDraft, export_documents
from parlour.documents.projects import create_project
from parlour.infra.errors import Conflict, Forbidden, InvalidRequest, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal
from parlour.records import crud
from parlour.records.record import RecordInput, RecordKey, RecordPatch
from parlour.search.hybrid_search import Question, search
from tests.integration.knowledge_tenant import KnowledgeTenant, execute

TOWER = RecordInput("project", "Tower", key="tower")
TEXT = "# Method\n\nThe slab is poured in two bays.\n\n## Curing\n\nSeven days under wet hessian.\n"


@pytest.fixture
def tower(library: KnowledgeTenant) -> KnowledgeTenant:
    """A library with a project."""
    do(library, lambda tx: create_project(library.principal, tx, TOWER, "", library.now))
    return library


def do[R](library: KnowledgeTenant, work: Callable[[Transaction], R]) -> R:
    with library.database.transaction(library.principal) as tx:
        return work(tx)


def write(
    library: KnowledgeTenant,
    title: str,
    content: str = "",
    project: str | None = "project/tower",
    origin: str | None = None,
    **more: object,
) -> Document:
    new = NewDocument(project, title, content=content, **more)  # type: ignore[arg-type]
    return do(
        library,
        lambda tx: authored_documents.create_document(library.principal, tx, new, library.now, origin=origin),
    )


def revise(library: KnowledgeTenant, ref: str, version: int | None = None, **changes: object) -> Document:
    revision = DocumentPatch(version=version, **changes)  # type: ignore[arg-type]
    return do(
        library,
        lambda tx: authored_documents.revise_document(library.principal, tx, ref, revision, library.now),
    )


def remove(library: KnowledgeTenant, ref: str, version: int | None = None) -> None:
    do(library, lambda tx: authored_documents.delete_document(library.principal, tx, ref, version, library.now))


def move(library: KnowledgeTenant, ref: str, parent: str | None, position: int | None = None) -> None:
    do(library, lambda tx: authored_documents.move_document(library.principal, tx, ref, parent, position))


def outline(library: KnowledgeTenant) -> list[tuple[str, int]]:
    """(title, depth) of the project's documents, the context document left out."""
    seen = do(library, lambda tx: catalogue.read_project_tree(library.principal, tx, "project/tower"))
    found = [(seen.by_id[one.document_id], one.depth) for one in seen.entries]
    return [(document.title, depth) for document, depth in found if not document.is_context]


def found(library: KnowledgeTenant, query: str) -> list[str]:
    rows = do(library, lambda tx: search(library.principal, tx, Question(text=query, vector=None)))
    return [row.content for row in rows if row.kind == "document_chunk"]


def deltas(library: KnowledgeTenant, title: str) -> list[str]:
    rows = library.rows(changes=True)
    return [row.content for row in rows if row.title == title and row.label and "] " in row.content]


def reader(library: KnowledgeTenant, clearance: int) -> KnowledgeTenant:
    return replace(library, principal=replace(library.principal, clearance=clearance))


def test_a_document_is_a_record_with_a_handle_made_from_its_title(tower: KnowledgeTenant) -> None:
    document = write(tower, "Pouring method", TEXT, description="How the slab is poured")
    assert document.handle.startswith("document/pouring-method-")
    assert (document.length, document.version, document.state) == (len(TEXT), 1, "draft")
    record = do(tower, lambda tx: crud.get_record(tower.principal, tx, document.handle))
    assert record.name == "Pouring method"
    assert record.project == document.project == "project/tower"
    assert record.properties["description"] == "How the slab is poured"


def test_what_is_written_is_found_by_its_words_at_once_and_gets_its_vectors_later(tower: KnowledgeTenant) -> None:
    write(tower, "Pouring method", TEXT)
    assert found(tower, "wet hessian") == ["Pouring method > Method > Curing\nSeven days under wet hessian."]
    pending = do(tower, lambda tx: execute(tx, "SELECT FROM context_rows WHERE pending AND kind = 'document_chunk'"))
    due = do(tower, lambda tx: execute(tx, "SELECT FROM work_due WHERE kind = 'embedding'"))
    assert (pending, due) == (2, 1)


def test_the_same_call_again_finds_what_it_made(tower: KnowledgeTenant) -> None:
    first = write(tower, "Method", TEXT, origin="call-1")
    again = write(tower, "Method", TEXT, origin="call-1")
    assert again.id == first.id
    assert outline(tower) == [("Method", 0)]


def test_documents_stand_where_they_were_put(tower: KnowledgeTenant) -> None:
    first = write(tower, "First")
    write(tower, "Second")
    write(tower, "Under the first", parent=first.handle)
    write(tower, "Before all", position=0)
    assert outline(tower) == [("Before all", 0), ("First", 0), ("Under the first", 1), ("Second", 0)]


def test_a_document_moves_with_what_stands_under_it_and_leaves_no_gap_when_it_goes(tower: KnowledgeTenant) -> None:
    first, second = write(tower, "First"), write(tower, "Second")
    write(tower, "Under the first", parent=first.handle)
    move(tower, first.handle, second.handle)
    assert outline(tower) == [("Second", 0), ("First", 1), ("Under the first", 2)]
    remove(tower, first.handle)
    assert outline(tower) == [("Second", 0), ("Under the first", 1)]
    remove(tower, second.handle)
    assert outline(tower) == [("Under the first", 0)]


def test_a_document_cannot_stand_under_itself_or_in_another_projects_tree(tower: KnowledgeTenant) -> None:
    first = write(tower, "First")
    under = write(tower, "Under", parent=first.handle)
    with pytest.raises(InvalidRequest, match="under itself"):
        move(tower, first.handle, under.handle)
    do(tower, lambda tx: create_project(tower.principal, tx, replace(TOWER, key="bridge"), "", tower.now))
    with pytest.raises(InvalidRequest, match="not in this project's tree"):
        write(tower, "Lost", project="project/bridge", parent=first.handle)
    loose = write(tower, "Loose", project=None)
    with pytest.raises(InvalidRequest, match="no project's tree"):
        move(tower, loose.handle, None)


def test_a_revision_is_found_by_its_new_words_and_no_more_by_the_old(tower: KnowledgeTenant) -> None:
    document = write(tower, "Method", TEXT)
    after = revise(tower, document.handle, 1, content=TEXT.replace("wet hessian", "plastic sheets"))
    assert after.version == 2
    assert found(tower, "hessian") == []
    assert found(tower, "plastic sheets")
    said = [row.content for row in tower.rows(changes=True) if "text: revised in Curing" in row.content]
    assert len(said) == 1


def test_a_revision_of_what_somebody_else_changed_is_refused(tower: KnowledgeTenant) -> None:
    document = write(tower, "Method", TEXT)
    revise(tower, document.handle, 1, description="How")
    with pytest.raises(Conflict, match="version 2, not 1"):
        revise(tower, document.handle, 1, description="Why")
    with pytest.raises(Conflict, match="version 2, not 1"):
        remove(tower, document.handle, 1)


def test_a_new_title_and_state_are_the_records_too(tower: KnowledgeTenant) -> None:
    document = write(tower, "Method", TEXT)
    revise(tower, document.handle, title="Pouring", state="published", description="How")
    record = do(tower, lambda tx: crud.get_record(tower.principal, tx, document.handle))
    assert (record.name, record.properties["state"]) == ("Pouring", "published")
    assert found(tower, "hessian") == ["Pouring > Method > Curing\nSeven days under wet hessian."]
    do(
        tower,
        lambda tx: crud.update_record(
            tower.principal, tx, document.handle, RecordPatch(name="Placing"), None, tower.now
        ),
    )
    assert do(tower, lambda tx: catalogue.get_document(tower.principal, tx, document.handle)).title == "Placing"
    assert {row.title for row in tower.rows() if row.document} == {"Placing"}


def test_a_removed_document_is_found_by_nothing_and_nobody(tower: KnowledgeTenant) -> None:
    document = write(tower, "Method", TEXT)
    remove(tower, document.handle)
    assert found(tower, "hessian") == []
    for look in (catalogue.get_document, crud.get_record):
        with pytest.raises(NotFound):
            do(tower, lambda tx, look=look: look(tower.principal, tx, document.handle))  # type: ignore[misc]
    assert do(tower, lambda tx: execute(tx, "SELECT FROM document_nodes")) == 1  # the context document's


def test_a_record_that_is_deleted_takes_its_document_along(tower: KnowledgeTenant) -> None:
    document = write(tower, "Method", TEXT, key="method")
    under = write(tower, "Under", parent=document.handle)
    do(tower, lambda tx: crud.delete_record(tower.principal, tx, document.handle, None, tower.now))
    assert outline(tower) == [("Under", 0)]
    assert found(tower, "hessian") == []
    again = write(tower, "Method", "Anew.", key="method", parent=under.handle)
    assert outline(tower) == [("Under", 0), ("Method", 1)]
    assert again.length == 5


def test_the_readers_clearance_decides_and_nothing_tells_of_what_is_above_it(tower: KnowledgeTenant) -> None:
    write(tower, "Open")
    secret = write(tower, "Margin", "The margin is nine per cent.", classification=3)
    write(tower, "Under the margin", parent=secret.handle)
    below = reader(tower, 1)
    assert outline(below) == [("Open", 0), ("Under the margin", 0)]
    assert found(below, "margin nine") == []
    with pytest.raises(NotFound):
        do(below, lambda tx: catalogue.get_document(below.principal, tx, secret.handle))
    with pytest.raises(NotFound):
        write(below, "New", parent=secret.handle)
    with pytest.raises(Forbidden):
        write(below, "New", classification=2)
    listed = do(below, lambda tx: catalogue.list_newest_documents(below.principal, tx))
    assert "Margin" not in [document.title for document in listed.documents]


def test_a_record_whose_level_rises_takes_its_text_along(tower: KnowledgeTenant) -> None:
    document = write(tower, "Method", TEXT)
    raised = RecordPatch(classification=3)
    do(tower, lambda tx: crud.update_record(tower.principal, tx, document.handle, raised, None, tower.now))
    below = reader(tower, 2)
    assert found(below, "hessian") == []
    assert outline(below) == []


def test_a_teams_documents_are_that_teams_and_its_colleagues(tower: KnowledgeTenant) -> None:
    tower.import_documents(DocumentDraft("procedure.md", "Procedure", TEXT, record_key=RecordKey("project", "tower")))
    do(
        tower,
        lambda tx: execute(
            tx, "UPDATE documents SET team_id = %(team)s WHERE key = 'procedure.md'", team=tower.session_id
        ),
    )
    visitor = Principal(tower.principal.tenant_id, "user", uuid7(tower.now), clearance=3)
    other = uuid7(tower.now)
    for team, titles in ((tower.session_id, ["Procedure"]), (other, []), (None, [])):
        listed = do(tower, lambda tx, team=team: catalogue.list_newest_documents(visitor, tx, team_id=team))  # type: ignore[misc]
        assert [document.title for document in listed.documents if not document.is_context] == titles
    seen = do(tower, lambda tx: catalogue.read_project_tree(tower.principal, tx, "project/tower"))
    assert [document.title for document in seen.unplaced] == ["Procedure"]


def test_a_packs_document_is_listed_with_its_project_and_changed_in_the_pack_only(tower: KnowledgeTenant) -> None:
    about = RecordKey("project", "tower")
    tower.import_documents(DocumentDraft("plan.md", "Plan", "The pour is on Monday.", record_key=about))
    seen = do(tower, lambda tx: catalogue.read_project_tree(tower.principal, tx, "project/tower"))
    assert [document.handle for document in seen.unplaced] == ["document/plan.md"]
    with pytest.raises(InvalidRequest, match="pack"):
        revise(tower, "document/plan.md", content="x")
    with pytest.raises(Conflict, match="another key"):
        write(tower, "Plan", key="plan.md")


def test_a_pack_does_not_write_over_what_people_wrote(tower: KnowledgeTenant) -> None:
    write(tower, "Plan", TEXT, key="plan.md")
    with pytest.raises(InvalidRequest, match="does not come from a pack"):
        tower.import_documents(DocumentDraft("plan.md", "Plan", "Mine."))
    exported = do(tower, lambda tx: export_documents(tower.principal, tx))
    assert "plan.md" not in [draft.key for draft in exported]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"title": "  "}, "title: must not be empty"),
        ({"title": "x" * 301}, "title: has 301"),
        ({"title": "x", "content": "y" * 200_001}, "content: has 200,001"),
        ({"title": "x", "project": None, "parent": "document/none"}, "name the project"),
        ({"title": "x", "project": "task/none"}, "record .* not found"),
        ({"title": "x", "parent": "document/none"}, "document .* not found"),
    ],
)
def test_what_cannot_be_is_refused_by_name(tower: KnowledgeTenant, changes: dict[str, object], message: str) -> None:
    with pytest.raises((InvalidRequest, NotFound), match=message):
        write(tower, **changes)  # type: ignore[arg-type]


def test_a_project_comes_with_its_context_in_the_users_words_only(library: KnowledgeTenant) -> None:
    words = "We want twelve floors by March, and no night work."
    begun = do(library, lambda tx: create_project(library.principal, tx, TOWER, words, library.now, "call-7"))
    again = do(library, lambda tx: create_project(library.principal, tx, TOWER, words, library.now, "call-7"))
    assert (again.project.id, again.context_document.id) == (begun.project.id, begun.context_document.id)
    assert begun.context_document.is_context
    assert do(library, lambda tx: catalogue.read_text(tx, begun.context_document)) == words
    linked = do(library, lambda tx: execute(tx, "SELECT FROM edges WHERE relation = 'contains'"))
    assert linked == 1


def test_a_trees_outline_has_titles_and_no_text(tower: KnowledgeTenant) -> None:
    write(tower, "Method", TEXT, description="How the slab is poured")

    def look(tx: Transaction) -> str:
        home = crud.get_record(tower.principal, tx, "project/tower")
        return tree.render_outline(catalogue.read_tree(tower.principal, tx, home).outline_lines(), 500, len)

    text = do(tower, look)
    assert "- Method (document/method-" in text
    assert "hessian" not in text


def test_the_newest_come_first_page_by_page(tower: KnowledgeTenant) -> None:
    for number in range(5):
        later = replace(tower, now=tower.now.replace(second=number))
        write(later, f"Note {number}")
    titles: list[str] = []
    cursor = ""
    for _ in range(6):
        page = do(tower, lambda tx, at=cursor: catalogue.list_newest_documents(tower.principal, tx, at, limit=2))  # type: ignore[misc]
        titles += [document.title for document in page.documents]
        cursor = page.next_cursor
        if not cursor:
            break
    assert len(titles) == len(set(titles)) == 6
    with pytest.raises(InvalidRequest, match="cursor"):
        do(tower, lambda tx: catalogue.list_newest_documents(tower.principal, tx, "nonsense!"))


def test_writers_of_one_tree_at_once_leave_no_gaps(
    tower: KnowledgeTenant, open_database: Callable[[], Database]
) -> None:
    homes = [replace(tower, database=open_database()) for _ in range(4)]
    problems: list[Exception] = []

    def work(own: KnowledgeTenant, number: int) -> None:
        try:
            for step in range(5):
                document = write(own, f"Note {number}.{step}", position=0)
                if step % 2:
                    move(own, document.handle, None, 3)
                if step == 4:
                    remove(own, document.handle)
        except Exception as error:  # noqa: BLE001 - told by the main thread
            problems.append(error)

    threads = [threading.Thread(target=work, args=(own, number)) for number, own in enumerate(homes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(outline(tower)) == 16
    positions = do(tower, lambda tx: execute(tx, "SELECT FROM document_nodes WHERE position < 17"))
    assert positions == 17


def test_a_document_that_was_revised_meanwhile_is_not_removed(
    tower: KnowledgeTenant, open_database: Callable[[], Database]
) -> None:
    document = write(tower, "Method", TEXT)
    other, problems = replace(tower, database=open_database()), list[Exception]()

    def take_away() -> None:
        try:
            remove(other, document.handle, version=1)
        except Conflict as error:
            problems.append(error)

    removing = threading.Thread(target=take_away)
    with tower.database.transaction(tower.principal) as tx:
        change = DocumentPatch(content="# Method\n\nIn three bays.")
        authored_documents.revise_document(tower.principal, tx, document.handle, replace(change, version=1), tower.now)
        removing.start()
        removing.join(0.5)
    removing.join()
    assert "is at version 2, not 1" in str(problems)
    assert do(tower, lambda tx: catalogue.get_document(tower.principal, tx, document.handle)).version == 2


def test_a_project_that_the_reader_may_not_see_is_not_named_by_its_documents(tower: KnowledgeTenant) -> None:
    document = write(tower, "Method", TEXT)
    do(
        tower,
        lambda tx: crud.update_record(
            tower.principal, tx, "project/tower", RecordPatch(classification=3), None, tower.now
        ),
    )
    with pytest.raises(InvalidRequest, match="is in no project's tree"):
        move(reader(tower, 1), document.handle, None, 0)
