"""Where a search looks and what it never shows: types, projects, conversations, teams, levels, what was deleted."""

from dataclasses import dataclass, replace
from uuid import UUID

import pytest

from local.database import Cluster
from parlour.documents.pack_import import DocumentDraft
from parlour.infra import vector_indexes
from parlour.infra.ids import uuid7
from parlour.infra.queries import Query
from parlour.records.crud import RecordKey, resolve_record_ids
from parlour.records.pack_import import RecordDraft
from parlour.records.record_links import LinkDraft
from parlour.search import hybrid_search as searching
from parlour.search.hybrid_search import Question, search
from parlour.search.index import store
from parlour.search.index.embedders import Vector, embed_query, embed_texts
from parlour.search.index.message_rows import UnindexedMessage, message_row
from parlour.search.results import SearchResult
from parlour.search.scope import EVERYWHERE, SearchScope
from tests.integration.knowledge_tenant import KnowledgeTenant, execute

TOWER, POUR, PERMIT, ALONE = (
    RecordKey("project", "tower"),
    RecordKey("task", "pour"),
    RecordKey("task", "permit"),
    RecordKey("task", "alone"),
)
BOTH = pytest.mark.parametrize("by_words", [True, False])


@dataclass
class Hall:
    """A library and a conversation in it."""

    library: KnowledgeTenant

    def find(
        self,
        query: str,
        scope: SearchScope = EVERYWHERE,
        *,
        by_words: bool = False,
        team_id: UUID | None = None,
        most: int = 20,
    ) -> list[SearchResult]:
        library = self.library
        vector = None if by_words else embed_query(library.embedder, query)
        with library.database.transaction(library.principal) as tx:
            return search(
                library.principal, tx, Question(text=query, vector=vector), scope=scope, limit=most, team_id=team_id
            )

    def id_of(self, key: RecordKey) -> UUID:
        with self.library.database.transaction(self.library.principal) as tx:
            return resolve_record_ids(tx, [key])[key]

    def run(self, sql: str, **values: object) -> int:
        with self.library.database.transaction(self.library.principal) as tx:
            return execute(tx, sql, **values)

    def say(self, speaker: str, text: str, level: int = 0) -> None:
        library = self.library
        said = UnindexedMessage(
            uuid7(library.now), library.session_id, "Talk", speaker, text, library.now, level, is_searchable=True
        )
        draft = message_row(said)
        assert draft
        row_id = uuid7(library.now)
        vectors = embed_texts(library.embedder, [draft.content])
        with library.database.transaction(library.principal) as tx:
            execute(tx, _MESSAGE, id=said.id, session=library.session_id, body=text, now=library.now)
            store.add_message_rows(tx, [(row_id, said, draft)])
            store.store_vectors(tx, vectors.space, {row_id: vectors.by_text[draft.content]})

    def below(self, level: int) -> "Hall":
        return Hall(replace(self.library, principal=replace(self.library.principal, clearance=level)))

    def as_user(self) -> "Hall":
        return Hall(replace(self.library, principal=replace(self.library.principal, kind="user")))


_MESSAGE = """
INSERT INTO messages (tenant_id, id, session_id, binding_id, direction, state, channel, kind, body, sent_at,
                      received_at, indexed)
VALUES (current_tenant(), %(id)s, %(session)s, %(session)s, 'inbound', 'answered', 'web', 'text', %(body)s, %(now)s,
        %(now)s, true)
"""


@pytest.fixture
def hall(library: KnowledgeTenant) -> Hall:
    """permit -> pour -> tower by links; alone belongs to the tower as its project; a note about each."""
    keys = (TOWER, POUR, PERMIT, ALONE)
    library.import_records(*(RecordDraft(key, f"{key.key} record") for key in keys))
    library.import_links(LinkDraft(POUR, TOWER, "part_of"), LinkDraft(PERMIT, POUR, "allows"))
    library.import_documents(
        *(DocumentDraft(key.key, "Note", f"Crane note on the {key.key}.", record_key=key) for key in keys)
    )
    hall = Hall(library)
    hall.run("UPDATE entities SET project_id = %(p)s WHERE id = %(id)s", p=hall.id_of(TOWER), id=hall.id_of(ALONE))
    return hall


def notes(found: list[SearchResult]) -> set[str]:
    return {row.entity_key or "" for row in found if row.kind == "document_chunk"}


@BOTH
def test_a_project_is_itself_what_belongs_to_it_and_what_it_is_linked_to(hall: Hall, by_words: bool) -> None:
    scope = SearchScope(project_id=hall.id_of(TOWER))
    assert notes(hall.find("crane note", scope, by_words=by_words)) == {"tower", "pour", "alone"}


@BOTH
def test_a_document_in_a_projects_tree_is_the_projects(hall: Hall, by_words: bool) -> None:
    hall.library.import_documents(DocumentDraft("loose", "Note", "Crane note on nothing."))
    hall.run("UPDATE documents SET project_id = %(p)s WHERE key = 'loose'", p=hall.id_of(TOWER))
    found = hall.find("crane note", SearchScope(project_id=hall.id_of(TOWER)), by_words=by_words)
    assert "loose" in {row.document_key for row in found}


@BOTH
def test_a_type_is_all_of_its_records(hall: Hall, by_words: bool) -> None:
    with hall.library.database.transaction(hall.library.principal) as tx:
        type_id = tx.value(Query("test.type", "-", "SELECT id FROM entity_types WHERE key = 'task'"))
    assert notes(hall.find("crane note", SearchScope(type_id=type_id), by_words=by_words)) == {
        "pour",
        "permit",
        "alone",
    }


def test_a_hit_says_which_record_it_is_about(hall: Hall) -> None:
    best = hall.find("crane note permit", by_words=True, most=1)[0]
    assert (best.entity_type, best.entity_key, best.entity_name) == ("task", "permit", "permit record")
    assert best.document_key == "permit"


def test_a_record_above_the_reader_is_not_named_by_a_row_below(hall: Hall) -> None:
    hall.run("UPDATE entities SET classification = 3 WHERE key = 'permit'")
    rows = [row for row in hall.below(1).find("crane note permit") if row.document_key == "permit"]
    assert [(row.entity_id, row.entity_key, row.entity_name) for row in rows] == [(None, None, None)]


@BOTH
def test_rows_of_what_was_deleted_are_not_found(hall: Hall, by_words: bool) -> None:
    hall.run("UPDATE entities SET deleted_at = now() WHERE key = 'permit'")
    hall.run("UPDATE documents SET deleted_at = now() WHERE key = 'pour'")
    found = hall.find("crane note record", by_words=by_words)
    assert notes(found) == {"tower", "alone"}
    assert {row.title for row in found if row.kind == "snapshot"} == {"tower record", "pour record", "alone record"}


@BOTH
def test_what_was_said_is_found_in_its_conversation_alone(hall: Hall, by_words: bool) -> None:
    hall.say("Priya", "The crane note is on my desk.")
    everywhere = hall.find("crane note desk", by_words=by_words)
    assert everywhere
    assert all(row.session_id is None for row in everywhere)
    (found,) = hall.find("crane note desk", SearchScope(session_id=hall.library.session_id), by_words=by_words)
    assert (found.body, found.session_id, found.kind) == (
        "The crane note is on my desk.",
        hall.library.session_id,
        "chat_message",
    )
    assert hall.find("crane note", SearchScope(session_id=uuid7(hall.library.now)), by_words=by_words) == []


def test_a_short_answer_is_found_by_the_question_before_it(hall: Hall) -> None:
    for number in range(40):
        hall.say("Asha", f"Bolt {number} was checked.")
    hall.say("Asha", "Which colour should the handrail get?")
    hall.say("Priya", "Green.")
    scope = SearchScope(session_id=hall.library.session_id)
    assert "Green." in [row.body for row in hall.find("colour of the handrail", scope, most=3)]


def test_a_speakers_name_is_no_word_to_look_for(hall: Hall) -> None:
    hall.say("Asha", "Good morning Priya.")
    hall.say("Priya", "The hoist is late.")
    scope = SearchScope(session_id=hall.library.session_id)
    assert next(row.body for row in hall.find("Priya hoist", scope, by_words=True)) == "The hoist is late."
    assert hall.find("Priya", scope, by_words=True) == []


@BOTH
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_nothing_above_the_reader_is_found_in_any_scope(hall: Hall, level: int, by_words: bool) -> None:
    notes = [
        DocumentDraft(f"at{at}", "Note", f"Wind note at {at}.", classification=at, record_key=TOWER) for at in range(4)
    ]
    hall.library.import_documents(*notes)
    for at in range(4):
        hall.say("Asha", f"Wind was {at} today", at)
    reader = hall.below(level)
    for scope in (EVERYWHERE, SearchScope(hall.id_of(TOWER)), SearchScope(project_id=hall.id_of(TOWER))):
        found = [row for row in reader.find("wind note", scope, by_words=by_words) if "Wind" in row.body]
        assert {row.classification for row in found} == set(range(level + 1))
    said = reader.find("wind today", SearchScope(session_id=hall.library.session_id), by_words=by_words)
    assert {row.classification for row in said} == set(range(level + 1))


@BOTH
@pytest.mark.parametrize("narrow", [False, True])
def test_a_teams_own_rows_are_for_the_team_and_for_members(hall: Hall, narrow: bool, by_words: bool) -> None:
    team, other = hall.library.session_id, uuid7(hall.library.now)
    hall.run("UPDATE context_rows SET team_id = %(team)s WHERE title = 'Note' AND content LIKE '%%tower%%'", team=team)
    scope = SearchScope(hall.id_of(TOWER)) if narrow else EVERYWHERE
    user = hall.as_user()
    assert "tower" in notes(hall.find("crane note", scope, by_words=by_words))
    assert "tower" in notes(user.find("crane note", scope, by_words=by_words, team_id=team))
    assert "tower" not in notes(user.find("crane note", scope, by_words=by_words, team_id=other))
    assert "tower" not in notes(user.find("crane note", scope, by_words=by_words))
    assert "tower" not in notes(hall.find("crane note", scope, by_words=by_words, team_id=other))


def test_the_turn_before_a_question_helps_to_find_what_it_means(hall: Hall) -> None:
    hall.library.import_documents(
        DocumentDraft("hoist", "Hoist", "The hoist carries two tonnes."),
        DocumentDraft("bus", "Bus", "A ticket for the bus costs three euros."),
    )
    library = hall.library
    asked, before = "What about it?", ["What does the hoist carry?"]
    with library.database.transaction(library.principal) as tx:
        found = search(library.principal, tx, Question(text=asked, vector=None, previous=before))
    assert found[0].document_key == "hoist"


@pytest.fixture
def large(hall: Hall, cluster: Cluster, database_name: str, monkeypatch: pytest.MonkeyPatch) -> Hall:
    """More vectors than are compared one by one, in an index as deployments have it."""
    hall.library.import_documents(
        *(DocumentDraft(f"n{number}", "Note", f"Beam {number} was set.") for number in range(300))
    )
    monkeypatch.setattr(searching, "MAX_EXACT_VECTORS", 50)
    with cluster.connect_as_superuser(database_name) as owner:
        vector_indexes.build_vector_indexes(owner, {"words@64": 64})
        owner.execute("VACUUM ANALYZE embeddings, context_rows")
        for name in ("seqscan", "bitmapscan", "sort"):  # so few rows would not be worth an index
            owner.execute(f'ALTER ROLE parlour_app IN DATABASE "{database_name}" SET enable_{name} = off'.encode())
    hall.library.database.close()
    return hall


def test_a_large_tenant_is_searched_by_its_index(large: Hall) -> None:
    library = large.library
    vector = embed_query(library.embedder, "crane note tower")
    scans = Query(
        "test.scans",
        "-",
        "SELECT sum(pg_stat_get_xact_numscans(indexrelid)) FROM pg_index"
        " WHERE pg_get_indexdef(indexrelid) LIKE '%%hnsw%%'",
    )
    with library.database.transaction(library.principal) as tx:
        before = tx.value(scans)
        found = search(library.principal, tx, Question(text="the of", vector=vector), limit=5)
        assert tx.value(scans) == before + 1
    assert found[0].body.startswith("Crane note")
    assert len(found) == 5


def test_where_the_index_gives_up_all_rows_are_compared(large: Hall) -> None:
    """What the reader may see is few and far from the question: no fewer rows come back than asked for."""
    large.run("UPDATE context_rows SET classification = 3 WHERE content LIKE '%%Beam%%'")
    far = Vector("words@64", large.library.embedder.embed(["Beam 1 was set."])[0])
    reader = large.below(0).library
    with reader.database.transaction(reader.principal) as tx:
        found = search(reader.principal, tx, Question(text="the of", vector=far), limit=8)
    assert len(found) == 8
    assert {row.classification for row in found} == {0}
