"""The bench of a turn's prompt runs, on a tiny scale, and says what it is asked for."""

import json
import logging
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from bench import context, long_conversations
from local import temporary_database
from local.database import Cluster
from parlour.infra.postgres import Database
from tests.conversation_harness import ConversationHarness


@pytest.fixture
def figures(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, object]]:
    """On the tests' own server, which is there already."""
    file = tmp_path / "figures.json"
    monkeypatch.setattr(temporary_database, "temporary_cluster", lambda: nullcontext(cluster))
    monkeypatch.setattr(context, "WARM_UP", 1)
    sizes = ["--messages", "10", "40", "--rounds", "2"]
    monkeypatch.setattr("sys.argv", ["bench.context", *sizes, "--json", str(file)])
    context.main()
    logging.disable(logging.NOTSET)  # it keeps the product's lines off its own screen, and its process is ours
    yield json.loads(file.read_text("utf-8"))
    cluster.drop("scratch")


def test_its_json_has_every_session_both_ratios_and_the_bytes_of_a_turn(figures: dict[str, object]) -> None:
    sessions = figures.pop("sessions")
    assert isinstance(sessions, list)
    assert [one["messages"] for one in sessions] == [10, 40]
    for one in sessions:
        assert one.keys() == {"messages", "p50_ms", "p95_ms", "statements"}
        assert 0 < one["p50_ms"] <= one["p95_ms"]
    short, long = (one["statements"] for one in sessions)
    assert short < long  # history was cut, so that something is recalled
    assert figures.keys() == {"ratio_10000_to_10", "ratio_without_recall", "ledger_bytes_per_turn"}
    assert all(isinstance(one, int | float) and one > 0 for one in figures.values())


def test_a_talk_is_as_long_as_it_is_asked_for_and_every_message_has_its_row(
    conversation: ConversationHarness, database: Database
) -> None:
    assert conversation.database is database
    conversation.embedder = embedder = long_conversations.Directions()
    talk = long_conversations.talk(conversation, embedder, 40)
    of_it = f"FROM messages WHERE session_id = '{talk.session_id}'"
    assert conversation.query(f"SELECT count(*), count(*) FILTER (WHERE direction = 'outbound') {of_it}") == [(40, 20)]
    turns = f"SELECT min(number), max(number), count(*) FROM turns WHERE session_id = '{talk.session_id}'"
    assert conversation.query(turns) == [(1, 20, 20)]
    rows = (
        "SELECT count(*), count(v.row_id) FROM context_rows r LEFT JOIN embeddings v ON v.row_id = r.id"
        f" WHERE r.session_id = '{talk.session_id}'"
    )
    assert conversation.query(rows) == [(40 - 2 * long_conversations.LIVE,) * 2]


def test_the_same_number_always_says_the_same_and_alike_sentences_are_near() -> None:
    assert long_conversations.sentence(7) == long_conversations.sentence(7) != long_conversations.sentence(8)
    embedder = long_conversations.Directions()
    one, alike, other = embedder.embed(["the pier A7 is cracked", "the pier A7 is cracked again", "nobody came"])
    assert sum(a * b for a, b in zip(one, alike, strict=True)) > 0.8
    assert abs(sum(a * b for a, b in zip(one, other, strict=True))) < 0.3
    assert embedder.took > 0
