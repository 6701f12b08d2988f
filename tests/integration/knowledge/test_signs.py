"""What recall reads of a conversation's rows is filled in batches: after a migration, and after a move of models."""

from collections.abc import Callable
from decimal import Decimal
from uuid import UUID

import pytest

from local.database import OWNER, Cluster, connect
from local.scratch import PASSWORD
from parlour.infra.ids import uuid7
from parlour.knowledge.index import embedder, signs
from parlour.knowledge.index.embed import Vector, embed_question
from parlour.knowledge.index.embedder import Services
from parlour.knowledge.index.spaces import Offer, Spaces
from parlour.knowledge.records import backfill
from parlour.knowledge.search.recall import recall
from tests.desk import Desk, WordEmbedder, says
from tests.integration.knowledge.test_reembed import Movers

TELLING = "The crane's permit number is KX-4471 and it ends in May."
ASKED = "What was the crane's permit number?"
TURNS = 6


@pytest.fixture
def session(desk: Desk) -> UUID:
    """A conversation of twelve messages, all with their rows and vectors."""
    visitor = desk.visit()
    made = desk.session_of(visitor)
    for text in (TELLING, *(f"Delivery {number} of gravel came at noon." for number in range(1, TURNS))):
        desk.write_web(visitor, made, text)
        desk.model.script = [says("Noted, thank you.")]
        desk.run()
    embed(desk)
    return made


def embed(desk: Desk, left: Callable[[], float] = lambda: 300.0) -> None:
    spaces = Spaces([Offer(WordEmbedder())])
    services = Services(desk.database, spaces, desk.embedding, backfill.backfill, Decimal(20), desk.clock, uuid7)
    embedder.run(services, desk.tenant_id, left)


def kept(desk: Desk) -> list[tuple[object, ...]]:
    return desk.rows(
        "SELECT id, word_bits::text, vector_bits::text, vector_space, heard::text FROM context_rows"
        " WHERE session_id IS NOT NULL ORDER BY id"
    )


def lacking(desk: Desk) -> int:
    ((number,),) = desk.rows(
        "SELECT count(*) FROM context_rows WHERE session_id IS NOT NULL"
        " AND (word_bits IS NULL OR vector_bits IS NULL OR vector_space IS NULL OR heard IS NULL)"
    )
    return int(str(number))


def best(desk: Desk, session: UUID, vector: Vector | None) -> str:
    with desk.database.transaction(desk.admin) as tx:
        return recall(desk.admin, tx, session, query=ASKED, vector=vector, since=TURNS + 1)[0].body


_UNDONE = {
    "0018_heard": """
        DROP TRIGGER keep_heard ON context_rows; DROP FUNCTION keep_heard; DROP FUNCTION heard_bits;
        DROP FUNCTION word_weight; DROP TABLE heard_fillings; ALTER TABLE context_rows DROP heard""",
    "0012_recall": """
        DROP FUNCTION recall_nearest; DROP FUNCTION word_bits; DROP TABLE recall_fillings;
        ALTER TABLE context_rows DROP word_bits, DROP vector_bits, DROP vector_space""",
}
"""What takes a migration back, the newest first."""


def migrated_anew(desk: Desk, cluster: Cluster, database_name: str, first: str) -> None:
    """The database as it was before a migration that this is about, migrated."""
    desk.database.close()
    undone = [name for name in _UNDONE if name >= first]
    with connect(cluster.parameters(database_name, OWNER)) as owner:
        for name in undone:
            owner.execute(_UNDONE[name].encode())
            owner.execute("DELETE FROM schema_migrations WHERE name = %s", (name,))
    assert cluster.migrate(database_name, desk.clock(), PASSWORD) == sorted(undone)


@pytest.fixture(params=sorted(_UNDONE))
def before(
    desk: Desk, session: UUID, cluster: Cluster, database_name: str, request: pytest.FixtureRequest
) -> list[tuple[object, ...]]:
    """What the rows had, in a database in which they were there before the migration."""
    assert session
    found = kept(desk)
    migrated_anew(desk, cluster, database_name, request.param)
    return found


def test_rows_from_before_the_migration_are_filled_by_the_embedder(
    desk: Desk, before: list[tuple[object, ...]]
) -> None:
    assert lacking(desk) == len(before) == 2 * TURNS
    assert desk.rows("SELECT kind FROM work_due WHERE kind = 'embedding' AND due_at <= now()") == [("embedding",)]
    embed(desk)
    assert kept(desk) == before
    assert desk.rows("SELECT 1 FROM heard_fillings") == []
    assert desk.rows("SELECT 1 FROM work_due WHERE kind = 'embedding'") == []


def test_what_lacks_it_is_found_meanwhile(desk: Desk, session: UUID, before: list[tuple[object, ...]]) -> None:
    assert lacking(desk) == len(before)
    assert best(desk, session, embed_question(WordEmbedder(), ASKED)) == TELLING
    assert best(desk, session, None) == TELLING


@pytest.mark.parametrize("before", ["0018_heard"], indirect=True)
@pytest.mark.usefixtures("before")
def test_what_was_compared_before_the_migration_is_compared_as_it_was(
    desk: Desk, session: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a conversation that is longer than what is compared whole."""
    monkeypatch.setattr("parlour.knowledge.search.recall._POOL", 4)
    asked = embed_question(WordEmbedder(), ASKED)
    assert [best(desk, session, vector) for vector in (asked, None)] == [TELLING] * 2
    embed(desk)
    assert [best(desk, session, vector) for vector in (asked, None)] == [TELLING] * 2


@pytest.mark.usefixtures("before")
def test_killed_half_way_it_goes_on_where_it_was_the_newest_first(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "BATCH", 5)
    filled: list[int] = []
    real = signs.fill

    def fill(*given: object) -> None:
        if len(filled) == 1:
            filled.append(-1)
            raise RuntimeError("the worker dies")
        real(*given)  # type: ignore[arg-type]
        filled.append(lacking(desk))

    monkeypatch.setattr(signs, "fill", fill)
    with pytest.raises(RuntimeError):
        embed(desk)
    newest = "SELECT heard IS NULL FROM context_rows WHERE session_id IS NOT NULL ORDER BY id DESC"
    assert desk.rows(newest) == [(False,)] * 5 + [(True,)] * 7
    embed(desk)
    assert filled == [7, -1, 2, 0, 0]


@pytest.mark.usefixtures("before")
def test_what_does_not_fit_into_the_time_is_left_to_a_nudge(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "BATCH", 5)
    left = iter([300.0, 300.0, 300.0, 0.0, 0.0])
    desk.embedding.sent.clear()
    embed(desk, lambda: next(left))
    assert 0 < lacking(desk) < 2 * TURNS
    assert desk.embedding.sent == [({"tenant_id": str(desk.tenant_id)}, 0)]


def test_after_a_move_to_another_model_they_are_of_its_space(desk: Desk, session: UUID) -> None:
    movers = Movers(desk)
    movers.start()
    movers.run()
    assert {row[3] for row in kept(desk)} == {"other@32"}
    assert {len(str(row[2])) for row in kept(desk)} == {32}
    assert best(desk, session, embed_question(movers.new, ASKED)) == TELLING


def test_until_the_searches_have_moved_they_stay_of_the_space_that_is_searched(desk: Desk, session: UUID) -> None:
    movers, seen = Movers(desk), list[set[object]]()
    movers.new.during = lambda: seen.append({row[3] for row in kept(desk)})
    movers.start()
    movers.run()
    assert session
    assert seen
    assert all(spaces == {"words@64"} for spaces in seen)
