"""Conversations as their visitors know them: listed, gone on with, pinned, put away, called something else."""

from dataclasses import dataclass
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.integration.api.conftest import (
    ManualClock,
    VisitorSession,
    create_key_headers,
    open_session,
    operator_headers,
)
from tests.integration.api.test_record_conversations import applied, kind

DESK = {"tenant": "acme", "binding": "desk"}


@dataclass
class VisitorClient:
    """A visitor with a token for all of their conversations with the desk."""

    client: TestClient
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def open(self, **more: Any) -> Any:
        answer = self.client.post("/v1/sessions", json={**DESK, **more}, headers=self.headers)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def say(self, session: str, text: str) -> None:
        answer = self.client.post(f"/v1/sessions/{session}/messages", json={"text": text}, headers=self.headers)
        assert answer.status_code == 202, answer.text

    def change(self, session: str, **body: Any) -> Any:
        return self.client.patch(f"/v1/sessions/{session}", json=body, headers=self.headers)

    def list(self, **params: Any) -> list[Any]:
        answer = self.client.get("/v1/sessions", params=params, headers=self.headers)
        assert answer.status_code == 200, answer.text
        found: list[Any] = answer.json()["sessions"]
        return found


@pytest.fixture
def someone(client: TestClient, acme: str) -> VisitorClient:
    return VisitorClient(client, client.post("/v1/sessions", json=DESK).json()["visitor_token"])


def titles(found: list[Any]) -> list[str]:
    return [one["title"] for one in found]


def test_conversations_are_named_after_what_was_said_first_and_listed_the_latest_first(
    someone: VisitorClient, clock: ManualClock
) -> None:
    (first,) = someone.list()
    assert (first["title"], first["last_message_preview"]) == ("", "")
    for text in ("Hello!", "When is the pour?", "And the crane?"):
        clock.advance(minutes=1)
        someone.say(first["id"], text)
    clock.advance(minutes=1)
    second = someone.open()["session_id"]
    someone.say(second, "Good morning, who is on site? It is urgent.")
    found = someone.list()
    assert [(one["id"], one["title"], one["last_message_preview"]) for one in found] == [
        (second, "Who is on site?", "Good morning, who is on site? It is urgent."),
        (first["id"], "When is the pour?", "And the crane?"),
    ]
    assert found[0]["last_event"] == 0


def test_those_pinned_come_first_and_a_title_of_ones_own_stays(someone: VisitorClient, clock: ManualClock) -> None:
    (one,) = someone.list()
    assert (
        someone.change(one["id"], pinned=True, title="  The liability issue ").json()["title"] == "The liability issue"
    )
    clock.advance(minutes=1)
    other = someone.open()["session_id"]
    someone.say(other, "When is the pour?")
    someone.say(one["id"], "Which clause is it?")
    clock.advance(minutes=1)
    someone.say(other, "And the crane?")
    assert titles(someone.list()) == ["The liability issue", "When is the pour?"]
    assert someone.change(one["id"], pinned=False).json()["pinned"] is False
    assert titles(someone.list()) == ["When is the pour?", "The liability issue"]


def test_one_that_is_put_away_leaves_the_list_and_comes_back_with_a_message(someone: VisitorClient) -> None:
    (one,) = someone.list()
    someone.say(one["id"], "When is the pour?")
    assert someone.change(one["id"], archived=True).json()["archived"] is True
    assert someone.list() == []
    assert titles(someone.list(archived=True)) == ["When is the pour?"]
    someone.say(one["id"], "Still there?")
    assert titles(someone.list()) == ["When is the pour?"]
    someone.change(one["id"], archived=True)
    someone.change(one["id"], archived=False)
    assert titles(someone.list()) == ["When is the pour?"]


@pytest.mark.parametrize(
    "body", [{"title": ""}, {"title": "a\nb"}, {"title": "x" * 201}, {"pinned": "maybe"}, {"x": 1}]
)
def test_what_nobody_could_read_is_no_title(someone: VisitorClient, body: dict[str, Any]) -> None:
    (one,) = someone.list()
    assert someone.change(one["id"], **body).status_code == 422


def test_a_record_is_talked_about_where_one_left_off(
    client: TestClient, someone: VisitorClient, clock: ManualClock
) -> None:
    assert applied(client, entity_types__permit=kind("")).status_code == 200
    handles = [
        client.post("/v1/entities", json={"type": "permit", "name": name}, headers=operator_headers("acme")).json()[
            "handle"
        ]
        for name in ("Road closure", "Crane")
    ]
    first = someone.open(entity=handles[0])["session_id"]
    clock.advance(minutes=1)
    second = someone.open(entity=handles[0])
    clock.advance(minutes=1)
    someone.say(first, "Until when is it closed?")
    assert second["resumed"] is False
    assert [one["id"] for one in someone.list(entity=handles[0])] == [first, second["session_id"]]
    assert someone.list(entity=handles[0])[0]["entity"] == {"handle": handles[0], "name": "Road closure"}
    again = someone.open(entity=handles[0], resume=True)
    assert (again["session_id"], again["resumed"]) == (first, True)
    someone.change(first, archived=True)
    assert someone.open(entity=handles[0], resume=True)["session_id"] == second["session_id"]
    other = someone.open(entity=handles[1], resume=True)
    assert other["resumed"] is False
    assert someone.open(resume=True)["session_id"] not in {first, second["session_id"], other["session_id"]}


def test_who_else_may_read_it_is_for_its_user_to_say(client: TestClient, someone: VisitorClient, acme: str) -> None:
    (one,) = someone.list()
    editor, admin = create_key_headers(client, acme, "editor"), create_key_headers(client, acme, "admin")

    def reads(headers: dict[str, str]) -> bool:
        return client.get(f"/v1/sessions/{one['id']}/messages", headers=headers).status_code == 200

    assert not reads(editor)
    assert someone.change(one["id"], visibility="role_gated").json()["visibility"] == "role_gated"
    assert reads(editor)
    for headers in (editor, admin, operator_headers(acme)):
        changed = client.patch(f"/v1/sessions/{one['id']}", json={"visibility": "shared"}, headers=headers)
        assert changed.status_code == 404
    assert someone.change(one["id"], visibility="everybody").status_code == 422
    assert someone.change(one["id"], visibility="private").json()["visibility"] == "private"
    assert not reads(editor)


def test_nobody_lists_or_changes_what_is_somebody_elses(client: TestClient, someone: VisitorClient, acme: str) -> None:
    (one,) = someone.list()
    stranger = VisitorClient(client, client.post("/v1/sessions", json=DESK).json()["visitor_token"])
    assert one["id"] not in {other["id"] for other in stranger.list()}
    assert stranger.change(one["id"], title="Mine").status_code == 404
    for headers in (operator_headers(acme), create_key_headers(client, acme, "admin")):
        assert client.patch(f"/v1/sessions/{one['id']}", json={"pinned": True}, headers=headers).status_code == 404
    assert client.get("/v1/sessions").status_code == 401


def test_a_token_for_one_conversation_lists_none_and_leads_to_no_other(
    client: TestClient, someone: VisitorClient, visit: VisitorSession
) -> None:
    assert client.get("/v1/sessions", headers=visit.headers).status_code == 403
    for body in (DESK, {**DESK, "resume": True}):
        assert client.post("/v1/sessions", json=body, headers=visit.headers).status_code == 403
    assert (
        visit.client.patch(f"/v1/sessions/{visit.session_id}", json={"title": "Mine"}, headers=visit.headers).json()[
            "title"
        ]
        == "Mine"
    )


def test_a_token_for_one_agent_opens_nothing_of_another(client: TestClient, someone: VisitorClient) -> None:
    counter = (
        "display_name: Counter\nhuman: meera\nteam: site\nagent: adviser\nchannels: {web: {host: counter.example}}\n"
    )
    assert applied(client, bindings__counter=counter).status_code == 200
    (one,) = someone.list()
    there = someone.open(binding="counter")
    assert there["visitor_token"] is None
    assert [found["id"] for found in someone.list()] == [one["id"]]
    for path in ("", "/messages", "/events"):
        answer = client.get(f"/v1/sessions/{there['session_id']}{path}", headers=someone.headers)
        assert answer.status_code == 404
    posted = f"/v1/sessions/{there['session_id']}/messages"
    assert client.post(posted, json={"text": "Hi"}, headers=someone.headers).status_code == 404
    own = {"Authorization": f"Bearer {there['token']}"}
    assert client.post(posted, json={"text": "Hi"}, headers=own).status_code == 202


@pytest.mark.parametrize(
    ("visibility", "readers"),
    [("private", {"viewer"}), ("role_gated", {"viewer", "editor"}), ("shared", {"viewer", "editor", ""})],
)
def test_people_of_the_tenant_list_what_they_may_read_about_a_record(
    client: TestClient, someone: VisitorClient, visibility: str, readers: set[str]
) -> None:
    assert applied(client, entity_types__permit=kind(f"chat_visibility: {visibility}")).status_code == 200
    new = {"type": "permit", "name": "Road closure"}
    handle = client.post("/v1/entities", json=new, headers=operator_headers("acme")).json()["handle"]
    session = someone.open(entity=handle)["session_id"]
    found = set()
    for role in ("viewer", "editor", ""):
        headers = create_key_headers(client, "acme", *[role] * bool(role))
        listed = client.get("/v1/sessions", params={"entity": handle}, headers=headers).json()["sessions"]
        found |= {role for one in listed if one["id"] == session}
        assert all((one["user_id"] is not None) is (role == "viewer") for one in listed)
    assert found == readers
    assert client.get("/v1/sessions", headers=operator_headers("acme")).status_code == 422
    stranger = VisitorClient(client, open_session(client, "acme").token)
    assert client.get("/v1/sessions", params={"entity": handle}, headers=stranger.headers).status_code == 403
