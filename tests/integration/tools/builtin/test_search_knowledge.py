"""The search that models call: numbered documents, whatever the embedding service does."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from parlour.documents.pack_import import DocumentDraft
from parlour.infra.errors import DatabaseUnavailable, Misconfigured, ProviderRejected, ProviderUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.search.index.embedders import Embedder
from parlour.tools.builtin import builtin_tools
from parlour.tools.builtin.search_knowledge import SEARCH_KNOWLEDGE, search_knowledge
from parlour.tools.python_endpoint import PythonEndpoint
from parlour.tools.result import ToolResult
from parlour.tools.run import ToolContext, run_tool
from tests.conversation_harness import FakeDelayedQueue
from tests.integration.knowledge_tenant import LEASE_TOKEN, KnowledgeTenant

REPORT = DocumentDraft(
    "report",
    "Site report 12",
    "## Crane\n\n<!-- page: 2 -->\n\nThe crane stood still for two days.\n\n## Slab\n\nThe slab was poured.",
    kind="site_report",
    metadata={"date": "2026-02-14", "author": "Meera"},
)


class Broken:
    """An embedding service on a bad day."""

    model = "words"
    dimensions = 64

    def __init__(self, error: Exception) -> None:
        self.error = error

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise self.error


def call(library: KnowledgeTenant, arguments: JsonObject, embedder: Embedder | None = None) -> ToolResult:
    context = ToolContext(
        library.principal, library.database, library.session_id, uuid7(library.now), library.now, LEASE_TOKEN
    )
    endpoints = {"python": PythonEndpoint({"search_knowledge": search_knowledge(embedder or library.embedder)})}
    return run_tool(context, SEARCH_KNOWLEDGE, arguments, endpoints)


def documents(result: ToolResult) -> list[Any]:
    assert result.ok
    found: list[Any] = json.loads(result.text)["documents"]
    return found


def test_documents_are_numbered_and_say_where_they_stand(library: KnowledgeTenant) -> None:
    library.import_documents(REPORT)
    assert documents(call(library, {"query": "Why did the crane stand still?"}))[0] == {
        "n": 1,
        "title": "Site report 12",
        "metadata": "site report · Crane · page 2 · Meera 2026-02-14",
        "contents": "The crane stood still for two days.",
        "handle": "document/report",
    }


def test_a_document_keeps_its_number_when_it_is_found_again(library: KnowledgeTenant) -> None:
    library.import_documents(REPORT)
    call(library, {"query": "crane", "limit": 1})
    found = {entry["metadata"].split(" · ")[1]: entry["n"] for entry in documents(call(library, {"query": "slab"}))}
    assert found == {"Crane": 1, "Slab": 2}


def test_the_limit_is_kept_and_capped(library: KnowledgeTenant) -> None:
    library.import_documents(
        *(DocumentDraft(f"n{at}", f"Note {at}", f"Crane number {at} of {at * at}.") for at in range(30))
    )
    assert len(documents(call(library, {"query": "crane"}))) == 6
    assert len(documents(call(library, {"query": "crane", "limit": 10}))) == 10
    assert call(library, {"query": "crane", "limit": 50}).content["message"] == (
        "limit: 50 is more than the maximum of 10. Correct the arguments and call again."
    )


def test_what_says_the_same_comes_once(library: KnowledgeTenant) -> None:
    text = "The tower crane stood still for two days because of strong wind on the river side of the site, as agreed."
    library.import_documents(
        DocumentDraft("a", "A", text), DocumentDraft("b", "B", text.upper()), DocumentDraft("c", "C", "Crane.")
    )
    assert {entry["title"] for entry in documents(call(library, {"query": "crane wind"}))} in ({"A", "C"}, {"B", "C"})


def test_nothing_found_says_what_to_do(library: KnowledgeTenant) -> None:
    result = call(library, {"query": "crane"})
    assert result.content["documents"] == []
    assert "other words" in str(result.content["hint"])


@pytest.mark.parametrize("error", [ProviderUnavailable(), ProviderRejected()])
def test_without_embeddings_words_still_find(
    library: KnowledgeTenant, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    library.import_documents(REPORT)
    found = documents(call(library, {"query": "Why did the crane stand still?"}, Broken(error)))
    assert [entry["contents"] for entry in found] == ["The crane stood still for two days."]
    assert "embedding_unavailable" in caplog.messages


def test_without_the_tenants_model_words_still_find(library: KnowledgeTenant, caplog: pytest.LogCaptureFixture) -> None:
    def unnamed(database: Database, tenant_id: UUID) -> Embedder:
        raise Misconfigured

    library.import_documents(REPORT)
    tools = builtin_tools.builtin_handlers(unnamed, FakeDelayedQueue())
    query: JsonObject = {"query": "Why did the crane stand still?"}
    context = ToolContext(
        library.principal, library.database, library.session_id, uuid7(library.now), library.now, LEASE_TOKEN
    )
    found = run_tool(context, SEARCH_KNOWLEDGE, query, {"python": PythonEndpoint(tools)})
    assert [entry["contents"] for entry in documents(found)] == ["The crane stood still for two days."]
    assert "embedding_unavailable" in caplog.messages


@pytest.mark.parametrize("query", ["crane\x00", "crane \ud800", "crane 🏗️"])
def test_what_a_database_cannot_store_is_no_reason_to_fail(library: KnowledgeTenant, query: str) -> None:
    library.import_documents(REPORT)
    assert documents(call(library, {"query": query}))


@pytest.mark.parametrize("query", ["", "  ", "\x00"])
def test_a_search_for_nothing_is_refused(library: KnowledgeTenant, query: str) -> None:
    assert call(library, {"query": query}).code == "invalid_arguments"


def test_the_reader_sees_what_they_are_cleared_for(library: KnowledgeTenant) -> None:
    library.import_documents(replace(REPORT, classification=2))
    reader = replace(library, principal=replace(library.principal, clearance=1))
    assert documents(call(reader, {"query": "crane"})) == []
    assert documents(call(library, {"query": "crane"}))


def test_a_database_that_is_away_is_the_turns_matter(library: KnowledgeTenant) -> None:
    def away(seconds: float) -> Any:
        raise DatabaseUnavailable

    with pytest.raises(DatabaseUnavailable):
        call(replace(library, database=Database(away)), {"query": "crane"})
