"""What a turn recalls is looked for while its material is loaded, and once more where that was another question."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest

from local.database import Cluster
from parlour.infra.postgres import Database
from parlour.principal import Principal
from parlour.turns import run
from parlour.turns.foreseeing import Foreseen, foreseeing
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
    assert tells(desk) or question != ASKED
    assert recalled(desk)
    assert (sent(desk) - before, watched.asked) == (1, 1)
    assert second(desk.database) is not None


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
    say(desk, *long_talk, ASKED)
    assert not tells(desk)


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
