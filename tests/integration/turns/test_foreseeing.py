"""What a turn recalls is looked for while its material is loaded, and once more where that was another question."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from local.database import Cluster
from parlour.context import fill
from parlour.infra import postgres
from parlour.infra.errors import RetryError, StatementTooSlow
from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from parlour.knowledge.search import store
from parlour.knowledge.search.recalled import Recalled
from parlour.principal import Principal
from parlour.turns import run
from parlour.turns.answer import Answer
from parlour.turns.foreseeing import Foreseen, Question, foreseeing
from parlour.turns.load import Loaded
from parlour.turns.running import Running
from tests.desk import Desk, says
from tests.integration.turns.test_recall import ASKED, TELLING, Watched, long_talk, recalled, say

__all__ = ["long_talk"]

RECALL = "search.recall"


@pytest.fixture
def watched(desk: Desk, long_talk: tuple[Principal, UUID]) -> Watched:
    desk.embedder = watched = Watched(desk.database)
    return watched


def sent(desk: Desk, name: str = RECALL) -> int:
    return desk.database.statements.by_name.get(name, 0)


def second(database: Database) -> int | None:
    """The backend of the second connection, where one is open."""
    connection = database.beside._connection
    return connection.info.backend_pid if connection else None


def meanwhile(desk: Desk, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """Between a turn's beginning and its loading, somebody else does this."""

    @contextmanager
    def changing(running: Running) -> Iterator[Foreseen | None]:
        desk.rows(f"{change} RETURNING 1")
        with foreseeing(running) as found:
            yield found

    monkeypatch.setattr(run, "foreseeing", changing)


def tells(desk: Desk) -> bool:
    return TELLING in [one["contents"] for one in recalled(desk)]


@pytest.mark.parametrize("question", [ASKED, "And when does that permit of the crane end?", "The permit?"])
def test_it_is_asked_once_beside_the_loading(
    desk: Desk, long_talk: tuple[Principal, UUID], watched: Watched, question: str
) -> None:
    """Also where the question leans on what was said before."""
    before = sent(desk)
    say(desk, *long_talk, question)
    assert recalled(desk)
    assert (sent(desk) - before, watched.asked) == (1, 1)
    assert second(desk.database) is not None


def test_the_prompt_is_begun_once_and_before_the_database_is_waited_for(
    desk: Desk, long_talk: tuple[Principal, UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the time that it takes is that of assembling."""
    done: list[str] = []
    begin, find = fill.until_recall, Foreseen.found

    def begun(*given: Any) -> fill.Halfway:
        done.append("begun")
        desk.clock.now += timedelta(seconds=3)
        return begin(*given)

    def found(foreseen: Foreseen, asked: Question) -> list[Recalled] | None:
        done.append("found")
        return find(foreseen, asked)

    monkeypatch.setattr(fill, "until_recall", begun)
    monkeypatch.setattr(Foreseen, "found", found)
    say(desk, *long_talk, ASKED)
    assert tells(desk)
    assert done == ["begun", "found"]
    ((took,),) = desk.rows("SELECT stage_ms FROM turns ORDER BY number DESC LIMIT 1")
    assert took["assemble"] >= 3_000 > took["recall"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        ("UPDATE turns SET state = state", 1),
        ("UPDATE users SET clearance = 2", 2),
        ("UPDATE session_prompts SET standing = jsonb_set(standing, '{lead,since}', '3')", 2),
    ],
    ids=["nothing", "clearance", "cut"],
)
def test_where_the_question_is_another_one_by_then_it_is_asked_again(
    desk: Desk, long_talk: tuple[Principal, UUID], watched: Watched, monkeypatch: pytest.MonkeyPatch, change: str,
    asked: int,
) -> None:  # fmt: skip
    """Of the same words nobody wants a second vector."""
    meanwhile(desk, monkeypatch, change)
    before = sent(desk)
    say(desk, *long_talk, ASKED)
    assert tells(desk)
    assert (sent(desk) - before, watched.asked) == (asked, 1)


def test_what_is_closed_to_its_reader_by_then_is_not_told(
    desk: Desk, long_talk: tuple[Principal, UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found for a clearance that the user has no more."""
    desk.rows("UPDATE context_rows SET classification = 1 WHERE content LIKE '%KX-4471%' RETURNING id")
    desk.rows("UPDATE users SET clearance = 1 RETURNING id")
    say(desk, *long_talk, ASKED)
    assert tells(desk)
    meanwhile(desk, monkeypatch, "UPDATE users SET clearance = 0")
    before = sent(desk)
    say(desk, *long_talk, ASKED)
    assert not tells(desk)
    assert sent(desk) - before == 2


def test_where_the_second_connection_dies_the_first_is_asked(
    desk: Desk, long_talk: tuple[Principal, UUID], cluster: Cluster
) -> None:
    say(desk, *long_talk, ASKED)
    died = second(desk.database)
    with cluster.superuser() as owner:
        owner.execute("SELECT pg_terminate_backend(%s)", (died,))
    say(desk, *long_talk, ASKED)
    assert tells(desk)
    say(desk, *long_talk, ASKED)
    assert second(desk.database) not in {None, died}


def test_where_it_takes_too_long_it_is_not_asked_again(
    desk: Desk, long_talk: tuple[Principal, UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Query(RECALL, "Nothing, and late.", "SELECT pg_sleep(5), %(query)s")
    monkeypatch.setattr(postgres, "_LONGEST_STATEMENT_MS", 600)
    monkeypatch.setattr(store, "SQL", {**store.SQL, "recall": slow})
    before = sent(desk)
    desk.write_web(*long_talk, ASKED)
    with pytest.raises(StatementTooSlow):
        desk.run()
    assert sent(desk) - before == 1


def test_a_worker_whose_second_connection_broke_while_it_gave_up_has_another_the_next_time(
    desk: Desk, long_talk: tuple[Principal, UUID], cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(desk, *long_talk, ASKED)

    def broken(running: Running) -> Loaded:
        with cluster.superuser() as owner:
            owner.execute("SELECT pg_terminate_backend(%s)", (second(desk.database),))
        raise RetryError("a queue was away")

    with monkeypatch.context() as patch:
        patch.setattr(run, "_load", broken)
        desk.write_web(*long_talk, ASKED)
        with pytest.raises(RetryError, match="queue"):
            desk.run()
    desk.model.script = [says("Later.")]
    desk.run()
    say(desk, *long_talk, ASKED)
    assert tells(desk)


def test_a_row_that_is_forgotten_before_the_prompt_is_sent_has_the_turn_begun_again(
    desk: Desk, long_talk: tuple[Principal, UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    converse = run._converse

    def forgetting(running: Running, loaded: Loaded) -> Answer:
        desk.rows("DELETE FROM context_rows WHERE content LIKE '%KX-4471%' RETURNING id")
        return converse(running, loaded)

    desk.write_web(*long_talk, ASKED)
    with monkeypatch.context() as patch, pytest.raises(RetryError, match="gone"):  # noqa: PT012 - patched meanwhile
        patch.setattr(run, "_converse", forgetting)
        desk.run()
    assert desk.model.script == []
    desk.model.script = [says("I do not know.")]
    desk.run()
    assert recalled(desk)
    assert not tells(desk)
    assert desk.rows("SELECT attempts FROM turns ORDER BY number DESC LIMIT 1") == [(1,)]


def test_a_connection_that_was_only_just_opened_is_not_joined_by_a_second(
    desk: Desk, long_talk: tuple[Principal, UUID]
) -> None:
    desk.database.close()
    desk.database.limit(lambda: 60.0)
    say(desk, *long_talk, ASKED)
    assert tells(desk)
    assert second(desk.database) is None


def test_who_is_answered_without_a_model_has_nothing_looked_for(
    desk: Desk, long_talk: tuple[Principal, UUID], watched: Watched
) -> None:
    before = sent(desk)
    desk.write_web(*long_talk, " ")
    desk.run()
    assert (sent(desk) - before, watched.asked) == (0, 0)


@pytest.mark.parametrize("closed", ["bindings SET is_active = false", "tenants SET status = 'archived'"])
def test_where_nobody_answers_nothing_is_looked_for(
    desk: Desk, long_talk: tuple[Principal, UUID], watched: Watched, closed: str
) -> None:
    desk.write_web(*long_talk, ASKED)
    desk.rows(f"UPDATE {closed} RETURNING 1")
    before = sent(desk)
    desk.run()
    assert (sent(desk) - before, watched.asked) == (0, 0)


@pytest.mark.parametrize("change", ["body = '   '", "body = '', kind = 'media'"])
def test_what_leans_on_a_message_without_words_is_asked_once_it_is_loaded(
    desk: Desk, long_talk: tuple[Principal, UUID], watched: Watched, change: str
) -> None:
    newest = "(SELECT id FROM messages WHERE direction = 'inbound' ORDER BY position DESC LIMIT 1)"
    desk.rows(f"UPDATE messages SET {change} WHERE id = {newest} RETURNING id")
    before = sent(desk)
    say(desk, *long_talk, "And it?")
    assert (sent(desk) - before, watched.asked) == (1, 1)


def test_a_turn_that_goes_on_looks_for_nothing(
    desk: Desk, long_talk: tuple[Principal, UUID], watched: Watched
) -> None:  # fmt: skip
    desk.write_web(*long_talk, ASKED)
    desk.model.script = [RuntimeError("the worker dies"), says("KX-4471.")]
    with pytest.raises(RuntimeError):
        desk.run()
    before = sent(desk)
    desk.run()
    assert tells(desk)
    assert (sent(desk) - before, watched.asked) == (0, 1)
