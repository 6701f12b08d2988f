"""Dead letters over the API: counted and redriven by whoever runs the deployment, and by nobody else."""

import pytest
from fastapi.testclient import TestClient

from parlour.infra.errors import QueueUnavailable
from tests.integration.api.conftest import OPERATOR, FakeQueues, VisitorSession, create_key_headers, operator_headers

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
