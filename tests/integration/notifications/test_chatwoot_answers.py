"""What people do in Chatwoot comes back: over the API, as Chatwoot's webhooks have it."""

from typing import Any
from uuid import uuid4

import httpx2
import pytest
from fastapi.testclient import TestClient

from parlour.api.app import create_app
from parlour.api.database_pool import DatabasePool
from parlour.conversations import inbox_messages
from parlour.inbox import threads
from parlour.infra.postgres import Database
from parlour.notifications import store
from parlour.notifications.chatwoot_webhook import ChatwootSource, make_webhook_path
from tests.integration.api.conftest import (
    TOKEN_SECRET,
    FakeQueues,
    ManualClock,
    RecordingQueue,
    create_key_headers,
    make_dependencies,
    operator_headers,
)
from tests.integration.inbox.test_threads import add_member, kinds
from tests.integration.notifications.chatwoot_server import chatwoot, prism_url
from tests.integration.notifications.test_chatwoot import Desk, desk

__all__ = ["chatwoot", "desk", "prism_url"]

INBOX = "https://chat.example/api/v1/accounts/3/inboxes/7"
_PERSONS_MESSAGES = "SELECT body, metadata ->> 'author' FROM messages WHERE metadata ? 'author' ORDER BY position"
_ADDRESS, _ROTATION = "/v1/chatwoot?binding=site-desk", "/v1/chatwoot/rotate?binding=site-desk"
_STATE = "SELECT state, assignee_name FROM inbox_threads"
_UNANSWERED = "WHERE state = 'unanswered' RETURNING id"


ASHA = {"id": 5, "name": "Asha", "email": "asha@example.com", "type": "user"}


def written(text: str = "It comes on Monday.", number: int = 11, **fields: Any) -> dict[str, Any]:
    """A webhook of Chatwoot about a message that Asha wrote."""
    return {
        "event": "message_created",
        "id": number,
        "content": text,
        "message_type": "outgoing",
        "content_type": "text",
        "private": False,
        "conversation": {"id": 0, "inbox_id": 7, "status": "open"},
        "sender": ASHA,
        "account": {"id": 3, "name": "Site"},
        **fields,
    }


RESOLVED = {"event": "conversation_status_changed", "id": 0, "status": "resolved", "inbox_id": 7}


@pytest.fixture
def client(desk: Desk) -> TestClient:
    """The API, for a conversation that waits and is in Chatwoot; Asha is a member with an e-mail address."""
    desk.configure(clearance=1)
    desk.ask_for_person()
    desk.deliver()
    add_member(desk.conversation, "Asha")
    desk.conversation.query("UPDATE members SET email = 'Asha@example.com' RETURNING id")
    pool = DatabasePool(lambda: desk.conversation.database)
    return TestClient(
        create_app(make_dependencies(pool, ManualClock(desk.conversation.clock()), RecordingQueue(), FakeQueues()))
    )


def send(client: TestClient, desk: Desk, event: dict[str, Any], inbox: str = INBOX) -> httpx2.Response:
    return client.post(make_webhook_path(source_of(desk, inbox), TOKEN_SECRET), json=event)


def source_of(desk: Desk, inbox: str = INBOX) -> ChatwootSource:
    """Return what the inbox's address names, which an administrator has read."""
    address_id = desk.conversation.database.run(
        desk.conversation.admin, lambda tx: store.save_chatwoot_address(tx, inbox, uuid4(), rotates=False)
    )
    return ChatwootSource(desk.conversation.tenant_id, inbox, address_id)


def post(client: TestClient, desk: Desk, event: dict[str, Any], inbox: str = INBOX) -> str:
    answer = send(client, desk, event, inbox)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["outcome"])


def told(desk: Desk) -> list[str]:
    """Return the notes and messages that Chatwoot gets after what happened."""
    desk.chatwoot.requests.clear()
    desk.deliver()
    return [body["content"] for path, body in desk.chatwoot.list_posts() if path.endswith("messages")]


def test_an_answer_in_chatwoot_reaches_the_user_once_and_takes_the_conversation(client: TestClient, desk: Desk) -> None:
    assert [post(client, desk, written("It comes on \0Monday.")) for _ in range(2)] == ["done", "done"]

    assert desk.conversation.query(_PERSONS_MESSAGES) == [("It comes on Monday.", "Asha")]
    assert desk.conversation.query(_STATE) == [("person", "Asha")]
    assert desk.conversation.query("SELECT count(*) FROM outbox WHERE state = 'pending'") == [(2,)]
    assert told(desk) == ["Asha has the conversation now."]
    assert desk.states() == [("sent", "")]


@pytest.mark.parametrize(
    "event",
    [
        written(private=True),
        written(private=None),
        written(message_type="incoming"),
        written(sender={**ASHA, "id": 0}),  # what Parlour posted itself
        written(event="message_updated"),
        written(sender={"id": 1, "name": "bot", "type": "agent_bot"}),
        written(conversation={"id": 2**80}),
        {"event": "conversation_status_changed", "id": 0, "status": "open"},
        {"event": "conversation_status_changed", "id": -1, "status": "resolved"},
        {"event": "conversation_status_changed", "id": 99, "status": "resolved"},
        {},
    ],
)
def test_what_is_no_answer_to_the_user_is_ignored(client: TestClient, desk: Desk, event: dict[str, Any]) -> None:
    assert post(client, desk, event) == "ignored"

    assert desk.conversation.query(_PERSONS_MESSAGES) == []
    assert told(desk) == []


def test_what_is_posted_with_the_token_of_another_user_is_no_answer(client: TestClient, desk: Desk) -> None:
    [(session_id,)] = desk.conversation.query("SELECT session_id FROM inbox_threads")
    ines, now, run = add_member(desk.conversation, "Ines"), desk.conversation.clock(), desk.conversation.database.run
    claim = run(ines, lambda tx: threads.take(ines, tx, session_id, now)).claim  # type: ignore[arg-type]
    run(ines, lambda tx: inbox_messages.say(ines, tx, session_id, "On Monday.", claim, "", now))  # type: ignore[arg-type]
    desk.chatwoot.answers["GET", "/profile"] = (200, {"id": ASHA["id"]})
    desk.deliver()

    assert post(client, desk, written("On Monday.")) == "ignored"
    assert desk.conversation.query(_PERSONS_MESSAGES) == [("On Monday.", "Ines")]


def _by_stranger(_desk: Desk) -> dict[str, Any]:
    return written(sender={**ASHA, "email": "eve@example.com"})


def _by_two_members(desk: Desk) -> dict[str, Any]:
    add_member(desk.conversation, "Other Asha")
    desk.conversation.query("UPDATE members SET email = 'asha@example.com' RETURNING id")
    return written()


def _by_former_member(desk: Desk) -> dict[str, Any]:
    desk.conversation.query("UPDATE members SET active = false RETURNING id")
    return written()


def _by_member_who_only_reads(desk: Desk) -> dict[str, Any]:
    desk.conversation.query("UPDATE members SET roles = '{viewer}' RETURNING id")
    return written()


def _with_picture(_desk: Desk) -> dict[str, Any]:
    return written(attachments=[{"file_type": "image"}])


def _above_the_level(desk: Desk) -> dict[str, Any]:
    desk.conversation.query("UPDATE sessions SET answering_clearance = 2 RETURNING id")
    return written()


def _of_another(desk: Desk) -> dict[str, Any]:
    ines = add_member(desk.conversation, "Ines")
    session_id = desk.conversation.query("SELECT session_id FROM inbox_threads")[0][0]
    now = desk.conversation.clock()
    desk.conversation.database.run(ines, lambda tx: threads.take(ines, tx, session_id, now))  # type: ignore[arg-type]
    desk.deliver()
    return written()


def _of_nobody(desk: Desk) -> dict[str, Any]:
    return RESOLVED


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (_by_stranger, "No active member of Parlour"),
        (_by_two_members, "or more than one"),
        (_by_former_member, "No active member of Parlour"),
        (_by_member_who_only_reads, "editor"),
        (_with_picture, "Parlour sends no files"),
        (_above_the_level, "classified higher"),
        (_of_another, "Ines has this conversation"),
        (_of_nobody, "No member has this conversation"),
    ],
)
def test_what_is_refused_is_explained_in_a_private_note(
    client: TestClient, desk: Desk, prepare: Any, reason: str
) -> None:
    event = prepare(desk)
    before = desk.conversation.query(_STATE)

    assert [post(client, desk, event) for _ in range(2)] == ["refused", "refused"]
    assert desk.conversation.query(_PERSONS_MESSAGES) == []
    assert desk.conversation.query(_STATE) == before
    [note] = told(desk)
    assert note.startswith("**Parlour refused this.** ")
    assert reason in note


def test_a_resolved_conversation_is_closed_for_the_member_who_has_it(client: TestClient, desk: Desk) -> None:
    post(client, desk, written())

    assert [post(client, desk, RESOLVED) for _ in range(2)] == ["done", "ignored"]
    assert desk.conversation.query("SELECT state FROM inbox_threads") == [("done",)]
    assert kinds(desk.conversation)[-1] == "closed"


def test_work_that_the_database_runs_twice_is_not_refused(
    client: TestClient, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Database.run

    def run_twice(database: Database, principal: Any, work: Any) -> Any:
        run(database, principal, work)
        return run(database, principal, work)

    monkeypatch.setattr(Database, "run", run_twice)
    outcomes = [post(client, desk, written()), post(client, desk, RESOLVED)]
    monkeypatch.undo()

    assert "refused" not in outcomes
    assert desk.conversation.query("SELECT state FROM inbox_threads") == [("done",)]


def test_a_resolve_of_what_chatwoot_did_not_show_is_refused_until_it_is_resolved_again(
    client: TestClient, desk: Desk
) -> None:
    post(client, desk, written())
    [(opened_at,)] = desk.conversation.query("SELECT opened_at FROM inbox_threads")
    before = {**RESOLVED, "updated_at": opened_at.timestamp() - 1}  # type: ignore[attr-defined]
    assert post(client, desk, before) == "refused"  # it is of an earlier stay
    desk.deliver()
    desk.write("Which Monday?", "second")
    assert post(client, desk, RESOLVED) == "refused"  # the message is on its way to Chatwoot
    desk.deliver()
    desk.conversation.query(f"UPDATE messages SET received_at = received_at + interval '1 hour' {_UNANSWERED}")
    now = desk.conversation.clock().timestamp()
    assert post(client, desk, {**RESOLVED, "updated_at": now}) == "refused"  # it came after the click
    assert desk.conversation.query(_STATE) == [("person", "Asha")]
    assert len([note for note in told(desk) if "Read what is new" in note]) == 1

    assert post(client, desk, {**RESOLVED, "updated_at": now + 3600}) == "done"
    assert [note for note in told(desk) if "Parlour refused" in note] == []


def test_an_answer_after_closing_is_refused_and_a_repeat_of_one_before_is_not(client: TestClient, desk: Desk) -> None:
    post(client, desk, written())
    desk.deliver()
    post(client, desk, RESOLVED)

    assert post(client, desk, written("One more thing.", number=12)) == "refused"
    assert post(client, desk, written()) == "done"
    assert any("this conversation is closed" in note for note in told(desk))


@pytest.mark.parametrize("token", ["x", "a.b.c"])
def test_an_address_that_was_not_issued_is_refused(client: TestClient, token: str) -> None:
    assert client.post(f"/v1/chatwoot/{token}", json=written()).status_code == 401


def test_an_address_of_an_inbox_that_no_binding_has_any_more_does_nothing(client: TestClient, desk: Desk) -> None:
    assert post(client, desk, RESOLVED, INBOX.replace("inboxes/7", "inboxes/8")) == "ignored"
    assert send(client, desk, written(), INBOX.replace("inboxes/7", "inboxes/8")).status_code == 404
    assert send(client, desk, written(conversation={"id": 99})).status_code == 404
    desk.conversation.query("UPDATE bindings SET notifications = '{}' RETURNING id")
    assert post(client, desk, RESOLVED) == "ignored"
    assert send(client, desk, written()).status_code == 404  # Chatwoot shows that it was not sent

    assert desk.conversation.query(_PERSONS_MESSAGES) == []


def test_a_token_of_another_key_is_refused(client: TestClient, desk: Desk) -> None:
    source = source_of(desk)

    assert client.post(make_webhook_path(source, "x" * 48), json=written()).status_code == 401


def test_the_address_is_for_administrators(client: TestClient, desk: Desk) -> None:
    [(slug,)] = desk.conversation.query("SELECT slug FROM tenants WHERE tenant_id = current_tenant()")
    as_operator = operator_headers(str(slug))
    source = source_of(desk)

    assert client.get("/v1/chatwoot", params={"binding": "site-desk"}).status_code == 401
    answer = client.get("/v1/chatwoot", params={"binding": "site-desk"}, headers=as_operator)
    assert answer.json() == {"path": make_webhook_path(source, TOKEN_SECRET)}
    unknown = client.get("/v1/chatwoot", params={"binding": "nobody"}, headers=as_operator)
    assert unknown.status_code == 404


def test_a_rotated_address_is_refused_and_both_acts_leave_a_trace(client: TestClient, desk: Desk) -> None:
    [(slug,)] = desk.conversation.query("SELECT slug FROM tenants WHERE tenant_id = current_tenant()")
    headers = operator_headers(str(slug))
    leaked = client.get(_ADDRESS, headers=headers).json()["path"]
    assert client.get(_ADDRESS, headers=headers).json()["path"] == leaked  # reading it ends nothing
    fresh = client.post(_ROTATION, headers=headers).json()["path"]

    assert client.post(leaked, json=written()).status_code == 401
    assert client.post(leaked, json=RESOLVED).status_code == 401
    assert desk.conversation.query(_PERSONS_MESSAGES) == []
    assert client.post(fresh, json=written()).json() == {"outcome": "done"}
    trail = desk.conversation.query(
        "SELECT action, count(*) FROM audit_log WHERE target = 'binding:site-desk' GROUP BY 1"
    )
    assert sorted(map(str, trail)) == ["('chatwoot_address.read', 2)", "('chatwoot_address.rotated', 1)"]


def test_an_api_key_neither_reads_nor_rotates_the_address(client: TestClient, desk: Desk) -> None:
    [(slug,)] = desk.conversation.query("SELECT slug FROM tenants WHERE tenant_id = current_tenant()")
    key = create_key_headers(client, str(slug), "admin")
    assert client.get(_ADDRESS, headers=key).status_code == 403
    assert client.post(_ROTATION, headers=key).status_code == 403
