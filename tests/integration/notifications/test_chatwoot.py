"""Conversations of the inbox in Chatwoot, against its published API."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.conversations import inbox_messages
from parlour.inbox import threads
from parlour.jobs.work_due import DueWork
from parlour.notifications import delivery_job, notifications
from parlour.notifications.chatwoot import ChatwootSender
from parlour.notifications.delivery_job import Sender
from parlour.notifications.receiver import Receivers
from parlour.notifications.store import NotificationRow
from parlour.principal import Principal
from parlour.tools.addresses import PrivateHosts
from parlour.tools.http_endpoint import HttpEndpoint
from tests.conversation_harness import ConversationHarness, text_answer
from tests.integration.inbox.test_threads import add_member, session_of
from tests.integration.notifications.chatwoot_server import ChatwootServer, chatwoot, prism_url

__all__ = ["chatwoot", "prism_url"]

TOKEN = "chatwoot-access-token"
NOTE = {"message_type": "outgoing", "private": True}


class Secrets:
    """A store with the access token."""

    def get(self, _reference: str, /) -> str:
        return TOKEN


@dataclass
class Desk:
    """A conversation whose binding has an inbox in Chatwoot, and what is on its way there."""

    conversation: ConversationHarness
    chatwoot: ChatwootServer
    minutes: int = 0
    woken: list[DueWork] = field(default_factory=list)

    def configure(self, clearance: int, url: str = "https://chat.example", private: bool = True) -> None:
        settings = {"url": url, "account": 3, "inbox": 7, "token": "chatwoot_token", "clearance": clearance}
        query, tenant_id = self.conversation.query, self.conversation.tenant_id
        notifications = json.dumps({"chatwoot": settings})
        query(f"UPDATE bindings SET inbox = '{_WORDS}', notifications = '{notifications}' RETURNING id")
        query('UPDATE tenants SET settings = settings || \'{"tool_hosts": ["chat.example", "10.0.0.1"]}\' RETURNING 1')
        query(
            "INSERT INTO secrets (tenant_id, id, name, reference) "
            f"VALUES (current_tenant(), '{UUID(int=1)}', 'chatwoot_token', 'chatwoot') RETURNING id"
        )
        ((slug,),) = query(f"SELECT slug FROM tenants WHERE tenant_id = '{tenant_id}'")
        hosts = PrivateHosts.parse(f"{slug}@chat.example={self.chatwoot.url}" if private else "")
        endpoint = HttpEndpoint(Secrets(), hosts)
        receivers = Receivers(endpoint, Secrets(), self.conversation.database, self.conversation.clock)
        self.sender = ChatwootSender(receivers, "https://p.test")

    def write(self, text: str, name: str) -> UUID:
        self.conversation.send_whatsapp(text, name)
        return session_of(self.conversation)

    def ask_for_person(self, text: str = "May I speak to a real person?") -> UUID:
        self.conversation.model.script = [text_answer("I will ask.")]
        session_id = self.write(text, "first")
        self.conversation.run_turn()
        return session_id

    def list_unsent(self) -> list[UUID]:
        """Return what is not sent yet, the newest event first: each has to wait for those before it."""
        rows = self.conversation.query(
            "SELECT n.id FROM notifications n LEFT JOIN inbox_events e ON e.id = n.event_id "
            "WHERE n.state IN ('pending', 'sending') ORDER BY e.number DESC"
        )
        return [UUID(str(row_id)) for (row_id,) in rows]

    def deliver(self, sender: Sender | None = None, rounds: int = 10) -> None:
        """Deliver what is due, again and again, as the sweep does."""
        for _ in range(rounds):
            for notification_id in self.list_unsent():
                self.minutes += 10
                now = self.conversation.clock() + timedelta(minutes=self.minutes)
                body: Any = {"tenant_id": str(self.conversation.tenant_id), "notification_id": str(notification_id)}
                delivery_job.deliver(
                    body,
                    self.conversation.database,
                    {"chatwoot": sender or self.sender},
                    self.woken.append,
                    now,
                    lambda: 60.0,
                )

    def states(self) -> list[tuple[object, ...]]:
        return self.conversation.query("SELECT DISTINCT state, problem FROM notifications ORDER BY state")


_WORDS = '{"words": {"en": ["real person"]}}'


@pytest.fixture
def desk(conversation: ConversationHarness, chatwoot: ChatwootServer) -> Desk:
    return Desk(conversation, chatwoot)


def _run(desk: Desk, person: Principal, move: Callable[..., Any], *arguments: Any) -> Any:
    now = desk.conversation.clock()
    return desk.conversation.database.run(person, lambda tx: move(person, tx, *arguments, now))


def test_a_conversation_is_in_chatwoot_from_opening_to_handing_back(desk: Desk) -> None:
    desk.configure(clearance=1)
    session_id = desk.ask_for_person()
    person = add_member(desk.conversation, "Asha")
    desk.conversation.query("UPDATE members SET email = 'STRING' RETURNING id")  # the one that prism's agent has
    claim = _run(desk, person, threads.take, session_id).claim
    desk.write("Is it <b>safe</b>?", "second")
    _run(desk, person, inbox_messages.say, session_id, "Yes, it is.", claim, "")
    _run(desk, person, inbox_messages.hand_back, session_id, "Offer [them](x) Tuesday.")
    desk.deliver()

    assert desk.states() == [("sent", "")]
    assert {(one.status, one.token) for one in desk.chatwoot.requests} == {(200, TOKEN)}
    user = desk.conversation.query("SELECT user_id FROM sessions")[0][0]
    messages = "conversations/0/messages"
    contact, created, *told = desk.chatwoot.list_posts()
    assert contact[1]["identifier"] == f"parlour:{user}"
    assert created == (
        "conversations",
        {
            "contact_id": "0",
            "custom_attributes": {"parlour_session": str(session_id)},
            "inbox_id": "7",
            "source_id": str(session_id),
            "status": "open",
        },
    )
    link = f"[Open it in the console](https://p.test/console/#/inbox/{session_id})"
    assert told == [
        (messages, {"content": f"**Why:** The user asked for a person.\n\n{link}", **NOTE}),
        (messages, {"content": "May I speak to a real person?", "message_type": "incoming", "private": False}),
        (messages, {"content": _reply(desk), "message_type": "outgoing", "private": False}),
        (messages, {"content": "Asha has the conversation now.", **NOTE}),
        ("conversations/0/assignments", {"assignee_id": 0}),
        (messages, {"content": "Is it <b>safe</b>?", "message_type": "incoming", "private": False}),
        (messages, {"content": "Yes, it is.", "message_type": "outgoing", "private": False}),
        (
            messages,
            {"content": "Asha handed it back to the agent: Offer \\[them\\](x) Tuesday.", **NOTE},
        ),
        ("conversations/0/toggle_status", {"status": "pending"}),
    ]


def _reply(desk: Desk) -> object:
    [(text,)] = desk.conversation.query(
        "SELECT body FROM messages WHERE direction = 'outbound' ORDER BY position LIMIT 1"
    )
    return text


def test_a_conversation_that_comes_back_is_opened_again(desk: Desk) -> None:
    desk.configure(clearance=1)
    session_id = desk.ask_for_person()
    person = add_member(desk.conversation, "Asha")
    _run(desk, person, inbox_messages.close, session_id)
    desk.deliver()
    desk.conversation.model.script = [text_answer("I will ask again.")]
    desk.write("The real person again, please.", "second")
    desk.conversation.run_turn()
    desk.deliver()

    statuses = [body for path, body in desk.chatwoot.list_posts() if path.endswith("toggle_status")]
    assert statuses == [{"status": "resolved"}, {"status": "open"}]
    assert [path for path, _ in desk.chatwoot.list_posts()].count("conversations") == 1


def test_texts_above_the_level_of_chatwoot_stay_here(desk: Desk) -> None:
    desk.configure(clearance=0)
    desk.conversation.query("UPDATE bindings SET clearance = 1 RETURNING id")
    session_id = desk.ask_for_person()
    person = add_member(desk.conversation, "Asha")
    _run(desk, person, inbox_messages.hand_back, session_id, "Say that Mr Doe pays.")
    desk.deliver()

    assert desk.states() == [("sent", "")]
    sent = [body for path, body in desk.chatwoot.list_posts() if path.endswith("messages")]
    assert all(body["private"] for body in sent)
    assert not any(word in str(sent) for word in ("real person", "I will ask", "Mr Doe"))
    assert f"/console/#/inbox/{session_id}" in sent[0]["content"]


def test_a_close_that_is_sent_again_after_the_user_came_back_resolves_nothing(desk: Desk) -> None:
    desk.configure(clearance=1)
    session_id = desk.ask_for_person()
    desk.deliver()
    person = add_member(desk.conversation, "Asha")
    desk.chatwoot.answers["POST", "/toggle_status"] = (422, {"error": "no"})
    _run(desk, person, inbox_messages.close, session_id)
    desk.deliver()
    desk.chatwoot.answers.clear()
    desk.conversation.model.script = [text_answer("I will ask again.")]
    desk.write("The real person again, please.", "second")
    desk.conversation.run_turn()
    desk.deliver()
    admin = desk.conversation.admin
    [problem] = desk.conversation.database.run(admin, lambda tx: notifications.list_problems(admin, tx, 10))
    desk.chatwoot.requests.clear()
    _run(desk, admin, notifications.resolve_problem, problem.id, "send_again")
    desk.deliver()

    assert desk.states() == [("sent", "")]
    assert [path for path, _ in desk.chatwoot.list_posts()] == ["conversations/0/messages"]


def test_a_slow_chatwoot_costs_attempts_until_a_person_is_told(desk: Desk) -> None:
    desk.configure(clearance=1)
    desk.ask_for_person()
    desk.conversation.database.set_time_limit(lambda: 19.0)
    desk.deliver(rounds=1)
    desk.conversation.database.set_time_limit(None)

    assert ("pending", "Chatwoot answers too slowly.") in desk.states()
    assert desk.chatwoot.requests == []

    class Killed(BaseException):
        pass

    class Dying:
        def send(self, _notification: NotificationRow, /) -> None:
            raise Killed

    first = desk.list_unsent()[-1]
    for _ in range(delivery_job.MAX_ATTEMPTS - 1):
        with pytest.raises(Killed):
            desk.deliver(Dying())
    desk.deliver()
    [(state, problem)] = desk.conversation.query(f"SELECT state, problem FROM notifications WHERE id = '{first}'")
    assert (state, "worker stopped" in str(problem)) == ("unknown", True)
    assert ("sent", "") in desk.states()  # those after it


def test_a_contact_that_another_conversation_created_meanwhile_is_used(desk: Desk) -> None:
    desk.configure(clearance=1)
    desk.ask_for_person()
    user = desk.conversation.query("SELECT user_id FROM sessions")[0][0]
    found = {"payload": [{"id": 41, "identifier": f"parlour:{user}"}]}
    desk.chatwoot.answers["GET", f"search?q=parlour%3A{user}"] = [(200, {"payload": []}), (200, found)]
    desk.chatwoot.answers["POST", "/contacts"] = (422, {"message": "Identifier has already been taken"})
    desk.deliver()

    assert desk.states() == [("sent", "")]
    assert ("GET", "/api/v1/accounts/3/contacts/41/conversations") in {
        (one.method, one.path) for one in desk.chatwoot.requests
    }


@pytest.mark.parametrize("is_there", [True, False])
def test_a_message_whose_worker_died_is_looked_for_first(desk: Desk, is_there: bool) -> None:
    desk.configure(clearance=1)
    desk.ask_for_person()
    desk.deliver()
    desk.chatwoot.requests.clear()
    desk.write("Hello?", "second")

    class Killed(BaseException):
        pass

    class Dying:
        def send(self, _notification: NotificationRow, /) -> None:
            raise Killed

    with pytest.raises(Killed):
        desk.deliver(Dying())
    at = int(desk.conversation.clock().timestamp())
    there = {"content": "Hello?", "message_type": "incoming", "private": False, "created_at": at}
    desk.chatwoot.answers["GET", "/messages"] = (200, {"payload": [there] if is_there else []})
    desk.deliver()

    assert desk.states() == [("sent", "")]
    assert len(desk.chatwoot.list_posts()) == (0 if is_there else 1)


def test_a_contact_and_a_conversation_that_are_there_are_used(desk: Desk) -> None:
    desk.configure(clearance=1)
    session_id = desk.ask_for_person()
    user = desk.conversation.query("SELECT user_id FROM sessions")[0][0]
    contact = {"id": 41, "identifier": f"parlour:{user}"}
    desk.chatwoot.answers["GET", f"search?q=parlour%3A{user}"] = (200, {"payload": [contact]})
    ours = {"id": 52, "inbox_id": 7, "custom_attributes": {"parlour_session": str(session_id)}}
    others = [{**ours, "id": 51, "inbox_id": 8}, {"id": 53, "inbox_id": 7, "custom_attributes": {}}]
    desk.chatwoot.answers["GET", "/contacts/41/conversations"] = (200, {"payload": [*others, ours]})
    desk.deliver()

    assert {path for path, _ in desk.chatwoot.list_posts()} == {"conversations/52/messages"}


def test_a_conversation_that_chatwoot_lost_is_made_again(desk: Desk) -> None:
    desk.configure(clearance=1)
    desk.ask_for_person()
    desk.deliver()
    desk.write("Hello?", "second")
    desk.chatwoot.answers["POST", "/messages"] = (404, {"error": "Resource could not be found"})
    desk.deliver(rounds=1)
    assert desk.states()[0] == ("pending", "Chatwoot has lost the conversation. It gets a new one.")
    desk.chatwoot.answers.clear()
    desk.deliver()

    assert desk.states() == [("sent", "")]
    assert [path for path, _ in desk.chatwoot.list_posts()].count("conversations") == 2


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (401, "Chatwoot refused the access token or its rights (401)."),
        (404, "Chatwoot has no such account or inbox. Check `account` and `inbox`."),
        (422, "Chatwoot answered 422."),
    ],
)
def test_what_chatwoot_refuses_is_shown_to_a_person(desk: Desk, status: int, problem: str) -> None:
    desk.configure(clearance=1)
    desk.ask_for_person()
    desk.chatwoot.answers["POST", "/contacts"] = (status, {"error": "no"})
    desk.deliver()

    assert desk.states() == [("failed", problem)]


def test_a_busy_chatwoot_holds_the_order_until_its_last_attempt(desk: Desk) -> None:
    desk.configure(clearance=1)
    desk.ask_for_person()
    desk.chatwoot.answers["POST", "/contacts"] = (503, None)
    desk.deliver(rounds=3)
    waiting = desk.conversation.query(
        "SELECT w.failures FROM notifications n JOIN work_due w ON w.id = n.id "
        "JOIN inbox_events e ON e.id = n.event_id ORDER BY e.number"
    )
    assert waiting == [(3,), (0,)]
    desk.chatwoot.answers.clear()
    desk.deliver()
    assert desk.states() == [("sent", "")]


@pytest.mark.parametrize("url", ["https://10.0.0.1", "https://other.example", "http://chat.example"])
def test_chatwoot_is_at_a_public_host_of_the_tenant_only(desk: Desk, url: str) -> None:
    desk.configure(clearance=1, url=url, private=False)
    desk.ask_for_person()
    desk.deliver()

    assert desk.states() == [("failed", "Chatwoot's host must be in tool_hosts, use https and have a public address.")]
    assert desk.chatwoot.requests == []
