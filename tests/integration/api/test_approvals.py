"""Approvals over the API: who sees a question, who answers it, and what a late or wrong answer reads."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from fastapi.testclient import TestClient

from parlour.approvals import approvals
from parlour.approvals.approvals import AskedCall
from parlour.approvals.rows import Approval
from parlour.infra.queries import Query
from parlour.tools.registry import load_tools
from tests.integration.api.attention_items import AttentionItems
from tests.integration.api.conftest import (
    EventFeed,
    FakeQueues,
    ManualClock,
    VisitorSession,
    create_key_headers,
    open_session,
    operator_headers,
)

_TOOL = """
INSERT INTO tools (tenant_id, id, name, description, schema, endpoint, writes, approver, editable, created_at,
                   updated_at)
VALUES (current_tenant(), %(id)s, 'page', 'Page somebody.', '{"type": "object", "additionalProperties": false,
        "properties": {"message": {"type": "string"}}}', 'python:page', true, %(approver)s, %(editable)s, now(), now())
"""
_OFFER = "UPDATE agents SET tools = tools || '{page}'"
_DEMOTE = "UPDATE api_keys SET roles = '{viewer}'"
_ASKED = "UPDATE tool_calls SET state = 'failed', code = 'approval_asked' WHERE id = %(id)s"


def ask(feed: EventFeed, approver: str = "user", *, editable: bool = False) -> Approval:
    """A question about a page in the visitor's session, as a turn leaves it."""
    call_id = AttentionItems(feed.database, feed.tenant_id, feed.session_id, feed.now).add_tool_call()
    with feed.database.transaction(feed.tenant_id) as tx:
        tx.run(Query("test.tool", "-", _TOOL), id=uuid4(), approver=approver, editable=editable)
        tx.run(Query("test.offer", "-", _OFFER))
        tx.run(Query("test.asked", "-", _ASKED), id=call_id)
        row = tx.one(
            Query("test.s", "-", "SELECT user_id AS id, binding_id AS session_id FROM sessions WHERE id = %(id)s"),
            _Place,
            id=feed.session_id,
        )
        (tool,) = load_tools(tx, ["page"])
        arguments: Any = {"message": "clear the north side"}
        asked = AskedCall(tool, "", arguments, call_id, feed.session_id, row.session_id, row.id, "web", 0)
        approval = approvals.new_approval(tx, asked, feed.now)
        approvals.ask(tx, approval)
    return approval


class _Place:
    """A session's user and binding."""

    def __init__(self, id: UUID, session_id: UUID) -> None:  # noqa: A002 - the column's name
        self.id = id
        self.session_id = session_id


def answer(client: TestClient, approval: Approval, headers: dict[str, str], **body: Any) -> Any:
    return client.post(f"/v1/approvals/{approval.id}/answer", json={"decision": "approve", **body}, headers=headers)


def test_a_visitor_sees_and_answers_their_own_question_once(
    client: TestClient, feed: EventFeed, visit: VisitorSession, queues: FakeQueues
) -> None:
    approval = ask(feed)
    listed = client.get("/v1/approvals", headers=visit.headers).json()["approvals"]
    assert [(one["id"], one["can_answer"]) for one in listed] == [(str(approval.id), True)]
    assert listed[0]["arguments"] == [{"label": "Message", "value": "clear the north side"}]
    given = answer(client, approval, visit.headers)
    assert (given.status_code, given.json()["code"]) == (200, "approved"), given.text
    again = answer(client, approval, visit.headers)
    assert again.status_code == 409
    assert "is being done" in again.json()["error"]["message"]
    assert client.get("/v1/approvals", headers=visit.headers).json()["approvals"] == []
    found = client.get(f"/v1/approvals/{approval.id}", headers=visit.headers).json()
    assert (found["state"], found["can_answer"]) == ("approved", False)


def test_another_visitor_and_a_member_cannot_answer(client: TestClient, feed: EventFeed, acme: str, brick: str) -> None:
    approval = ask(feed)
    assert answer(client, approval, open_session(client, acme).headers).status_code == 404
    assert answer(client, approval, operator_headers(acme)).status_code == 403
    assert answer(client, approval, operator_headers(brick)).status_code == 404


def test_a_role_is_asked_and_refuses_with_a_reason(
    client: TestClient, feed: EventFeed, acme: str, visit: VisitorSession
) -> None:
    approval = ask(feed, "editor")
    assert answer(client, approval, visit.headers).status_code == 403
    assert answer(client, approval, create_key_headers(client, acme, "viewer")).status_code == 403
    headers = create_key_headers(client, acme, "viewer", "editor")
    refused = answer(client, approval, headers, decision="refuse", reason="not on a Sunday")
    assert (refused.status_code, refused.json()["code"]) == (200, "refused"), refused.text
    assert refused.json()["approval"]["reason"] == "not on a Sunday"


def test_an_approver_who_lost_the_role_before_answering_is_refused(
    client: TestClient, feed: EventFeed, acme: str
) -> None:
    approval = ask(feed, "editor")
    headers = create_key_headers(client, acme, "viewer", "editor")

    def shown() -> tuple[str, bool]:
        found = client.get(f"/v1/approvals/{approval.id}", headers=headers).json()
        return found["state"], found["can_answer"]

    assert shown() == ("asked", True)
    with feed.database.transaction(feed.tenant_id) as tx:
        tx.run(Query("test.demote", "-", _DEMOTE))
    assert answer(client, approval, headers).status_code == 403
    assert shown() == ("asked", False)


def test_late_edited_and_wrong_answers_are_told_apart(
    client: TestClient, feed: EventFeed, visit: VisitorSession, clock: ManualClock
) -> None:
    approval = ask(feed, editable=True)
    wrong = answer(client, approval, visit.headers, arguments={"message": 5})
    assert wrong.status_code == 422
    assert "message" in wrong.json()["error"]["message"]
    edited = answer(client, approval, visit.headers, arguments={"message": "south"})
    assert edited.json()["code"] == "asked_again"
    assert answer(client, approval, visit.headers).status_code == 409
    clock.advance(hours=24, seconds=1)
    latest = UUID(edited.json()["approval"]["id"])
    late = client.post(f"/v1/approvals/{latest}/answer", json={"decision": "approve"}, headers=visit.headers)
    assert late.status_code == 409
    assert "expired" in late.json()["error"]["message"]


def test_arguments_that_the_user_may_not_change_stay(
    client: TestClient, feed: EventFeed, visit: VisitorSession
) -> None:
    approval = ask(feed)
    edited = answer(client, approval, visit.headers, arguments={"message": "pay 9,999"})
    assert edited.status_code == 422
    assert "refuse, and say what should be different" in edited.json()["error"]["message"]
    found = client.get(f"/v1/approvals/{approval.id}", headers=visit.headers).json()
    assert (found["state"], found["options"]) == ("asked", ["approve", "refuse"])


def test_always_allow_is_listed_and_revoked(
    client: TestClient, feed: EventFeed, visit: VisitorSession, clock: ManualClock
) -> None:
    approval = ask(feed)
    until = (clock() + timedelta(days=7)).isoformat()
    too_long = {"until": (clock() + timedelta(days=400)).isoformat()}
    assert answer(client, approval, visit.headers, always=too_long).status_code == 422
    assert answer(client, approval, visit.headers, always={"until": until}).status_code == 200
    (grant,) = client.get("/v1/approvals/grants", headers=visit.headers).json()["grants"]
    assert grant["tool"] == "page"
    gone = client.delete(f"/v1/approvals/grants/{grant['id']}", headers=visit.headers)
    assert gone.status_code == 204
    assert client.delete(f"/v1/approvals/grants/{grant['id']}", headers=visit.headers).status_code == 404
    assert client.get("/v1/approvals/grants", headers=visit.headers).json()["grants"] == []


@pytest.mark.parametrize("tool", ["refund", "r*", "*", "REFUND", "\uff52efund", "page"])
def test_always_allow_cannot_name_a_tool(
    client: TestClient, feed: EventFeed, visit: VisitorSession, clock: ManualClock, tool: str
) -> None:
    approval = ask(feed)
    always = {"tool": tool, "until": (clock() + timedelta(days=7)).isoformat()}
    refused = answer(client, approval, visit.headers, always=always)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid_request")
    assert client.get("/v1/approvals/grants", headers=visit.headers).json()["grants"] == []
    assert answer(client, approval, visit.headers, always={"until": always["until"]}).status_code == 200


def test_of_answers_at_once_one_allows_the_tool_for_longer(
    client: TestClient, feed: EventFeed, visit: VisitorSession, clock: ManualClock
) -> None:
    approval, until = ask(feed), (clock() + timedelta(days=7)).isoformat()
    with ThreadPoolExecutor(4) as threads:
        given = [*threads.map(lambda _: answer(client, approval, visit.headers, always={"until": until}), range(4))]
    assert sorted(one.status_code for one in given) == [200, 409, 409, 409]
    assert len(client.get("/v1/approvals/grants", headers=visit.headers).json()["grants"]) == 1


@pytest.mark.parametrize("body", [{"decision": "maybe"}, {"decision": "approve", "until": 1}, {}])
def test_an_answer_that_is_none_is_refused(
    client: TestClient, feed: EventFeed, visit: VisitorSession, body: dict[str, Any]
) -> None:
    approval = ask(feed)
    answered = client.post(f"/v1/approvals/{approval.id}/answer", json=body, headers=visit.headers)
    assert answered.status_code == 422
