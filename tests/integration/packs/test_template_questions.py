"""New packs work without a model key: the offline model quotes the answers to the questions that they offer."""

from collections.abc import Iterator

import pytest

from local.database import APP_ROLE, Cluster
from local.embeddings import MiniLmEmbedder
from parlour.infra.ids import uuid7
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Database, connector
from parlour.packs.apply import apply
from parlour.packs.pack_templates import TEMPLATES, NewPack, render_pack
from parlour.packs.validate import validate
from parlour.principal import PUBLIC, Principal
from parlour.search.hybrid_search import Question, search
from parlour.search.index.embedders import embed_query
from parlour.tenancy import roles
from tests.conftest import NOW
from tests.integration.packs.test_example_questions import MOST, ask, result

ANSWERS = {
    "reception": {
        "When are you open on Saturday?": "09:00 to 13:00",
        "What does a check-up cost?": "£55",
        "What should I bring to my first visit?": "photo ID",
    },
    "shop": {
        "What does delivery cost?": "£3.90",
        "How long can I return a product?": "30 days",
        "What does Harbour Espresso taste of?": "hazelnut",
    },
    "support": {
        "How do I reset my password?": "Forgot password",
        "What does error E-204 mean?": "tax number",
        "How do I export my invoices?": "press Export",
    },
    "blank": {"What is this document about?": "what your agent has to know"},
}
CASES = [(template, question) for template, answers in ANSWERS.items() for question in answers]


def new_pack(template: str) -> dict[str, str]:
    files = render_pack(NewPack(template, f"new-{template}", "Acme", f"{template}.localhost", "447700900150"))
    return {path: text for path, text in files.items() if not path.startswith(".")}


@pytest.fixture(scope="module")
def embedder() -> MiniLmEmbedder:
    return MiniLmEmbedder()


@pytest.fixture(scope="module")
def applied(
    cluster: Cluster, template: str, embedder: MiniLmEmbedder
) -> Iterator[tuple[Database, dict[str, Principal]]]:
    """Every template applied as a tenant of its own, and a visitor of each."""
    cluster.create("test_templates", template)
    database = Database(connector(cluster.connection_parameters("test_templates", APP_ROLE, "app")))
    visitors = {}
    for name in TEMPLATES:
        operator = roles.operator_principal(uuid7(NOW))
        apply(operator, database, embedder, validate(new_pack(name)), NOW)
        visitors[name] = Principal(operator.tenant_id, "user", uuid7(NOW), clearance=PUBLIC)
    yield database, visitors
    database.close()
    cluster.drop("test_templates")


@pytest.mark.parametrize("name", TEMPLATES)
def test_questions_offered_are_the_ones_tried_here(name: str) -> None:
    (binding,) = validate(new_pack(name)).bindings.values()
    assert binding.channels.web
    assert list(binding.channels.web.samples) == list(ANSWERS[name])


@pytest.mark.parametrize(("name", "question"), CASES, ids=[question for _, question in CASES])
def test_offered_question_is_answered_without_a_model_key(
    applied: tuple[Database, dict[str, Principal]], embedder: MiniLmEmbedder, name: str, question: str
) -> None:
    database, visitors = applied
    with database.transaction(visitors[name]) as tx:
        asked = Question(text=question, vector=embed_query(embedder, question))
        found = search(visitors[name], tx, asked, limit=MOST)
    message: JsonObject = {"role": "user", "content": [{"type": "text", "text": question}]}
    (call,) = ask([message])
    results: list[Json] = [result(call, found)]
    (answer,) = ask([message, {"role": "assistant", "content": [call]}, {"role": "user", "content": results}])
    assert ANSWERS[name][question] in str(answer["text"])
