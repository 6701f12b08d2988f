"""Search finds by meaning and by words, inside tenant, level and scope, in one statement."""

from dataclasses import replace

import pytest

from local.database import Cluster
from parlour.documents.pack_import import DocumentDraft
from parlour.infra.queries import Query
from parlour.records.crud import RecordKey, resolve_record_ids
from parlour.records.pack_import import RecordDraft
from parlour.records.record_links import LinkDraft
from parlour.search.fusion import KEYWORD_WEIGHT, RRF_K
from parlour.search.hybrid_search import EVERYWHERE, Question, SearchScope, search
from parlour.search.index.embedders import Vector, embed_query
from parlour.search.results import SearchResult
from tests.integration.knowledge_tenant import KnowledgeTenant, WordEmbedder

RETENTION = DocumentDraft("retention", "Contract", "Retention of five per cent is released at handover.")
DELAY = DocumentDraft("delay", "Contract", "Damages for delay accrue at one per cent a week.")
CRANE = DocumentDraft("crane", "Report", "The tower crane stood still for two days because of wind.")


def ask(
    library: KnowledgeTenant, query: str, *, scope: SearchScope = EVERYWHERE, most: int = 6, by_words: bool = False
) -> list[SearchResult]:
    vector = None if by_words else embed_query(library.embedder, query)
    with library.database.transaction(library.principal) as tx:
        return search(library.principal, tx, Question(text=query, vector=vector), scope=scope, limit=most)


def bodies(found: list[SearchResult]) -> list[str]:
    return [row.body for row in found]


@pytest.fixture
def filled(library: KnowledgeTenant) -> KnowledgeTenant:
    library.import_documents(RETENTION, DELAY, CRANE)
    return library


def test_a_natural_question_finds_what_shares_some_of_its_words(filled: KnowledgeTenant) -> None:
    found = ask(filled, "When will the retention money of our contract be released?", by_words=True)
    assert bodies(found)[0] == RETENTION.content


def test_what_both_branches_put_first_has_the_highest_score(filled: KnowledgeTenant) -> None:
    best = ask(filled, "tower crane wind")[0]
    assert best.body == CRANE.content
    assert best.score == pytest.approx((1 + KEYWORD_WEIGHT) / (RRF_K + 1))
    assert (best.kind, best.title, best.locator, best.source_label) == ("document_chunk", "Report", "", "document")


def test_without_a_common_word_meaning_alone_finds(filled: KnowledgeTenant) -> None:
    crane = Vector("words@64", filled.embedder.embed([CRANE.content])[0])
    with filled.database.transaction(filled.principal) as tx:
        found = search(filled.principal, tx, Question(text="the of and", vector=crane), limit=2)
    assert bodies(found)[0] == CRANE.content
    assert [row.score for row in found] == pytest.approx([1 / (RRF_K + 1), 1 / (RRF_K + 2)])


def test_a_vector_of_another_space_is_not_compared(filled: KnowledgeTenant) -> None:
    other = replace(filled, embedder=WordEmbedder("words", 32))
    assert bodies(ask(other, "crane")) == [CRANE.content]


def test_no_words_and_no_vector_find_nothing(filled: KnowledgeTenant) -> None:
    assert ask(filled, "the of and", by_words=True) == []


@pytest.mark.parametrize(
    "query",
    [
        "",
        "'",
        "crane' | '",
        "\\",
        "crane\\'s",
        "a & b | !c <-> d:*",
        "%s %(query)s",
        "o'neill's \\\\ back\\slash",
        "state-of-the-art http://example.com/a'b?c=d&e='f' a@b.example",
        "नमस्ते क्रेन",
        "🏗️",
        "crane " * 5_000,
    ],
)
def test_any_text_is_a_question(filled: KnowledgeTenant, query: str) -> None:
    assert len(ask(filled, query)) <= 6
    ask(filled, query, by_words=True)


def test_lexemes_with_quotes_and_backslashes_are_searched_as_they_are(library: KnowledgeTenant) -> None:
    library.import_documents(
        DocumentDraft("link", "Link", "See http://example.com/it's\\here for the drawing."), RETENTION
    )
    assert bodies(ask(library, "http://example.com/it's\\here", by_words=True))[0].startswith("See http")


def test_no_more_than_asked_for(filled: KnowledgeTenant) -> None:
    assert len(ask(filled, "contract crane damages retention", most=2)) == 2


def test_more_than_a_branchs_depth_can_be_asked_for(library: KnowledgeTenant) -> None:
    library.import_documents(*(DocumentDraft(f"n{number}", "Note", f"Crane note {number}.") for number in range(50)))
    assert len(ask(library, "crane", most=45)) == 45


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_nothing_above_the_readers_level_is_found(library: KnowledgeTenant, level: int) -> None:
    library.import_documents(
        *(replace(CRANE, key=str(at), content=f"Crane at level {at}.", classification=at) for at in range(4))
    )
    reader = replace(library, principal=replace(library.principal, clearance=level))
    expected = {f"Crane at level {at}." for at in range(level + 1)}
    assert set(bodies(ask(reader, "crane level"))) == expected
    assert set(bodies(ask(reader, "crane level", by_words=True))) == expected


def test_another_tenants_rows_never_appear(filled: KnowledgeTenant, other_library: KnowledgeTenant) -> None:
    other_library.import_documents(replace(CRANE, content="Their crane."))
    assert bodies(ask(other_library, "crane retention delay")) == ["Their crane."]
    assert "Their crane." not in bodies(ask(filled, "crane retention delay"))
    assert bodies(ask(other_library, "retention", by_words=True)) == []


def test_without_a_tenant_nothing_is_found(filled: KnowledgeTenant) -> None:
    vector = embed_query(filled.embedder, "crane")
    with filled.database.transaction(None) as tx:
        assert search(filled.principal, tx, Question(text="crane", vector=vector)) == []


TOWER = RecordKey("project", "tower")
POUR = RecordKey("task", "pour")
PERMIT = RecordKey("task", "permit")
ELSEWHERE = RecordKey("task", "elsewhere")


@pytest.fixture
def linked(library: KnowledgeTenant) -> KnowledgeTenant:
    """permit -> pour -> tower; elsewhere stands alone; a document about each, and one about nothing."""
    keys = (TOWER, POUR, PERMIT, ELSEWHERE)
    library.import_records(*(RecordDraft(key, f"{key.key} record") for key in keys))
    library.import_links(LinkDraft(POUR, TOWER, "part_of"), LinkDraft(PERMIT, POUR, "allows"))
    notes = [DocumentDraft(key.key, "Note", f"Crane note on the {key.key}.", record_key=key) for key in keys]
    library.import_documents(*notes, DocumentDraft("loose", "Note", "Crane note on nothing."))
    return library


@pytest.mark.parametrize("by_words", [True, False])
@pytest.mark.parametrize(
    ("key", "reached"),
    [(TOWER, {"tower", "pour"}), (POUR, {"tower", "pour", "permit"}), (ELSEWHERE, {"elsewhere"})],
)
def test_a_scope_is_a_record_and_what_is_one_link_away(
    linked: KnowledgeTenant, key: RecordKey, reached: set[str], by_words: bool
) -> None:
    with linked.database.transaction(linked.principal) as tx:
        entity_id = resolve_record_ids(tx, [key])[key]
    found = ask(linked, "crane note record", scope=SearchScope(entity_id), most=20, by_words=by_words)
    notes = {f"Crane note on the {name}." for name in reached}
    assert {row.body for row in found if row.kind == "document_chunk"} == notes
    assert {row.title for row in found if row.kind == "snapshot"} == {f"{name} record" for name in reached}


def test_another_tenants_record_is_an_empty_scope(linked: KnowledgeTenant, other_library: KnowledgeTenant) -> None:
    with linked.database.transaction(linked.principal) as tx:
        entity_id = resolve_record_ids(tx, [TOWER])[TOWER]
    assert ask(other_library, "crane note record", scope=SearchScope(entity_id)) == []


def test_words_are_looked_up_in_their_index(library: KnowledgeTenant, cluster: Cluster, database_name: str) -> None:
    library.import_documents(*(DocumentDraft(f"n{number}", "Note", f"Note number{number}.") for number in range(2_000)))
    with cluster.connect_as_superuser(database_name) as owner:
        owner.execute("VACUUM ANALYZE context_rows")
    scans = Query("test.scans", "-", "SELECT pg_stat_get_xact_numscans('context_rows_lexemes'::regclass)")
    with library.database.transaction(library.principal) as tx:
        before = tx.value(scans)
        assert len(search(library.principal, tx, Question(text="number77 and number78", vector=None))) == 2
        assert tx.value(scans) == before + 1
