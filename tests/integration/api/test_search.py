"""Searching over the API: cards, scopes, and what a reader's clearance leaves of both."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from parlour.infra.errors import ProviderUnavailable
from tests.integration.api.conftest import ConstantEmbedder, VisitorSession, operator_headers, sample_pack_files

RISKS = (
    {"key": "R-1", "name": "Crack in the footing", "classification": 1},
    {"key": "R-2", "name": "Crack in the cofferdam", "classification": 3},
)
PROJECTS = """
- {key: NRS, name: River station}
- {key: OTHER, name: Another crack altogether}
"""
PLAN = "---\ntitle: Plan\nentity: project/NRS\n---\n# Part 1\n\n## Cracks\n\nA crack above 0.4 mm stops the pour.\n"


@pytest.fixture
def yard(client: TestClient) -> str:
    """A tenant with two risks, one of them restricted, two projects, and a plan that is about the first."""
    files = sample_pack_files("yard", "yard.example") | {
        "entity_types/project.yaml": "display_name: Project\n",
        "entities/project.yaml": PROJECTS,
        "documents/plan.md": PLAN,
    }
    answer = client.put("/v1/pack", json={"files": files}, headers=operator_headers("yard"))
    assert answer.status_code == 200, answer.text
    for risk in RISKS:
        body = {"type": "risk", "properties": {"severity": "high"}, **risk}
        made = client.post("/v1/entities", json=body, headers=operator_headers("yard"))
        assert made.status_code == 201, made.text
        link = {"source": "project/NRS", "target": made.json()["handle"], "relation": "contains"}
        assert client.post("/v1/links", json=link, headers=operator_headers("yard")).status_code == 201
    return "yard"


@pytest.fixture
def clerk(client: TestClient, yard: str) -> dict[str, str]:
    """The headers of a viewer who is cleared for what is internal."""
    made = client.post(
        "/v1/keys", json={"name": "clerk", "roles": ["viewer"], "clearance": 1}, headers=operator_headers(yard)
    )
    return {"Authorization": f"Bearer {made.json()['key']}"}


def ask(client: TestClient, headers: dict[str, str], words: str = "crack", **asked: Any) -> Any:
    answer = client.get("/v1/search", params={"q": words, **asked}, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_card_says_what_was_found_and_leads_there(client: TestClient, clerk: dict[str, str]) -> None:
    found = ask(client, clerk)
    risk = next(card for card in found["cards"] if card["kind"] == "snapshot" and card["type"] == "risk")
    assert (risk["name"], risk["type_name"], risk["badge"]) == ("Crack in the footing", "Risk", "Record")
    assert risk["link"] == "#/records/risk/R-1"
    assert (risk["icon"], risk["colour"], risk["handle"]) == ("warning", "red", "risk/R-1")
    assert "severity: high" in risk["preview"]
    [plan] = [card for card in found["cards"] if card["kind"] == "document_chunk"]
    assert plan["title"] == "Plan"
    assert (plan["handle"], plan["document"]) == ("project/NRS", "document/plan.md")
    assert plan["link"].startswith("#/records/document/plan.md?heading=")
    assert "stops the pour" in plan["preview"]
    scores = [card["score"] for card in found["cards"]]
    assert scores[0] == 1.0
    assert scores == sorted(scores, reverse=True)
    assert found["expanded"] is None


def test_what_is_linked_to_the_results_is_offered_beside_them(client: TestClient, clerk: dict[str, str]) -> None:
    found = ask(client, clerk, "footing", scope="type", **{"in": "risk"})
    assert {card["handle"] for card in found["cards"]} == {"risk/R-1"}
    assert [one["handle"] for one in found["related"]] == ["project/NRS"]
    assert (found["related"][0]["name"], found["related"][0]["type_name"]) == ("River station", "Project")
    assert found["related"][0]["relations"] == [{"relation": "contains", "direction": "incoming", "record": "risk/R-1"}]


def test_what_is_above_the_clearance_is_on_no_card(client: TestClient, clerk: dict[str, str], yard: str) -> None:
    everything = ask(client, operator_headers(yard))
    assert "risk/R-2" in {card["handle"] for card in everything["cards"]}
    assert "cofferdam" not in client.get("/v1/search", params={"q": "crack"}, headers=clerk).text


@pytest.mark.parametrize(
    ("scope", "inside", "handles"),
    [
        ("type", "risk", {"risk/R-1"}),
        ("record", "project/NRS", {"risk/R-1", "project/NRS"}),
        ("project", "project/NRS", {"risk/R-1", "project/NRS"}),
        ("record", "project/OTHER", {"project/OTHER"}),
        ("type", "goal", set()),
    ],
)
def test_a_scope_leaves_out_what_lies_elsewhere(
    client: TestClient, clerk: dict[str, str], scope: str, inside: str, handles: set[str]
) -> None:
    found = ask(client, clerk, scope=scope, **{"in": inside})
    assert {card["handle"] for card in found["cards"]} == handles


def test_a_question_that_names_nothing_is_searched_with_the_turn_before(
    client: TestClient, clerk: dict[str, str]
) -> None:
    found = ask(client, clerk, "and when does it stop?", previous=["How wide may the crack be?"])
    assert "How wide may the crack be?" in found["expanded"]
    assert found["cards"]


def test_words_alone_are_searched_while_the_embedding_service_is_away(
    client: TestClient, clerk: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(self: ConstantEmbedder, texts: object, /) -> list[list[float]]:
        raise ProviderUnavailable("it does not answer")

    monkeypatch.setattr(ConstantEmbedder, "embed", away)
    assert ask(client, clerk)["cards"]


@pytest.mark.parametrize(
    ("asked", "status", "told"),
    [
        ({"q": ""}, 422, "q"),
        ({"q": " \0 "}, 422, "enter a search text"),
        ({"q": "crack", "scope": "somewhere"}, 422, "scope"),
        ({"q": "crack", "scope": "record"}, 422, "name the record"),
        ({"q": "crack", "scope": "record", "in": "risk/R-2"}, 404, "not found"),
        ({"q": "crack", "scope": "record", "in": "risk/R-9"}, 404, "not found"),
        ({"q": "crack", "scope": "project", "in": "risk/R-1"}, 422, "not a project"),
        ({"q": "crack", "scope": "type", "in": "rsik"}, 422, "risk"),
        ({"q": "crack", "scope": "conversation", "in": "that one"}, 422, "session id"),
        ({"q": "crack", "scope": "conversation", "in": "00000000-0000-7000-8000-000000000000"}, 404, ""),
        ({"q": "crack", "limit": 1000}, 422, "limit"),
    ],
)
def test_what_cannot_be_searched_is_refused_with_what_to_do(
    client: TestClient, clerk: dict[str, str], asked: dict[str, Any], status: int, told: str
) -> None:
    answer = client.get("/v1/search", params=asked, headers=clerk)
    assert (answer.status_code, told in answer.json()["error"]["message"]) == (status, True), answer.text


def test_a_visitor_does_not_search_the_tenant(visit: VisitorSession) -> None:
    assert visit.client.get("/v1/search", params={"q": "plan"}, headers=visit.headers).status_code == 403


def test_a_neighbour_finds_nothing_of_it(client: TestClient, yard: str, acme: str) -> None:
    found = ask(client, operator_headers(acme), "cofferdam crack footing")
    assert {card["handle"] for card in found["cards"]} <= {"document/plan.md"}, "acme's own"
    assert "crack" not in str(found["cards"]).casefold()


def test_what_a_closed_record_is_linked_to_is_not_offered(client: TestClient, clerk: dict[str, str], yard: str) -> None:
    closed = client.patch("/v1/entities/project/NRS", json={"classification": 3}, headers=operator_headers(yard))
    assert closed.status_code == 200, closed.text
    found = ask(client, clerk, "stops the pour")
    assert [card["document"] for card in found["cards"] if card["kind"] == "document_chunk"] == ["document/plan.md"]
    assert found["related"] == []
    assert "River station" not in str(found)
    assert "project/NRS" not in str(found)
