"""The inbox over HTTP: taken by one, answered, handed back; what a reader may not see or do."""

from typing import Any
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient

from tests.integration.api.conftest import EventFeed, FakeQueues, create_key_headers, operator_headers

type Headers = dict[str, str]


@pytest.fixture
def desk(client: TestClient, feed: EventFeed) -> Headers:
    return create_key_headers(client, "acme", "viewer", "editor")


def post(client: TestClient, headers: Headers, path: str, body: dict[str, Any] | None = None) -> Any:
    return client.post(f"/v1/inbox/{path}", json=body or {}, headers=headers)


def test_a_conversation_is_taken_answered_and_handed_back(
    client: TestClient, feed: EventFeed, desk: Headers, queues: FakeQueues
) -> None:
    session = feed.session_id
    assert post(client, desk, f"{session}/open", {"text": "They called."}).json()["state"] == "waiting"
    [listed] = client.get("/v1/inbox?state=waiting", headers=desk).json()["conversations"]
    assert (listed["reason"], listed["reason_text"], listed["is_mine"]) == ("member", "They called.", False)

    taken = post(client, desk, f"{session}/take").json()
    assert (taken["state"], taken["is_mine"]) == ("person", True)
    other = create_key_headers(client, "acme", "viewer", "editor")
    assert post(client, other, f"{session}/take").status_code == 409
    said = {"text": "We come at nine.", "claim": taken["claim"], "client_id": "m-1"}
    first, again = (post(client, desk, f"{session}/messages", said).json() for _ in range(2))
    assert first == again
    assert post(client, other, f"{session}/messages", said).status_code == 409
    assert post(client, desk, f"{session}/notes", {"text": "A customer since 2019."}).status_code == 200
    assert client.get("/v1/inbox?assignee=me", headers=desk).json()["conversations"][0]["session_id"] == str(session)
    assert client.get("/v1/inbox/counts", headers=desk).json()["mine"] == 1

    back = post(client, desk, f"{session}/hand-back", {"instruction": "Offer Tuesday."}).json()
    assert back["state"] == "agent"
    assert post(client, desk, f"{session}/messages", said).status_code == 409
    kinds = [one["kind"] for one in client.get(f"/v1/inbox/{session}/events", headers=desk).json()["events"]]
    assert kinds == ["opened", "said", "taken", "said", "noted", "handed_back"]


def test_who_may_not_write_does_not_answer(client: TestClient, feed: EventFeed, desk: Headers) -> None:
    post(client, desk, f"{feed.session_id}/open")
    viewer = create_key_headers(client, "acme", "viewer")
    for move in ("open", "take", "release", "close"):
        assert post(client, viewer, f"{feed.session_id}/{move}").status_code == 403
    assert client.get(f"/v1/inbox/{feed.session_id}", headers=viewer).status_code == 200


def test_a_visitor_sees_who_answers(client: TestClient, feed: EventFeed, desk: Headers) -> None:
    def answering() -> tuple[str, str | None]:
        shown = client.get(f"/v1/sessions/{feed.session_id}", headers=desk).json()
        return shown["answering"], shown["person"]

    assert answering() == ("agent", None)
    post(client, desk, f"{feed.session_id}/open")
    assert answering() == ("waiting", None)
    post(client, desk, f"{feed.session_id}/take")
    assert answering() == ("person", "Support")
    post(client, desk, f"{feed.session_id}/close")
    assert answering() == ("agent", None)


def test_who_answers_sees_to_whom_a_conversation_can_be_given(
    client: TestClient, feed: EventFeed, desk: Headers
) -> None:
    admin = operator_headers("acme")
    for name, roles in (("Asha", ["viewer", "editor"]), ("Vera", ["viewer"]), ("Ada", ["admin"])):
        member = {"issuer": "https://id.example.org", "subject": name, "display_name": name, "roles": roles}
        assert client.post("/v1/members", json=member, headers=admin).is_success
    listed = client.get("/v1/inbox/members", headers=desk).json()["members"]
    assert [member["display_name"] for member in listed] == ["Ada", "Asha"]
    assert listed[0].keys() == {"id", "display_name"}
    of_one = f"/v1/inbox/members?session_id={feed.session_id}"
    assert client.get(of_one, headers=desk).json()["members"] == listed
    assert client.get(f"/v1/inbox/members?session_id={uuid4()}", headers=desk).status_code == 404
    assert client.get("/v1/inbox/members", headers=create_key_headers(client, "acme", "viewer")).status_code == 403


def test_a_message_has_a_text_or_a_template_of_the_conversations_channel(
    client: TestClient, feed: EventFeed, desk: Headers
) -> None:
    session = feed.session_id
    post(client, desk, f"{session}/open")
    claim = post(client, desk, f"{session}/take").json()["claim"]
    template = {"name": "visit", "values": ["Jon"]}
    for body, words in (
        ({}, "give `text`, or a `template`"),
        ({"text": "Hello", "template": template}, "give `text`, or a `template`"),
        ({"template": template}, "this conversation's channel has none"),
    ):
        answer = post(client, desk, f"{session}/messages", {**body, "claim": claim})
        assert answer.status_code == 422
        assert words in answer.json()["error"]["message"]


def test_what_a_person_needs_to_know_is_beside_the_conversation(
    client: TestClient, feed: EventFeed, desk: Headers
) -> None:
    post(client, desk, f"{feed.session_id}/open")
    context = client.get(f"/v1/inbox/{feed.session_id}/context", headers=desk).json()
    assert context["window"] == {"is_open": True, "closes_at": None, "templates": []}
    assert context.keys() == {"summary", "tried", "open_effects", "facts", "window"}
    assert client.get("/v1/inbox/saved-replies", headers=desk).json() == {"saved_replies": []}
