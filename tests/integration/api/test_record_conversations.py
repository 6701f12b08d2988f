"""Who one talks to about a record, who else reads it, and what a page may offer to whom."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.integration.api.conftest import (
    AGENT,
    VisitorSession,
    create_key_headers,
    operator_headers,
    sample_pack_files,
)

_CLERK = AGENT.replace("Adviser", "Clerk")
_COUNTER = "display_name: Counter\nhuman: meera\nteam: site\nagent: clerk\n"


def kind(rag: str) -> str:
    return f"display_name: Permit\nproperties: {{due: {{type: date}}}}\nrag: {{{rag}}}\n"


def applied(client: TestClient, **files: str) -> Any:
    """The tenant acme with these files besides its own; `agents__clerk` is agents/clerk.yaml."""
    more = {f"{name.replace('__', '/')}.yaml": text for name, text in files.items()}
    return client.put(
        "/v1/pack", json={"files": sample_pack_files("acme", "acme.example") | more}, headers=operator_headers("acme")
    )


def permits(client: TestClient) -> Any:
    types = client.get("/v1/entity-types", headers=operator_headers("acme")).json()["types"]
    return next(one for one in types if one["key"] == "permit")


def test_a_kind_names_the_agent_that_talks_about_its_records(client: TestClient) -> None:
    files = {"agents__clerk": _CLERK, "entity_types__permit": kind("chat_agent: clerk")}
    web = "channels: {web: {host: counter.example}}\n"
    for binding, talk in (
        (_COUNTER + web, {"slug": "counter", "name": "Counter", "greeting": ""}),
        (_COUNTER + "door: private\nowner: {phone: '+447700900001'}\n" + web, None),
    ):
        assert applied(client, **files, bindings__counter=binding).status_code == 200
        assert (permits(client)["chat_agent"], permits(client)["chat_binding"]) == ("clerk", talk)
    assert applied(client, entity_types__permit=kind("")).status_code == 200
    assert permits(client)["chat_binding"] is None


def test_an_agent_that_is_not_there_is_refused_with_the_pack(client: TestClient) -> None:
    refused = applied(client, agents__clerk=_CLERK, entity_types__permit=kind("chat_agent: clark"))
    assert refused.status_code == 422
    (problem,) = refused.json()["error"]["problems"]
    assert "did you mean 'clerk'" in problem["message"]


@pytest.mark.parametrize(
    ("visibility", "readers"),
    [("private", {"viewer"}), ("role_gated", {"viewer", "editor"}), ("shared", {"viewer", "editor", ""})],
)
def test_who_else_reads_a_talk_about_a_record_is_said_by_its_kind(
    client: TestClient, visibility: str, readers: set[str]
) -> None:
    assert applied(client, entity_types__permit=kind(f"chat_visibility: {visibility}")).status_code == 200
    visit = about(client, "permit")
    stranger = about(client, "permit")
    found = {
        role
        for role in ("viewer", "editor", "")
        if reads(client, visit, create_key_headers(client, "acme", *[role] * bool(role)))
    }
    assert found == readers
    assert not reads(client, visit, stranger.headers)


def test_a_talk_stays_as_visible_as_it_was_when_it_was_opened(client: TestClient) -> None:
    assert applied(client, entity_types__permit=kind("chat_visibility: private")).status_code == 200
    visit = about(client, "permit")
    assert applied(client, entity_types__permit=kind("chat_visibility: shared")).status_code == 200
    assert not reads(client, visit, create_key_headers(client, "acme"))
    assert reads(client, about(client, "permit"), create_key_headers(client, "acme"))


def test_a_shared_talk_of_somebody_with_more_clearance_stays_theirs(client: TestClient) -> None:
    desk = sample_pack_files("acme", "acme.example")["bindings/desk.yaml"] + "clearance: confidential\n"
    shared = kind("chat_visibility: shared")
    assert applied(client, entity_types__permit=shared, bindings__desk=desk).status_code == 200
    assert not reads(client, about(client, "permit"), create_key_headers(client, "acme", "editor"))


def test_a_shared_talk_about_a_record_that_was_closed_since_is_closed_too(client: TestClient) -> None:
    assert applied(client, entity_types__permit=kind("chat_visibility: shared")).status_code == 200
    visit = about(client, "permit")
    member, viewer = create_key_headers(client, "acme"), create_key_headers(client, "acme", "viewer")
    assert reads(client, visit, member)
    told = client.get(f"/v1/sessions/{visit.session_id}", headers=member).json()["entity"]["handle"]
    closed = client.patch(f"/v1/entities/{told}", json={"classification": 3}, headers=operator_headers("acme"))
    assert closed.status_code == 200, closed.text
    assert not reads(client, visit, member)
    assert not reads(client, visit, viewer)
    assert reads(client, visit, operator_headers("acme"))
    assert client.get(f"/v1/sessions/{visit.session_id}/events", headers=member).status_code == 404


def test_whoever_signs_in_is_told_what_they_may_do(client: TestClient, acme: str, visit: VisitorSession) -> None:
    for headers, told in (
        (create_key_headers(client, acme, "viewer"), ("key", ["viewer"], 1)),
        (create_key_headers(client, acme, "editor", "viewer"), ("key", ["editor", "viewer"], 1)),
        (operator_headers(acme), ("operator", ["admin", "editor", "viewer"], 3)),
        (visit.headers, ("user", [], 0)),
    ):
        me = client.get("/v1/me", headers=headers).json()
        assert (me["kind"], me["roles"], me["clearance"], me["tenant"]) == (*told, acme)
    assert client.get("/v1/me").status_code == 401


def test_relations_are_told_as_they_read_from_both_ends(client: TestClient, acme: str) -> None:
    viewer, boss = create_key_headers(client, acme, "viewer"), operator_headers(acme)
    handles = [
        client.post("/v1/entities", json={"type": "task", "name": name, **more}, headers=boss).json()["handle"]
        for name, more in (("Pour", {}), ("Cure", {}), ("Pay", {"classification": 3}))
    ]
    for target, relation in ((1, "waits_upon"), (2, "bribed_by")):
        link = {"source": handles[0], "target": handles[target], "relation": relation}
        assert client.post("/v1/links", json=link, headers=boss).status_code == 201
    told = client.get("/v1/relations", headers=viewer).json()["relations"]
    assert {"name": "depends_on", "outgoing": "needs first", "incoming": "is needed first by"} in told
    assert "bribed_by" not in {one["name"] for one in told}
    assert told[-1] == {"name": "waits_upon", "outgoing": "waits upon", "incoming": "linked from (waits upon)"}
    assert client.get("/v1/relations", headers=create_key_headers(client, acme)).status_code == 403


def about(client: TestClient, kind_key: str) -> VisitorSession:
    """A visitor's talk about a new record."""
    new = {"type": kind_key, "name": "Road closure"}
    handle = client.post("/v1/entities", json=new, headers=operator_headers("acme")).json()["handle"]
    opened = client.post("/v1/sessions", json={"tenant": "acme", "binding": "desk", "entity": handle}).json()
    return VisitorSession(client, opened["session_id"], opened["token"])


def reads(client: TestClient, visit: VisitorSession, headers: dict[str, str]) -> bool:
    answer = client.get(f"/v1/sessions/{visit.session_id}/messages", headers=headers)
    assert answer.status_code in {200, 404}
    return answer.status_code == 200
