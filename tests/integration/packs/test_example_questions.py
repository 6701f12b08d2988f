"""The questions that the example pack's README promises: their source is found, and what is above a desk is not.

The samples that its chat pages offer: without a model key, the offline model quotes their answers.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.database import APP_ROLE, Cluster
from local.embeddings import MiniLmEmbedder
from parlour.infra.ids import uuid7
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Database, connector
from parlour.models.model import Completion, ModelRequest
from parlour.models.offline import SEARCH, OfflineModel
from parlour.packs import folder
from parlour.packs.apply import apply
from parlour.packs.validate import validate
from parlour.principal import CONFIDENTIAL, INTERNAL, Principal
from parlour.search.hybrid_search import Question, search
from parlour.search.index.embedders import embed_query
from parlour.search.results import SearchResult
from parlour.tenancy import roles
from tests.conftest import NOW

OFFERED = {
    "How wide is the crack at C4, and may we backfill?": (INTERNAL, ["0.45 mm"]),
    "When does the crane come?": (INTERNAL, ["10 April"]),
    "Up to which wind may we lift?": (INTERNAL, ["9.8 m/s"]),
    "What do we owe per day if we finish late?": (CONFIDENTIAL, ["£3,500"]),
    "What is our liability limited to?": (CONFIDENTIAL, ["£2,430,000"]),
    "Where does change order 7 stand?": (CONFIDENTIAL, ["CO-007", "waiting"]),
}

MOST = 5
"""Rows that a turn sees of one search of the site desk."""

SITE = {
    "How wide is the crack at C4, and may we backfill?": ("Site report no. 19", "0.45 mm"),
    "What happens if the crack moves?": ("Crack at C4, the engineer's first opinion", "£46,000"),
    "When does the crane come, and until when can we still move it?": ("New slot for the 160-tonne crane", "17 March"),
    "Up to which wind may we lift?": ("Lifting procedure LO-2", "9.8 m/s"),
    "हवा कितनी हो तो क्रेन बंद करनी है?": ("Crane safety card, Hindi and English", "9.8 m/s"),
    "When will the river-bank permit be decided?": ("River-bank permit P-22, decision put off", "20 March"),
    "How wide is the crack at C4?": ("Site report no. 19", "0.45 mm"),
    "When does the crane come?": ("New slot for the 160-tonne crane", "7 April"),
}

CONTRACT = {
    "What do we owe per day if we finish late, and what is the most?": ("Main works contract C-2025-017", "£3,500"),
    "What do we owe per day if we finish late?": ("Main works contract C-2025-017", "£3,500"),
    "Did we give notice of the permit delay in time?": ("Notice of delay, river-bank permit", "clause 11.2"),
    "Where does change order 7 stand, and who has to sign?": ("Counter-offer for change order CO-007", "£36,396"),
    "What is our liability limited to?": ("Main works contract C-2025-017", "£2,430,000"),
    "Is the silt at C4 paid for?": ("Site report no. 19", "soft grey silt"),
    "Who bears the cost of ground that could not be expected?": (
        "Main works contract C-2025-017",
        "bears cost and time",
    ),
    "What is the least we would take for change order 7?": ("Our position on change order CO-007", "£35,000"),
}


@pytest.fixture(scope="module")
def embedder() -> MiniLmEmbedder:
    return MiniLmEmbedder()


@pytest.fixture(scope="module")
def example(cluster: Cluster, template: str, embedder: MiniLmEmbedder) -> Iterator[tuple[Database, Principal]]:
    """The example pack applied once, with real embeddings, and its operator."""
    cluster.create("test_example", template)
    database = Database(connector(cluster.connection_parameters("test_example", APP_ROLE, "app")))
    operator = roles.operator_principal(uuid7(NOW))
    apply(operator, database, embedder, validate(folder.read_folder(Path("packs/construction"))), NOW)
    yield database, operator
    database.close()
    cluster.drop("test_example")


def rows(
    example: tuple[Database, Principal], embedder: MiniLmEmbedder, question: str, clearance: int
) -> list[SearchResult]:
    """What a user with that clearance finds."""
    database, operator = example
    asking = Principal(operator.tenant_id, "user", uuid7(NOW), clearance=clearance)
    with database.transaction(asking) as tx:
        return search(asking, tx, Question(text=question, vector=embed_query(embedder, question)), limit=MOST)


def found(
    example: tuple[Database, Principal], embedder: MiniLmEmbedder, question: str, clearance: int
) -> list[tuple[str, str]]:
    """Title and content of what a user with that clearance finds."""
    return [(row.title, row.content) for row in rows(example, embedder, question, clearance)]


def result(call: JsonObject, found: list[SearchResult]) -> JsonObject:
    """What the search tool answers the model."""
    documents: list[Json] = [
        {"n": number, "title": row.title, "metadata": row.source_label, "contents": row.body}
        for number, row in enumerate(found, 1)
    ]
    return {"type": "tool_result", "tool_use_id": call["id"], "content": json.dumps({"documents": documents})}


def ask(messages: list[JsonObject]) -> list[JsonObject]:
    *_, last = OfflineModel().stream(ModelRequest("x", 500, ({"name": SEARCH},), (), tuple(messages)), seconds_left=9)
    assert isinstance(last, Completion)
    return list(last.blocks)


@pytest.mark.parametrize(("question", "answer"), SITE.items(), ids=SITE.keys())
def test_the_site_desk_finds_the_source(
    example: tuple[Database, Principal], embedder: MiniLmEmbedder, question: str, answer: tuple[str, str]
) -> None:
    title, passage = answer
    pairs = found(example, embedder, question, INTERNAL)

    assert any(title in row_title and passage in content for row_title, content in pairs), pairs


@pytest.mark.parametrize(("question", "answer"), CONTRACT.items(), ids=CONTRACT.keys())
def test_the_contract_desk_finds_the_source(
    example: tuple[Database, Principal], embedder: MiniLmEmbedder, question: str, answer: tuple[str, str]
) -> None:
    title, passage = answer
    pairs = found(example, embedder, question, CONFIDENTIAL)

    assert any(title in row_title and passage in content for row_title, content in pairs), pairs


@pytest.mark.parametrize(
    "question", ["What is the least we would take for change order 7?", "What margin do we expect?"]
)
def test_what_is_above_a_desk_is_not_found_there(
    example: tuple[Database, Principal], embedder: MiniLmEmbedder, question: str
) -> None:
    for clearance in (INTERNAL, CONFIDENTIAL):
        contents = " ".join(content for _, content in found(example, embedder, question, clearance))

        assert "£298,340" not in contents
        assert clearance == CONFIDENTIAL or "£35,000" not in contents


def test_the_questions_offered_are_the_ones_tried_here() -> None:
    bindings = "".join(file.read_text("utf-8") for file in Path("packs/construction/bindings").glob("*.yaml"))
    samples = {line.removeprefix("- ") for line in map(str.strip, bindings.splitlines()) if line.endswith("?")}

    assert samples == OFFERED.keys() | {line for line in samples if line.startswith("greeting:")}


@pytest.mark.parametrize(("question", "expected"), OFFERED.items(), ids=OFFERED.keys())
def test_without_a_model_key_the_answer_is_quoted(
    example: tuple[Database, Principal], embedder: MiniLmEmbedder, question: str, expected: tuple[int, list[str]]
) -> None:
    clearance, passages = expected
    asked: JsonObject = {"role": "user", "content": [{"type": "text", "text": question}]}
    (call,) = ask([asked])
    assert call["input"] == {"query": question}
    results: list[Json] = [result(call, rows(example, embedder, question, clearance))]

    (answer,) = ask([asked, {"role": "assistant", "content": [call]}, {"role": "user", "content": results}])

    lines = str(answer["text"]).splitlines()[2:]
    assert 1 <= len(lines) <= 3
    assert all(any(passage in line for line in lines) for passage in passages), lines
