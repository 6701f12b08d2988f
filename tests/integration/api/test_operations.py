"""Dead letters over the API: counted and redriven by whoever runs the deployment, and by nobody else."""

from unittest.mock import Mock

import pytest
from fastapi.testclient import TestClient

from parlour.infra import migrator
from parlour.infra.errors import ProviderUnavailable, QueueUnavailable
from parlour.infra.migrator import Migration
from tests.integration.api.attention_items import AttentionItems
from tests.integration.api.conftest import (
    OPERATOR,
    EventFeed,
    FakeQueues,
    ManualClock,
    VisitorSession,
    create_key_headers,
    operator_headers,
)

OPERATED = {"Authorization": f"Bearer {OPERATOR}"}


def test_dead_letters_are_counted_without_naming_a_tenant(client: TestClient, queues: FakeQueues) -> None:
    queues.dead_letters["tools"].amount = 7
    answer = client.get("/v1/operations/dead-letters", headers=OPERATED)
    assert answer.status_code == 200
    assert answer.json()["dead_letters"] == {
        "intake": 0,
        "turns-messaging": 0,
        "turns-web": 0,
        "tools": 7,
        "outbox": 0,
        "ingest": 0,
    }


def test_a_redrive_says_how_many_were_moved_and_how_many_are_left(client: TestClient, queues: FakeQueues) -> None:
    queues.dead_letters["outbox"].amount = 107
    answer = client.post("/v1/operations/redrive", json={"queue": "outbox"}, headers=OPERATED)
    assert answer.json() == {"queue": "outbox", "moved": 100, "remaining": 7}
    answer = client.post("/v1/operations/redrive", json={"queue": "outbox", "limit": 5}, headers=OPERATED)
    assert answer.json() == {"queue": "outbox", "moved": 5, "remaining": 2}


def test_nobody_but_the_operator_redrives(client: TestClient, acme: str, visit: VisitorSession) -> None:
    for headers in (create_key_headers(client, acme, "admin"), visit.headers):
        assert client.get("/v1/operations/dead-letters", headers=headers).status_code == 403
        answer = client.post("/v1/operations/redrive", json={"queue": "outbox"}, headers=headers)
        assert answer.status_code == 403
        assert "operator of the deployment" in answer.json()["error"]["message"]
    assert client.get("/v1/operations/dead-letters").status_code == 401
    wrong = {**operator_headers(acme), "Authorization": "Bearer operator-wrong"}
    assert client.get("/v1/operations/dead-letters", headers=wrong).status_code == 401


@pytest.mark.parametrize("body", [{}, {"queue": "wakeups"}, {"queue": "tools", "limit": 0}, {"queue": "tools", "x": 1}])
def test_what_cannot_be_redriven_is_said_plainly(client: TestClient, body: dict[str, object]) -> None:
    answer = client.post("/v1/operations/redrive", json=body, headers=OPERATED)
    assert answer.status_code == 422
    assert answer.json()["error"]["problems"]


def test_a_queue_that_is_away_is_tried_again_later(client: TestClient, queues: FakeQueues) -> None:
    queues.dead_letters["intake"].problem = QueueUnavailable("3 were moved, then the queue stopped answering")
    answer = client.post("/v1/operations/redrive", json={"queue": "intake"}, headers=OPERATED)
    assert answer.status_code == 503
    assert "3 were moved" in answer.json()["error"]["message"]


def find_health(client: TestClient) -> dict[str, tuple[str, str]]:
    answer = client.get("/v1/operations/health", headers=OPERATED)
    assert answer.status_code == 200, answer.text
    return {check["name"]: (check["status"], check["found"]) for check in answer.json()["checks"]}


def test_health_of_a_working_deployment_is_ok(client: TestClient, queues: FakeQueues) -> None:
    queues.providers["gupshup"] = lambda: None
    found = find_health(client)
    assert found.pop("operator's key")[0] == "warning"  # the tests' own deployment uses it
    assert {status for status, _ in found.values()} == {"ok"}
    assert {"database schema", "overdue work", "queue outbox", "signing key", "embeddings"} <= found.keys()
    assert found["provider gupshup"] == ("ok", "it answers")


def test_health_names_what_is_wrong_and_what_to_do(
    client: TestClient, feed: EventFeed, queues: FakeQueues, clock: ManualClock
) -> None:
    trouble = AttentionItems(feed.database, feed.tenant_id, feed.session_id, feed.now)
    trouble.add_waiting_reply(None)
    queues.dead_letters["outbox"].amount = 2
    queues.dead_letters["tools"].problem = QueueUnavailable("the dead letters could not be counted; try again")
    queues.providers["gupshup"] = Mock(side_effect=ProviderUnavailable("https://gupshup.test does not answer"))
    clock.advance(hours=1)
    found = find_health(client)
    assert found["queue outbox"] == ("warning", "2 dead letters")
    assert found["queue tools"][0] == "failed"
    assert found["provider gupshup"] == ("failed", "https://gupshup.test does not answer")
    assert found["overdue work"][0] == "warning"
    checks = client.get("/v1/operations/health", headers=OPERATED).json()["checks"]
    assert all(bool(check["what_to_do"]) == (check["status"] != "ok") for check in checks)


def test_health_of_a_database_that_is_not_migrated_fails(
    client: TestClient, acme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = [*migrator.list_migrations(), Migration(9999, "9999_next_release", "SELECT 1")]
    monkeypatch.setattr(migrator, "list_migrations", lambda: newer)
    assert find_health(client)["database schema"] == ("failed", "migrations are missing: 9999_next_release")


def test_health_is_for_the_operator_only(client: TestClient, acme: str) -> None:
    admin = create_key_headers(client, acme, "admin")
    assert client.get("/v1/operations/health", headers=admin).status_code == 403
