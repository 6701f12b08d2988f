"""What is remembered, over the API: read by those it is about and by viewers, put right, forgotten."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from tests.integration.api.conftest import ManualClock, create_key_headers, operator_headers
from tests.integration.api.test_session_list import DESK, VisitorClient

_FACT = """
INSERT INTO facts (tenant_id, id, scope, user_id, binding_id, key, value, confidence, origin, valid_from, valid_until,
                   end_reason, last_confirmed_at, created_at, session_id, message_ids)
SELECT s.tenant_id, %(id)s, 'user', s.user_id, s.binding_id, %(key)s, %(value)s, 0.9, 'stated', %(at)s,
       %(until)s::timestamptz,
       CASE WHEN %(until)s::timestamptz IS NOT NULL THEN 'contradicted' END, %(at)s, %(at)s, s.id,
       ARRAY(SELECT m.id FROM messages m WHERE m.session_id = s.id)
  FROM sessions s WHERE s.id = %(session)s
"""
_EPISODE = """
INSERT INTO episodes (tenant_id, id, user_id, binding_id, session_id, text, from_at, until_at, created_at)
SELECT tenant_id, %(id)s, user_id, binding_id, id, 'They asked for the crane.', %(at)s, %(at)s, %(at)s
  FROM sessions WHERE id = %(session)s
"""
_CLEAR = "UPDATE users SET clearance = %(level)s WHERE id = (SELECT user_id FROM sessions WHERE id = %(session)s)"


@pytest.fixture
def someone(client: TestClient, acme: str) -> VisitorClient:
    return VisitorClient(client, client.post("/v1/sessions", json=DESK).json()["visitor_token"])


@pytest.fixture
def session(someone: VisitorClient) -> str:
    """The visitor's conversation, in which they said where they live."""
    (one,) = someone.list()
    someone.say(one["id"], "I live in Pune.")
    found: str = one["id"]
    return found


class MemoryRows:
    """Puts facts there as their writers do."""

    def __init__(self, database: Database, clock: ManualClock) -> None:
        self.database, self.clock = database, clock
        with database.transaction(None) as tx:
            query = Query("test.t", "-", "SELECT tenant_id FROM routing_keys WHERE key = 'tenant:acme'")
            self.tenant_id: UUID = tx.value(query)

    def add_fact(self, session: str, name: str, value: str, *, ended: bool = False) -> str:
        made, now = uuid7(self.clock()), self.clock()
        at = now - timedelta(days=1) if ended else now
        self._run(_FACT, id=made, session=UUID(session), key=name, value=value, at=at, until=now if ended else None)
        return str(made)

    def add_episode(self, session: str) -> None:
        self._run(_EPISODE, id=uuid7(self.clock()), session=UUID(session), at=self.clock())

    def set_clearance(self, session: str, level: int) -> None:
        self._run(_CLEAR, session=UUID(session), level=level)

    def _run(self, sql: str, **values: Any) -> None:
        with self.database.transaction(self.tenant_id) as tx:
            assert tx.run(Query("test.memory", "-", sql), **values) == 1


@pytest.fixture
def memory(database: Database, clock: ManualClock, acme: str) -> MemoryRows:
    return MemoryRows(database, clock)


def own(someone: VisitorClient) -> Any:
    answer = someone.client.get("/v1/memory", headers=someone.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_visitor_reads_what_is_remembered_and_from_which_words(
    someone: VisitorClient, session: str, memory: MemoryRows
) -> None:
    memory.add_fact(session, "city", "Mumbai", ended=True)
    made = memory.add_fact(session, "city", "Pune")
    memory.add_episode(session)
    told = own(someone)
    (fact,) = told["facts"]
    assert (fact["id"], fact["key"], fact["value"], fact["origin"], fact["agent"]) == (
        made,
        "city",
        "Pune",
        "stated",
        "Site desk",
    )
    assert [(one["text"], one["session_id"], one["channel"]) for one in fact["evidence_messages"]] == [
        ("I live in Pune.", session, "web")
    ]
    assert [(one["value"], one["end_reason"]) for one in fact["previous_values"]] == [("Mumbai", "contradicted")]
    assert [one["text"] for one in told["episodes"]] == ["They asked for the crane."]
    assert told["user"] is None


def test_a_fact_is_put_right_and_what_it_said_is_kept_as_what_was(
    someone: VisitorClient, session: str, memory: MemoryRows, client: TestClient
) -> None:
    made = memory.add_fact(session, "city", "Pune")
    path = f"/v1/memory/facts/{made}"
    assert client.patch(path, json={"value": "Pune"}, headers=someone.headers).json() == {"id": made}
    changed = client.patch(path, json={"value": " Goa \n west"}, headers=someone.headers).json()["id"]
    (fact,) = own(someone)["facts"]
    assert (fact["id"], fact["value"], fact["origin"], fact["edited_by"], fact["confidence"]) == (
        changed,
        "Goa west",
        "edited",
        "user",
        1,
    )
    assert [(one["value"], one["end_reason"]) for one in fact["previous_values"]] == [("Pune", "edited")]
    assert client.patch(path, json={"value": "Delhi"}, headers=someone.headers).status_code == 404


@pytest.mark.parametrize("value", ["", "  ", "x" * 301, "my password is swordfish", "4111 1111 1111 1111"])
def test_what_nobody_could_read_or_is_never_kept_is_no_value(
    someone: VisitorClient, session: str, memory: MemoryRows, client: TestClient, value: str
) -> None:
    made = memory.add_fact(session, "city", "Pune")
    answer = client.patch(f"/v1/memory/facts/{made}", json={"value": value}, headers=someone.headers)
    assert answer.status_code == 422, answer.text
    assert own(someone)["facts"][0]["value"] == "Pune"


def test_a_fact_is_forgotten_with_what_was_known_before_it(
    someone: VisitorClient, session: str, memory: MemoryRows, client: TestClient, database: Database
) -> None:
    memory.add_fact(session, "city", "Mumbai", ended=True)
    made = memory.add_fact(session, "city", "Pune")
    kept = memory.add_fact(session, "plan", "Basic")
    answer = client.delete(f"/v1/memory/facts/{made}", headers=someone.headers)
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["erased"]) == 2
    with database.transaction(memory.tenant_id) as tx:
        assert tx.value(Query("test.left", "-", "SELECT string_agg(id::text, ',') FROM facts")) == kept
    assert client.delete(f"/v1/memory/facts/{made}", headers=someone.headers).status_code == 404


def test_nobody_reads_or_changes_the_memory_of_somebody_else(
    client: TestClient, someone: VisitorClient, session: str, memory: MemoryRows, brick: str
) -> None:
    made = memory.add_fact(session, "city", "Pune")
    stranger = VisitorClient(client, client.post("/v1/sessions", json=DESK).json()["visitor_token"])
    neighbour = client.post("/v1/sessions", json={**DESK, "tenant": "brick"}).json()["visitor_token"]
    for other in (stranger.headers, {"Authorization": f"Bearer {neighbour}"}):
        assert client.get("/v1/memory", headers=other).json()["facts"] == []
        assert client.patch(f"/v1/memory/facts/{made}", json={"value": "Goa"}, headers=other).status_code == 404
        assert client.delete(f"/v1/memory/facts/{made}", headers=other).status_code == 404
    one_session = {"Authorization": f"Bearer {someone.open()['token']}"}
    assert client.get("/v1/memory", headers=one_session).status_code == 403
    assert client.get("/v1/users", headers=someone.headers).status_code == 403
    assert [one["value"] for one in own(someone)["facts"]] == ["Pune"]


def test_viewers_see_everybodys_as_far_as_they_are_cleared(
    client: TestClient, someone: VisitorClient, session: str, memory: MemoryRows, acme: str
) -> None:
    memory.add_fact(session, "city", "Pune")
    viewer = create_key_headers(client, acme, "viewer")
    (user,) = client.get("/v1/users", headers=viewer).json()["users"]
    assert (user["fact_count"], user["episode_count"], user["session_count"], user["channels"]) == (1, 0, 1, ["web"])
    path = f"/v1/users/{user['id']}/memory"
    assert client.get(path, headers=viewer).json()["facts"][0]["value"] == "Pune"
    assert client.get(path, headers=create_key_headers(client, acme, "editor")).status_code == 403
    memory.set_clearance(session, 3)
    assert client.get("/v1/users", headers=viewer).json()["users"] == []
    assert client.get(path, headers=viewer).status_code == 404
    assert client.get(path, headers=operator_headers(acme)).json()["facts"][0]["value"] == "Pune"
    for text, found in (("nobody", 0), ("", 1)):
        listed = client.get("/v1/users", params={"text": text}, headers=operator_headers(acme)).json()["users"]
        assert len(listed) == found


def test_editors_put_right_and_administrators_forget_what_they_may_see(
    client: TestClient, someone: VisitorClient, session: str, memory: MemoryRows, acme: str
) -> None:
    made = memory.add_fact(session, "city", "Pune")
    path = f"/v1/memory/facts/{made}"
    assert (
        client.patch(path, json={"value": "Goa"}, headers=create_key_headers(client, acme, "viewer")).status_code == 403
    )
    editor = create_key_headers(client, acme, "editor")
    memory.set_clearance(session, 3)
    assert client.patch(path, json={"value": "Goa"}, headers=editor).status_code == 404
    memory.set_clearance(session, 1)
    changed = client.patch(path, json={"value": "Goa"}, headers=editor).json()["id"]
    assert own(someone)["facts"][0]["edited_by"] == "key"
    acts = client.get("/v1/audit", headers=operator_headers(acme)).json()["entries"]
    assert [act["target"] for act in acts if act["action"] == "fact.edited"] == [f"fact:{made}"]
    assert client.delete(f"/v1/memory/facts/{changed}", headers=editor).status_code == 403
    assert client.delete(f"/v1/memory/facts/{changed}", headers=operator_headers(acme)).status_code == 200
    assert own(someone)["facts"] == []
