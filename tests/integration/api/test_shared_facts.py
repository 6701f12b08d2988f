"""What is known to a whole persona or team: an editor says it, everybody whom it talks to is told."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.integration.api.conftest import create_key_headers, operator_headers

_HOURS = {"scope": "team", "slug": "site", "key": "Opening hours", "value": "9 to 6"}


def put(client: TestClient, status: int = 200, headers: dict[str, str] | None = None, **changes: str) -> Any:
    answer = client.put(
        "/v1/memory/shared-facts", json={**_HOURS, **changes}, headers=headers or operator_headers("acme")
    )
    assert answer.status_code == status, answer.text
    return answer.json()


def known(client: TestClient) -> list[tuple[str, str, str, str]]:
    found = client.get("/v1/memory/shared-facts", headers=operator_headers("acme")).json()["facts"]
    return [(one["scope"], one["owner_name"], one["key"], one["value"]) for one in found]


@pytest.mark.usefixtures("acme")
def test_an_editor_says_what_a_team_and_a_persona_know(client: TestClient) -> None:
    put(client)
    put(client, scope="human", slug="meera", key="home town", value="Mysuru")
    assert known(client) == [
        ("human", "Meera", "home_town", "Mysuru"),
        ("team", "Site", "about.opening_hours", "9 to 6"),
    ]


@pytest.mark.usefixtures("acme")
def test_another_value_takes_the_place_of_the_first_and_the_same_one_changes_nothing(client: TestClient) -> None:
    first = put(client)["id"]
    assert put(client)["id"] == first
    second = put(client, value="8 to 6")["id"]
    assert second != first
    assert known(client) == [("team", "Site", "about.opening_hours", "8 to 6")]


@pytest.mark.usefixtures("acme")
def test_what_cannot_be_known_is_refused_and_says_why(client: TestClient) -> None:
    put(client, 404, slug="nobody")
    put(client, 422, value="4111 1111 1111 1111")
    put(client, 422, key="...")
    put(client, 422, scope="user")
    put(client, 403, headers=create_key_headers(client, "acme", "viewer"))
    assert known(client) == []
