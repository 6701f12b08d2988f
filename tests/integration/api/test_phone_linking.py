"""Joining a conversation on the web with a phone over the API."""

import re
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from parlour.infra.errors import QueueUnavailable
from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from tests.integration.api.conftest import FakeQueues, ManualClock, VisitorSession, operator_headers
from tests.integration.api.test_record_conversations import applied
from tests.integration.api.test_session_list import DESK, VisitorClient

PHONE = "+91 98000 00007"

DESK_FILE = (
    "display_name: Site desk\nhuman: meera\nteam: site\nagent: adviser\nchannels:\n  web: {host: acme.example}\n"
    "  whatsapp: {provider: gupshup, app: AcmeApp, source: '447700900142', api_key: gupshup_key,\n"
    "    templates: [{name: news, id: t-1, purpose: reply, text: '{{1}}'}]}\n"
)
TENANT_FILE = "slug: acme\ndisplay_name: Acme\nsecrets: {gupshup_key: parlour/tenants/acme/gupshup}\n"


@pytest.fixture
def someone(client: TestClient, acme: str) -> VisitorClient:
    """A visitor of a desk that may write to any number by a template."""
    answer = applied(client, bindings__desk=DESK_FILE, tenant=TENANT_FILE)
    assert answer.status_code == 200, answer.text
    return VisitorClient(client, client.post("/v1/sessions", json=DESK).json()["visitor_token"])


def asked(someone: VisitorClient, session: str, **body: Any) -> Any:
    wanted = {"phone": PHONE, "consent": True, **body}
    return someone.client.post(f"/v1/sessions/{session}/phone", json=wanted, headers=someone.headers)


def code_in(database: Database, queues: FakeQueues) -> str:
    """What stands in the message that is about to leave."""
    message = queues.outbox.messages[-1].body
    query = "SELECT m.body FROM outbox o JOIN messages m ON m.id = o.message_id WHERE o.id = %(id)s"
    with database.transaction(UUID(str(message["tenant_id"]))) as tx:
        body = tx.value(Query("test.code", "-", query), id=UUID(str(message["outbox_id"])))
    found = re.match(r"\d{6}", str(body))
    assert found
    return found[0]


def test_a_number_is_joined_with_the_code_that_came_there(
    someone: VisitorClient, database: Database, queues: FakeQueues, client: TestClient
) -> None:
    (one,) = someone.list()
    someone.say(one["id"], "When is the pour?")
    answer = asked(someone, one["id"])
    assert answer.status_code == 202, answer.text
    told = answer.json()
    assert (told["expires_at"], len(queues.outbox.messages)) == ("2026-03-02T09:40:00Z", 1)
    given = {"code": code_in(database, queues)}
    path = f"/v1/sessions/{one['id']}/phone/{told['link_id']}"
    joined = client.post(path, json=given, headers=someone.headers)
    assert joined.status_code == 200, joined.text
    assert joined.json()["session_id"] == one["id"]
    # The merge revokes the visitor's earlier tokens: another person may hold a copy, and does not hold the phone.
    assert client.post(path, json=given, headers=someone.headers).status_code == 401
    holder = VisitorClient(client, joined.json()["visitor_token"])
    (now,) = holder.list()
    assert (now["id"], now["is_main"], now["title"]) == (one["id"], True, "When is the pour?")
    again = asked(holder, one["id"])
    assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")


@pytest.mark.parametrize(
    "body", [{"consent": False}, {"phone": "9800000007"}, {"phone": ""}, {"consent": None}, {"phone": "+91" + "9" * 60}]
)
def test_without_consent_or_a_number_nothing_is_sent(
    someone: VisitorClient, queues: FakeQueues, body: dict[str, Any]
) -> None:
    (one,) = someone.list()
    assert asked(someone, one["id"], **body).status_code == 422
    assert queues.outbox.messages == []


def test_a_wrong_code_a_strange_session_and_a_token_of_one_session_are_refused(
    client: TestClient, someone: VisitorClient, acme: str
) -> None:
    (one,) = someone.list()
    link = asked(someone, one["id"]).json()["link_id"]
    path = f"/v1/sessions/{one['id']}/phone/{link}"
    assert client.post(path, json={"code": "abcdef"}, headers=someone.headers).status_code == 422
    opened = client.post("/v1/sessions", json=DESK).json()
    visit = VisitorSession(client, opened["session_id"], opened["token"])
    stranger = VisitorClient(client, opened["visitor_token"])
    for headers, status in ((visit.headers, 403), (stranger.headers, 404), (operator_headers(acme), 403), ({}, 401)):
        wanted = {"phone": PHONE, "consent": True}
        assert client.post(f"/v1/sessions/{one['id']}/phone", json=wanted, headers=headers).status_code == status
        assert client.post(path, json={"code": "123456"}, headers=headers).status_code == status


def test_an_agent_that_is_not_on_whatsapp_joins_nothing(client: TestClient, acme: str) -> None:
    someone = VisitorClient(client, client.post("/v1/sessions", json=DESK).json()["visitor_token"])
    (one,) = someone.list()
    assert asked(someone, one["id"]).status_code == 404


def test_when_the_queue_is_down_the_code_waits_for_the_sweep(
    someone: VisitorClient, queues: FakeQueues, clock: ManualClock
) -> None:
    queues.outbox.problem = QueueUnavailable()
    (one,) = someone.list()
    assert asked(someone, one["id"]).status_code == 202
