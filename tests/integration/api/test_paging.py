"""One way of paging for every list that grows: page by page its readers get what the whole list has, in its order."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.integration.api.attention_items import AttentionItems
from tests.integration.api.conftest import EventFeed, VisitorSession, open_session, operator_headers

LISTS = [
    ("/v1/turns", "turns"),
    ("/v1/audit", "entries"),
    ("/v1/limits", "limits"),
    ("/v1/keys", "keys"),
    ("/v1/members", "members"),
    ("/v1/users", "users"),
    ("/v1/files", "files"),
    ("/v1/erasures", "erasures"),
    ("/v1/conversations", "conversations"),
    ("/v1/attention/failed-replies", "replies"),
]


@pytest.fixture
def full_tenant(client: TestClient, acme: str, feed: EventFeed) -> dict[str, str]:
    """A tenant with two or more of everything that is listed; the headers to read it with."""
    headers = operator_headers(acme)
    items = AttentionItems(feed.database, feed.tenant_id, feed.session_id, feed.now)
    for number in range(3):
        items.add_reply("failed")
        open_session(client, acme)
        erased = open_session(client, acme).session_id
        user = client.get(f"/v1/sessions/{erased}", headers=headers).json()["user_id"]
        member = {"issuer": "https://i.example", "subject": str(number), "display_name": "字" * 200}
        for path, body in (
            ("/v1/keys", {"name": "same"}),
            ("/v1/members", member),
            ("/v1/files", {"name": "a.txt", "size_bytes": 3}),
            ("/v1/erasures", {"kind": "user", "id": user}),
        ):
            answer = client.post(path, json=body, headers=headers)
            assert 200 <= answer.status_code < 300, answer.text
    return headers


@pytest.mark.parametrize(("path", "name"), LISTS)
def test_pages_are_the_list_in_its_order(client: TestClient, full_tenant: dict[str, str], path: str, name: str) -> None:
    whole = client.get(path, params={"limit": 100}, headers=full_tenant).json()
    assert whole["next_cursor"] == ""
    assert len(whole[name]) >= 2
    assert read_pages(client, path, name, full_tenant) == whole[name]


@pytest.mark.parametrize(("path", "name"), LISTS)
@pytest.mark.parametrize("cursor", ["x", "bnVsbA", "WzEsMl0", "A" * 1_200, "W10"])
def test_a_cursor_that_is_none_is_refused(client: TestClient, acme: str, path: str, name: str, cursor: str) -> None:
    answer = client.get(path, params={"cursor": cursor}, headers=operator_headers(acme))
    assert answer.status_code == 422
    assert "next_cursor" in answer.json()["error"]["message"] or len(cursor) > 400


def test_a_visitors_own_sessions_are_paged_with_the_pinned_ones_first(
    client: TestClient, visit: VisitorSession
) -> None:
    headers = {"Authorization": f"Bearer {visit.visitor_token}"}
    body = {"tenant": "acme", "binding": "desk"}
    opened = [client.post("/v1/sessions", json=body, headers=headers).json()["session_id"] for _ in range(3)]
    client.patch(f"/v1/sessions/{visit.session_id}", json={"pinned": True}, headers=headers)
    found = [session["id"] for session in read_pages(client, "/v1/sessions", "sessions", headers)]
    assert found[0] == visit.session_id
    assert sorted(found[1:]) == sorted(opened)


def read_pages(client: TestClient, path: str, name: str, headers: dict[str, str]) -> list[dict[str, Any]]:
    """Return a list as it is read one row at a time."""
    found: list[dict[str, Any]] = []
    cursor = ""
    for _ in range(100):
        page = client.get(path, params={"limit": 1, "cursor": cursor}, headers=headers).json()
        assert len(page[name]) == 1
        found += page[name]
        cursor = page["next_cursor"]
        if not cursor:
            return found
    raise AssertionError("the pages have no end")
