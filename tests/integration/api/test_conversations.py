"""The list of all conversations, for viewers: filtered, paged, and never above their clearance."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from tests.integration.api.attention_items import AttentionItems
from tests.integration.api.conftest import (
    EventFeed,
    ManualClock,
    VisitorSession,
    create_key_headers,
    open_session,
    operator_headers,
)
from tests.integration.api.test_approvals import answer, ask
from tests.integration.api.test_record_conversations import applied, kind


@pytest.fixture
def viewer(client: TestClient, acme: str) -> dict[str, str]:
    return create_key_headers(client, acme, "viewer")


@pytest.fixture
def items(feed: EventFeed, database: Database, clock: ManualClock) -> AttentionItems:
    return AttentionItems(database, feed.tenant_id, feed.session_id, clock())


def listed(client: TestClient, headers: dict[str, str], **params: Any) -> list[Any]:
    answer = client.get("/v1/conversations", params=params, headers=headers)
    assert answer.status_code == 200, answer.text
    found: list[Any] = answer.json()["conversations"]
    return found


def ids(client: TestClient, headers: dict[str, str], **params: Any) -> list[str]:
    return [one["id"] for one in listed(client, headers, **params)]


def change(feed: EventFeed, statement: str, **parameters: object) -> None:
    with feed.database.transaction(feed.tenant_id) as tx:
        assert tx.run(Query("test.change", "-", statement), **parameters) == 1


def test_a_row_tells_person_agent_activity_turns_and_cost(
    client: TestClient, visit: VisitorSession, viewer: dict[str, str], feed: EventFeed
) -> None:
    visit.send("When is the pour?")
    turn = feed.add_turn()
    change(
        feed,
        "INSERT INTO llm_calls (tenant_id, id, session_id, turn_id, purpose, provider, model, outcome, cost_usd,"
        " latency_ms, at) VALUES (current_tenant(), %(id)s, %(session)s, %(id)s, 'turn', 'a', 'b', 'ok', 0.0142, 1,"
        " now())",
        id=turn,
        session=feed.session_id,
    )
    change(
        feed,
        "UPDATE users u SET phone = '+919800001234', display_name = 'Ida Rao' FROM sessions s WHERE s.id = %(id)s"
        " AND u.id = s.user_id",
        id=feed.session_id,
    )
    (row,) = listed(client, viewer)
    assert row["person"]["name"] == "Ida Rao"
    assert row["person"]["phone_last_digits"] == "1234"
    assert row["agent"] == {"slug": "desk", "name": row["agent"]["name"]}
    assert (row["title"], row["last_message_preview"]) == ("When is the pour?", "When is the pour?")
    assert (row["message_count"], row["turn_count"], row["last_turn_state"]) == (1, 1, "answered")
    assert (row["cost_usd"], row["attention_count"], row["entity"], row["archived"]) == ("0.01420000", 0, None, False)
    assert client.get(f"/v1/conversations/{visit.session_id}", headers=viewer).json() == row


def test_pages_follow_each_other_from_the_newest_activity_without_gap_or_repeat(
    client: TestClient, acme: str, viewer: dict[str, str], clock: ManualClock
) -> None:
    opened = []
    for at in range(5):
        clock.advance(minutes=at % 2)  # two of them at the same moment
        opened.append(open_session(client, acme).session_id)
    whole = ids(client, viewer)
    assert set(whole) == set(opened)
    assert set(whole[:2]) == set(opened[3:])
    paged, cursor = [], ""
    while True:
        page = client.get("/v1/conversations", params={"limit": 2, "cursor": cursor}, headers=viewer).json()
        paged += [one["id"] for one in page["conversations"]]
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert paged == whole


def test_filters_find_by_text_agent_channel_person_record_and_time(
    client: TestClient, acme: str, viewer: dict[str, str], feed: EventFeed, visit: VisitorSession, clock: ManualClock
) -> None:
    assert applied(client, entity_types__permit=kind("")).status_code == 200
    made = client.post(
        "/v1/entities", json={"type": "permit", "name": "A crane", "key": "P-1"}, headers=operator_headers(acme)
    )
    assert made.status_code == 201, made.text
    visit.send("When is the pour?")
    clock.advance(minutes=5)
    moment = clock().isoformat()
    other = client.post("/v1/sessions", json={"tenant": acme, "binding": "desk", "entity": "permit/P-1"}).json()
    other_id = other["session_id"]
    change(feed, "UPDATE sessions SET channel = 'whatsapp', title = '50%% off' WHERE id = %(id)s", id=UUID(other_id))
    change(
        feed,
        "UPDATE users u SET phone = '+919800001234', display_name = 'Ida Rao' FROM sessions s WHERE s.id = %(id)s"
        " AND u.id = s.user_id",
        id=UUID(other_id),
    )
    person = listed(client, viewer, record="permit/P-1")[0]["person"]["id"]
    for found in (
        {"text": "50% OFF"},
        {"text": "ida"},
        {"text": "1234"},
        {"text": "…34"},
        {"text": "+91 98000 01234"},
        {"channel": "whatsapp"},
        {"record": "permit/P-1"},
        {"person": person},
        {"since": moment},
        {"agent": "desk", "text": "Rao"},
    ):
        assert ids(client, viewer, **found) == [other_id], found
    assert ids(client, viewer, until=moment) == ids(client, viewer, text="the pour") == [visit.session_id]
    assert listed(client, viewer, record="permit/P-1")[0]["entity"] == {"handle": "permit/P-1", "name": "A crane"}
    for missed in ({"text": "_ff"}, {"text": "00001234"}, {"agent": "none"}, {"channel": "sms"}):
        assert ids(client, viewer, **missed) == [], missed


def test_the_state_of_a_conversation_in_the_inbox_is_the_inbox_s(
    client: TestClient, viewer: dict[str, str], visit: VisitorSession, feed: EventFeed
) -> None:
    feed.add_turn()
    assert listed(client, viewer, state="answered")[0]["inbox_state"] is None
    change(
        feed,
        "INSERT INTO inbox_threads (tenant_id, session_id, state, claim, reason, opened_by, opened_at, updated_at) "
        "SELECT tenant_id, id, 'waiting', 1, 'asked', 'system', now(), now() FROM sessions WHERE id = %(id)s",
        id=UUID(visit.session_id),
    )
    (row,) = listed(client, viewer, state="waiting")
    assert (row["inbox_state"], row["attention_count"]) == ("waiting", 0)
    for state, assignee, found_by in (("person", "Kai", "with_person"), ("snoozed", "Kai", "with_person")):
        change(feed, "UPDATE inbox_threads SET state = %(state)s, assignee_name = %(name)s", state=state, name=assignee)
        (row,) = listed(client, viewer, state=found_by)
        assert (row["inbox_state"], row["assignee_name"]) == (state, assignee)
        assert ids(client, viewer, state="answered") == ids(client, viewer, state="waiting") == []
    change(feed, "UPDATE inbox_threads SET state = 'done'")
    assert ids(client, viewer, state="answered") == [visit.session_id]
    assert ids(client, viewer, state="waiting") == ids(client, viewer, state="with_person") == []


def test_a_question_for_the_user_waits_for_the_user_until_it_is_answered(
    client: TestClient, viewer: dict[str, str], visit: VisitorSession, feed: EventFeed
) -> None:
    approval = ask(feed)
    change(feed, "UPDATE turns SET state = 'answered', finished_at = now()")
    (row,) = listed(client, viewer, state="waiting_for_user")
    assert (row["id"], row["last_turn_state"], row["has_question_for_user"]) == (visit.session_id, "answered", True)
    assert ids(client, viewer, state="answered") == ids(client, viewer, state="waiting") == []
    assert answer(client, approval, visit.headers, decision="refuse").status_code == 200
    assert ids(client, viewer, state="waiting_for_user") == []
    (row,) = listed(client, viewer)
    assert not row["has_question_for_user"]


def test_a_question_for_members_waits_for_no_user(
    client: TestClient, viewer: dict[str, str], visit: VisitorSession, feed: EventFeed
) -> None:
    ask(feed, "editor")
    assert ids(client, viewer, state="waiting_for_user") == []
    assert ids(client, viewer) == [visit.session_id]


def test_a_tool_that_failed_marks_its_conversation_until_it_works_again(
    client: TestClient, viewer: dict[str, str], visit: VisitorSession, feed: EventFeed, items: AttentionItems
) -> None:
    call = items.add_tool_call()
    change(feed, "UPDATE turns SET state = 'answered', finished_at = now()")
    finish = "UPDATE tool_calls SET state = %(state)s, code = %(code)s, finished_at = %(at)s WHERE id = %(id)s"
    change(feed, finish, id=call, state="failed", code="invalid_arguments", at=items.at)
    assert ids(client, viewer, state="failed") == []  # the model's mistake, not the tool's
    change(feed, finish, id=call, state="failed", code="unavailable", at=items.at)
    (row,) = listed(client, viewer, state="failed")
    assert (row["id"], row["last_turn_state"], row["failed_tools"]) == (visit.session_id, "answered", ["book_crane"])
    assert ids(client, viewer, state="failed", since=(items.at + timedelta(seconds=1)).isoformat()) == []
    again = items.add_tool_call()
    change(feed, finish, id=again, state="done", code=None, at=items.at + timedelta(minutes=1))
    assert [row["failed_tools"] for row in listed(client, viewer, state="failed")] == [[]]


def test_states_tell_answered_running_failed_waiting_and_archived_apart(
    client: TestClient,
    acme: str,
    viewer: dict[str, str],
    visit: VisitorSession,
    feed: EventFeed,
    items: AttentionItems,
) -> None:
    silent = open_session(client, acme).session_id
    found = {state: ids(client, viewer, state=state) for state in ("answered", "running", "failed", "waiting")}
    assert found == {"answered": [], "running": [], "failed": [], "waiting": []}
    feed.add_turn()
    assert ids(client, viewer, state="answered") == [visit.session_id]
    failed, failed_at = items.add_failed_turn(), items.at - timedelta(minutes=1)
    assert ids(client, viewer, state="failed") == ids(client, viewer, state="waiting") == [visit.session_id]
    assert ids(client, viewer, state="failed", since=(failed_at + timedelta(seconds=1)).isoformat()) == []
    assert ids(client, viewer, state="failed", until=failed_at.isoformat()) == []
    assert ids(client, viewer, state="failed", since=failed_at.isoformat()) == [visit.session_id]
    items.add_tool_call()
    items.add_reply("held")
    (row,) = listed(client, viewer, state="waiting")
    assert row["attention_count"] == 3
    change(feed, "UPDATE turns SET dismissed_at = now() WHERE id = %(id)s", id=failed)
    assert listed(client, viewer, state="waiting")[0]["attention_count"] == 2
    assert ids(client, viewer, state="failed") == [visit.session_id]
    change(feed, "UPDATE turns SET state = 'open' WHERE id = %(id)s", id=failed)
    assert ids(client, viewer, state="running") == [visit.session_id]
    assert ids(client, viewer, state="archived") == []
    change(feed, "UPDATE sessions SET archived_at = now() WHERE id = %(id)s", id=UUID(silent))
    assert ids(client, viewer, state="archived") == [silent]
    assert set(ids(client, viewer)) == {silent, visit.session_id}


def test_only_viewers_of_the_tenant_list_and_open_conversations(
    client: TestClient, acme: str, brick: str, visit: VisitorSession, viewer: dict[str, str], feed: EventFeed
) -> None:
    address = f"/v1/conversations/{visit.session_id}"
    for headers in (visit.headers, create_key_headers(client, acme), create_key_headers(client, acme, "editor")):
        assert client.get("/v1/conversations", headers=headers).status_code == 403
        assert client.get(address, headers=headers).status_code == 403
    neighbour = create_key_headers(client, brick, "viewer")
    assert listed(client, neighbour) == []
    assert client.get(address, headers=neighbour).status_code == 404
    change(feed, "UPDATE bindings SET clearance = 2 WHERE slug = 'desk'")
    assert listed(client, viewer) == []
    assert client.get(address, headers=viewer).status_code == 404
    assert ids(client, operator_headers(acme)) == [visit.session_id]


@pytest.mark.parametrize(
    "params",
    [
        {"cursor": "x"},
        {"cursor": "WyIyMDI2LTAzLTAyVDA5OjMwOjAwKzAwOjAwIiwicmlzay9SLTEiXQ"},
        {"state": "odd"},
        {"limit": 0},
        {"limit": 201},
        {"person": "Ida"},
        {"since": "2026-03-02T09:30:00"},
        {"text": "a\0b"},
        {"stat": "failed"},
    ],
)
def test_a_filter_or_cursor_that_is_none_is_refused(
    client: TestClient, viewer: dict[str, str], params: dict[str, Any]
) -> None:
    answer = client.get("/v1/conversations", params=params, headers=viewer)
    assert answer.status_code == 422
    assert next(iter(params)) in answer.text


def test_a_viewer_pages_through_all_messages_each_with_its_turn(
    client: TestClient, visit: VisitorSession, viewer: dict[str, str], items: AttentionItems
) -> None:
    for text in ("One", "Two", "Three", "Four"):
        visit.send(text)
    turn = items.add_failed_turn()
    address, cursor, pages = f"/v1/sessions/{visit.session_id}/messages", "", []
    while True:
        page = client.get(address, params={"limit": 2, "cursor": cursor}, headers=viewer).json()
        pages.append([one["text"] for one in page["messages"]])
        if not cursor:
            assert [one["turn_id"] for one in page["messages"]] == [None, str(turn)]
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert pages == [["Four", "When is the pour?"], ["Two", "Three"], ["One"]]


@pytest.mark.parametrize("cursor", ["x", "01990f5e-7c1e-7d52-9d7e-5a4c6f3b1a01"])
def test_a_cursor_that_names_no_message_of_the_session_is_refused(visit: VisitorSession, cursor: str) -> None:
    visit.send("One")
    answer = visit.client.get(
        f"/v1/sessions/{visit.session_id}/messages", params={"cursor": cursor}, headers=visit.headers
    )
    assert answer.status_code == 422
    assert "cursor" in answer.json()["error"]["message"]
