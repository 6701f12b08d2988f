"""What a conversation's memory brings along for a question: what each part adds in the benchmark of retrieval."""

from datetime import UTC, datetime

import pytest

from bench.corpus_format import Question, Text
from bench.corpus_ingestion import by_scope, fill
from bench.memory_retrieval import Memory, as_figures
from parlour.infra.postgres import Database
from tests.integration.knowledge_tenant import WordEmbedder

AT = datetime(2026, 3, 2, tzinfo=UTC)
FILLING = [f"The weather in week {n} was much as it was in week {n - 1}." for n in range(1, 100)]
SAID = ["My name is Priya Raman.", "The crane permit is CP-118 and costs 4,500 rupees.", *FILLING]


@pytest.fixture
def memory(database: Database) -> Memory:
    texts = [Text("s", str(place), True, text, speaker="Priya", sent_at=AT) for place, text in enumerate(SAID)]
    shelves = fill(database, WordEmbedder(), texts, lambda _: None)
    return Memory(database, WordEmbedder(), shelves, by_scope(texts))


def ask(memory: Memory, text: str, *relevant: str) -> dict[str, float]:
    """Percent of the relevant messages among the best six, by part."""
    parts = memory.measure([Question("s", text, (), frozenset(relevant))])
    return {name: 100 * part.told[0] for name, part in parts.items()}


def test_a_message_is_found_by_itself(memory: Memory) -> None:
    assert ask(memory, "what does the crane permit cost", "1")["messages"] == 100


def test_an_anchor_brings_along_the_messages_whose_lines_it_has(memory: Memory) -> None:
    memory._anchor("s")
    with memory.database.transaction(memory.shelves["s"].principal) as tx:
        rows = tx._connection.execute("SELECT id, content FROM context_rows WHERE kind = 'summary_anchor'").fetchall()
    assert len(rows) == 2  # of 101 messages
    for row_id, content in rows:
        for place in memory.lines[row_id]:
            assert SAID[int(place)] in content
    assert any("1" in lines for lines in memory.lines.values())


def test_the_figures_say_what_each_part_adds(memory: Memory) -> None:
    figures = as_figures(memory.measure([Question("s", "crane permit", (), frozenset({"1", "0"}))]))
    assert figures.keys() == {"messages", "with anchors", "gain"}
    gain = figures["gain"]
    assert isinstance(gain, dict)
    assert gain.keys() == {"with anchors"}
    assert (
        gain["with anchors"]["recall_at_6"] == 50.0
    )  # the anchor quotes message 0, which shares no word with the question
