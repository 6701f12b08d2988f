"""Stopping a turn over HTTP: who may, and what they are told."""

import uuid

import pytest
from fastapi.testclient import TestClient

from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from tests.integration.api.conftest import EventFeed, VisitorSession, create_key_headers, open_session


def stop(visit: VisitorSession, turn_id: object, **headers: str) -> tuple[int, dict[str, object]]:
    path = f"/v1/sessions/{visit.session_id}/turns/{turn_id}/stop"
    answer = visit.client.post(path, headers=headers or visit.headers)
    return answer.status_code, answer.json()


@pytest.fixture
def running_turn(feed: EventFeed, database: Database) -> uuid.UUID:
    turn_id = feed.add_turn()
    with database.transaction(feed.tenant_id) as tx:
        tx.run(Query("test.open", "-", "UPDATE turns SET state = 'open' WHERE id = %(id)s"), id=turn_id)
    return turn_id


def test_a_visitor_stops_their_own_turn_and_may_ask_twice(visit: VisitorSession, running_turn: uuid.UUID) -> None:
    for _ in range(2):
        assert stop(visit, running_turn) == (
            202,
            {
                "turn_id": str(running_turn),
                "state": "stopping",
                "running_write": None,
                "cancelled_tool_calls": 0,
                "message": "Stopping. What is written so far stays.",
            },
        )


def test_a_finished_turn_is_said_to_be_complete(visit: VisitorSession, feed: EventFeed) -> None:
    status, told = stop(visit, feed.add_turn())
    assert (status, told["state"], told["message"]) == (
        202,
        "answered",
        "This reply is complete; there is nothing to stop.",
    )


def test_nobody_stops_the_turn_of_somebody_elses_session(
    client: TestClient, visit: VisitorSession, running_turn: uuid.UUID, acme: str, brick: str
) -> None:
    for other in (open_session(client, acme), open_session(client, brick)):
        assert stop(visit, running_turn, **other.headers)[0] == 404
        assert stop(other, running_turn)[0] == 404


@pytest.mark.parametrize(("roles", "status"), [(("viewer",), 403), (("viewer", "editor"), 202)])
def test_only_members_who_edit_stop_the_turns_of_others(
    client: TestClient, visit: VisitorSession, running_turn: uuid.UUID, acme: str, roles: tuple[str, ...], status: int
) -> None:
    assert stop(visit, running_turn, **create_key_headers(client, acme, *roles))[0] == status


def test_a_turn_that_is_not_there_is_not_found(visit: VisitorSession) -> None:
    status, told = stop(visit, uuid.uuid4())
    assert status == 404
    assert "no such turn" in str(told["error"])
