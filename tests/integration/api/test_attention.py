"""What needs a person over the API: who sees it, what each decision does, and that it is made once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from unittest.mock import Mock
from uuid import UUID, uuid4

import pytest
from fastapi.testclient import TestClient

from parlour.infra.errors import DatabaseUnavailable, QueueUnavailable
from parlour.infra.postgres import Database
from parlour.tenancy import audit
from tests.integration.api.attention_items import ARGUMENTS, PHONE, AttentionItems
from tests.integration.api.conftest import (
    EventFeed,
    FakeQueues,
    ManualClock,
    RecordingQueue,
    VisitorSession,
    create_key_headers,
    open_session,
    operator_headers,
)

type Settle = Callable[..., Any]


@pytest.fixture
def trouble(feed: EventFeed) -> AttentionItems:
    """Troubles of a visitor of acme's."""
    return AttentionItems(feed.database, feed.tenant_id, feed.session_id, feed.now)


@pytest.fixture
def settle(client: TestClient, acme: str) -> Settle:
    """Decides as the operator: `settle("replies", id, "arrived")`."""

    def post(kind: str, item: UUID, how: str) -> Any:
        return client.post(f"/v1/attention/{kind}/{item}", json={"resolution": how}, headers=operator_headers(acme))

    return post


def listed(client: TestClient, tenant: str = "acme") -> Any:
    answer = client.get("/v1/attention", headers=operator_headers(tenant))
    assert answer.status_code == 200, answer.text
    return answer.json()


def items_of(client: TestClient, *kinds: str) -> list[Any]:
    return [one for one in listed(client)["items"] if one["kind"] in kinds]


def refused(answer: Any) -> str:
    """The sentence of a refusal."""
    return str(answer.json()["error"]["message"])


def test_when_all_is_well_nothing_is_listed(client: TestClient, acme: str) -> None:
    found = listed(client)
    assert found["counts"] == {
        "tool_calls": 0,
        "unanswered": 0,
        "replies": 0,
        "waiting": 0,
        "turns": 0,
        "notifications": 0,
        "agent_loops": 0,
        "routes": 0,
        "unheard": 0,
        "spend": 0,
        "total": 0,
    }
    assert found["items"] == []
    assert found["spend"] == {
        "spent_usd": "0",
        "reserved_usd": "0",
        "cap_usd": "20",
        "stopped": False,
        "cap_reached": False,
    }
    assert found["has_more"] is False


def test_everything_that_needs_a_person_is_told_with_what_they_need_to_decide(
    client: TestClient, trouble: AttentionItems
) -> None:
    call, unknown, held, turn = (
        trouble.add_tool_call(),
        trouble.add_reply(),
        trouble.add_reply("held"),
        trouble.add_failed_turn(),
    )
    found = listed(client)
    assert found["counts"] == {
        "tool_calls": 1,
        "unanswered": 0,
        "replies": 2,
        "waiting": 0,
        "turns": 1,
        "notifications": 0,
        "agent_loops": 0,
        "routes": 0,
        "unheard": 0,
        "spend": 0,
        "total": 4,
    }
    shown, unsure, held_back, parked = found["items"]
    assert [one["kind"] for one in found["items"]] == [
        "unknown_tool_call",
        "unknown_delivery",
        "held_reply",
        "failed_turn",
    ]
    assert (shown["id"], shown["tool"], shown["arguments"]) == (str(call), "book_crane", ARGUMENTS)
    assert shown["session_id"] == str(trouble.session_id)
    assert client.get(f"/v1/turns/{shown['turn_id']}", headers=operator_headers("acme")).status_code == 200
    assert (unsure["id"], held_back["id"]) == (str(unknown), str(held))
    assert unsure["text"] == "The crane is booked."
    assert unsure["reason"] == {"code": "delivery_unknown", "message": "The provider did not answer in time."}
    assert unsure["resolutions"] == ["arrived", "send_again", "dismiss"]
    assert held_back["resolutions"] == ["send_again", "dismiss"]
    assert (parked["id"], parked["texts"], parked["attempts"]) == (str(turn), ["When is the pour?"], 3)
    assert parked["reason"]["code"] == "unexpected_error"
    assert parked["what_happened"] == "The turn failed. What the user wrote is unanswered."


def test_a_call_whose_worker_stopped_is_shown_until_another_takes_it_up(
    client: TestClient, trouble: AttentionItems
) -> None:
    call_id = trouble.add_tool_call("running", heavy=True)
    set_lease = "UPDATE tool_calls SET run_until = '{}-01-01' RETURNING turn_id"
    ((turn_id,),) = trouble.query(set_lease.format(2100))
    assert items_of(client, "unanswered_tool_call") == []
    trouble.query(set_lease.format(2000))
    (item,) = items_of(client, "unanswered_tool_call")
    assert (item["id"], item["tool"], item["arguments"]) == (str(call_id), "book_crane", ARGUMENTS)
    assert item["what_happened"] == "The tool book_crane was called, and there is no answer yet."
    assert listed(client)["counts"]["unanswered"] == 1
    turn = client.get(f"/v1/turns/{turn_id}", headers=operator_headers("acme")).json()
    assert [call["state"] for call in turn["tool_calls"]] == ["unanswered"]
    trouble.query(set_lease.format(2100))
    assert items_of(client, "unanswered_tool_call") == []


def test_a_stored_code_is_no_part_of_the_reason_that_people_read(client: TestClient, trouble: AttentionItems) -> None:
    trouble.add_reply("held")
    trouble.query("UPDATE outbox SET problem = 'window_closed: the user last wrote more than a day ago' RETURNING 1")
    (held,) = items_of(client, "held_reply")
    assert held["reason"] == {"code": "window_closed", "message": "The user last wrote more than a day ago."}


@pytest.mark.parametrize(
    ("problem", "code", "message", "what_to_do"),
    [
        ("missing_secret: secret x is missing", "missing_secret", "for the secret gupshup_api_key.", "secrets set"),
        ("key_refused: Gupshup answered 401", "key_refused", "Gupshup answered 401.", "secrets set gupshup_api_key"),
        ("provider_unavailable: Gupshup answered 503", "provider_unavailable", "Gupshup answered 503.", "status page"),
        ("secret_unavailable: no answer", "secret_unavailable", "the secret store does not answer", "parlour doctor"),
        ("misconfigured: the provider is unknown", "misconfigured", "The provider is unknown.", "apply the pack"),
        (None, "delayed", "No attempt to send it has ended yet.", "parlour doctor"),
    ],
)
def test_waiting_reply_says_why_and_what_to_do(
    client: TestClient, trouble: AttentionItems, problem: str | None, code: str, message: str, what_to_do: str
) -> None:
    trouble.set_secret_name("gupshup_api_key")
    reply = trouble.add_waiting_reply(problem)
    found = listed(client)
    (item,) = found["items"]
    assert (item["kind"], item["id"], item["reason"]["code"]) == ("waiting_reply", str(reply), code)
    assert message in item["reason"]["message"]
    assert what_to_do in item["what_to_do"]
    assert (found["counts"]["waiting"], found["counts"]["total"]) == (1, 1)
    trouble.query("UPDATE outbox SET state = 'sent' RETURNING 1")
    assert listed(client)["items"] == []


def test_of_a_phone_number_only_the_last_digits_are_shown(client: TestClient, trouble: AttentionItems) -> None:
    trouble.add_reply()
    answer = client.get("/v1/attention", headers=operator_headers("acme"))
    assert answer.json()["items"][0]["recipient"] == "…0001"
    assert PHONE[1:-4] not in answer.text


def test_what_is_finished_needs_nobody(client: TestClient, trouble: AttentionItems) -> None:
    trouble.add_tool_call("done")
    trouble.add_tool_call("running", heavy=True)
    trouble.add_reply("sent")
    assert listed(client)["counts"]["total"] == 0


def test_a_viewer_looks_and_an_admin_decides(
    client: TestClient, acme: str, visit: VisitorSession, trouble: AttentionItems
) -> None:
    call, send, turn = trouble.add_tool_call(), trouble.add_reply(), trouble.add_failed_turn()
    viewer, admin = create_key_headers(client, acme, "viewer"), create_key_headers(client, acme, "admin")
    assert client.get("/v1/attention", headers=viewer).json()["counts"]["total"] == 3
    decisions = {
        f"/v1/attention/tool-calls/{call}": "done",
        f"/v1/attention/replies/{send}": "arrived",
        f"/v1/attention/turns/{turn}": "redrive",
        f"/v1/tool-calls/{call}/cancel": None,
    }
    for path, how in decisions.items():
        body = {"resolution": how} if how else None
        assert client.post(path, json=body, headers=viewer).status_code == 403
        assert client.post(path, json=body, headers=visit.headers).status_code == 403
        assert client.post(path, json=body).status_code == 401
    assert client.get("/v1/attention", headers=visit.headers).status_code == 403
    assert client.get("/v1/attention", headers=create_key_headers(client, acme)).status_code == 403
    for path, how in list(decisions.items())[:3]:
        assert client.post(path, json={"resolution": how}, headers=admin).status_code == 200


def test_what_went_through_a_binding_of_more_clearance_is_not_listed(
    client: TestClient, acme: str, trouble: AttentionItems
) -> None:
    turn, call, send, running = (
        trouble.add_failed_turn(),
        trouble.add_tool_call(),
        trouble.add_reply(),
        trouble.add_tool_call("running", heavy=True),
    )
    trouble.query("UPDATE bindings SET clearance = 3 RETURNING id")
    trouble.query("UPDATE tool_calls SET run_until = '2000-01-01' WHERE state = 'running' RETURNING id")
    headers = create_key_headers(client, acme, "admin")
    assert client.get("/v1/attention", headers=headers).json()["counts"]["total"] == 0
    decisions = {
        f"attention/turns/{turn}": "redrive",
        f"attention/tool-calls/{call}": "done",
        f"attention/replies/{send}": "send_again",
        f"tool-calls/{running}/cancel": "",
    }
    for path, how in decisions.items():
        answer = client.post(f"/v1/{path}", json={"resolution": how} if how else None, headers=headers)
        assert answer.status_code == 404, path
    assert listed(client)["counts"]["total"] == 4


def test_what_was_asked_by_somebody_of_more_clearance_is_not_listed(
    client: TestClient, acme: str, trouble: AttentionItems
) -> None:
    turn = trouble.add_failed_turn()
    trouble.add_tool_call()
    trouble.add_reply()
    running = trouble.add_tool_call("running", heavy=True)
    trouble.query("UPDATE users SET clearance = 3 RETURNING id")
    headers = create_key_headers(client, acme, "admin")
    assert client.get("/v1/attention", headers=headers).json()["counts"]["total"] == 0
    for path in (f"attention/turns/{turn}", f"sessions/{trouble.session_id}/cancel"):
        assert client.post(f"/v1/{path}", json={"resolution": "redrive"}, headers=headers).status_code == 404, path
    assert client.get(f"/v1/sessions/{trouble.session_id}/messages", headers=headers).status_code == 404
    assert trouble.query(f"SELECT cancelled_at FROM tool_calls WHERE id = '{running}'") == [(None,)]
    assert listed(client)["counts"]["total"] == 3


def test_a_session_of_more_clearance_is_cancelled_by_its_visitor_and_no_lower_administrator(
    client: TestClient, acme: str, visit: VisitorSession, trouble: AttentionItems
) -> None:
    trouble.add_tool_call("reserved", heavy=True)
    trouble.query("UPDATE bindings SET clearance = 3 RETURNING id")
    path = f"/v1/sessions/{trouble.session_id}/cancel"
    assert client.post(path, headers=create_key_headers(client, acme, "admin")).status_code == 404
    assert trouble.query("SELECT cancelled_at FROM tool_calls") == [(None,)]
    assert client.post(path, headers=visit.headers).json()["tool_calls"] == 1


def test_a_redrive_that_cannot_be_audited_is_none(
    client: TestClient, trouble: AttentionItems, settle: Settle, queue: RecordingQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = trouble.add_failed_turn()
    with monkeypatch.context() as patch:
        patch.setattr(audit, "add_entry", Mock(side_effect=DatabaseUnavailable()))
        assert settle("turns", turn, "redrive").status_code == 503
    assert trouble.query("SELECT state FROM turns") == [("failed",)]
    assert queue.messages == []
    assert settle("turns", turn, "redrive").status_code == 200


def test_a_call_that_was_done_goes_on_in_its_conversation(
    client: TestClient, trouble: AttentionItems, settle: Settle, queue: RecordingQueue
) -> None:
    call = trouble.add_tool_call()
    answer = settle("tool-calls", call, "done")
    assert answer.json()["queued"] is True
    assert "Marked as done" in answer.json()["message"]
    assert trouble.query("SELECT state, resolved_by FROM tool_calls") == [("done", "operator")]
    ((body,),) = trouble.query("SELECT body FROM messages WHERE kind = 'tool_result' AND state = 'unanswered'")
    assert "book_crane" in str(body)
    assert [message.body["session_id"] for message in queue.messages] == [str(trouble.session_id)]
    assert listed(client)["counts"]["total"] == 0
    again = settle("tool-calls", call, "run_again")
    assert again.status_code == 409
    assert "already resolved" in refused(again)


def test_a_call_that_was_not_done_is_run_again_by_the_dispatcher(
    client: TestClient, trouble: AttentionItems, settle: Settle, queues: FakeQueues, queue: RecordingQueue
) -> None:
    call = trouble.add_tool_call()
    assert settle("tool-calls", call, "run_again").json() == {
        "message": "The tool call is running again.",
        "queued": True,
    }
    (message,) = queues.tools.messages
    assert message.body == {"tenant_id": str(trouble.tenant_id), "tool_call_id": str(call)}
    assert queue.messages == []
    assert trouble.query("SELECT state FROM tool_calls") == [("reserved",)]
    assert settle("tool-calls", call, "done").status_code == 409
    assert listed(client)["counts"]["total"] == 0


def test_a_reply_that_arrived_is_not_sent_again(
    client: TestClient, trouble: AttentionItems, settle: Settle, queues: FakeQueues
) -> None:
    send = trouble.add_reply()
    assert settle("replies", send, "arrived").json() == {"message": "Marked as sent.", "queued": True}
    assert queues.outbox.messages == []
    assert settle("replies", send, "send_again").status_code == 409
    assert listed(client)["counts"]["total"] == 0


@pytest.mark.parametrize("state", ["unknown", "held"])
def test_a_reply_is_sent_again_when_somebody_says_so(
    trouble: AttentionItems, settle: Settle, queues: FakeQueues, state: str
) -> None:
    send = trouble.add_reply(state)
    assert settle("replies", send, "send_again").status_code == 200
    (message,) = queues.outbox.messages
    assert message.body == {"tenant_id": str(trouble.tenant_id), "outbox_id": str(send)}
    assert message.group_id == str(trouble.session_id)
    assert trouble.query("SELECT state FROM outbox") == [("pending",)]


def test_a_held_reply_is_woken_although_its_queue_has_just_seen_it(
    trouble: AttentionItems, settle: Settle, queues: FakeQueues, clock: ManualClock
) -> None:
    send = trouble.add_reply("held")
    trouble.query("UPDATE outbox SET attempts = 0 RETURNING 1")  # the window was closed before anything was tried
    for _ in range(2):
        assert settle("replies", send, "send_again").json()["queued"]
        trouble.query("UPDATE outbox SET state = 'held' RETURNING 1")
        clock.now += timedelta(seconds=30)
    told = [message.deduplication_id for message in queues.outbox.messages]
    assert len({str(send), *told}) == 3


def test_a_reply_that_is_dismissed_stays_unsent(
    client: TestClient, trouble: AttentionItems, settle: Settle, queues: FakeQueues
) -> None:
    send = trouble.add_reply("held")
    assert settle("replies", send, "arrived").status_code == 409, "what was held cannot have arrived"
    assert settle("replies", send, "dismiss").status_code == 200
    assert queues.outbox.messages == []
    assert listed(client)["counts"]["total"] == 0


def test_a_failed_reply_is_sent_after_all_and_who_said_so_is_kept(
    client: TestClient, acme: str, trouble: AttentionItems, queues: FakeQueues
) -> None:
    failed, others = (
        trouble.add_reply("failed"),
        [trouble.add_reply(state) for state in ("unknown", "held", "sent", "pending")],
    )
    trouble.query("UPDATE outbox SET attempts = 7 RETURNING id")
    headers, path = operator_headers(acme), "/v1/attention/failed-replies"
    assert [one["id"] for one in client.get(path, headers=headers).json()["replies"]] == [str(failed)]
    assert client.get(path, headers=create_key_headers(client, acme)).status_code == 403
    assert (
        client.post(f"{path}/{failed}/redrive", headers=create_key_headers(client, acme, "viewer")).status_code == 403
    )

    answer = client.post(f"{path}/{failed}/redrive", headers=headers)
    assert answer.json() == {"message": "The reply is being sent again.", "queued": True}
    assert [message.body["outbox_id"] for message in queues.outbox.messages] == [str(failed)]
    assert trouble.query(f"SELECT state, attempts, resolved_by FROM outbox WHERE id = '{failed}'") == [
        ("pending", 0, "operator")
    ]
    assert trouble.query(f"SELECT id FROM work_due WHERE id = '{failed}'") == [(failed,)]
    audited = trouble.query("SELECT target FROM audit_log WHERE action = 'reply.redriven'")
    assert audited == [(f"outbox:{failed}",)]
    for other in (failed, *others):
        assert client.post(f"{path}/{other}/redrive", headers=headers).status_code == 409
    assert client.post(f"{path}/{uuid4()}/redrive", headers=headers).status_code == 404


@pytest.mark.parametrize("table", ["users", "bindings"])
def test_a_failed_reply_of_more_clearance_is_neither_listed_nor_sent(
    client: TestClient, acme: str, trouble: AttentionItems, queues: FakeQueues, table: str
) -> None:
    failed, path = trouble.add_reply("failed"), "/v1/attention/failed-replies"
    trouble.query(f"UPDATE {table} SET clearance = 3 RETURNING id")
    headers = create_key_headers(client, acme, "admin")
    assert client.get(path, headers=headers).json()["replies"] == []
    assert client.post(f"{path}/{failed}/redrive", headers=headers).status_code == 404
    assert queues.outbox.messages == []


def test_a_reply_that_somebody_let_be_is_not_redriven(
    client: TestClient, acme: str, trouble: AttentionItems, settle: Settle, clock: ManualClock
) -> None:
    dull, failed = trouble.add_reply("held"), trouble.add_reply("failed")
    assert settle("replies", dull, "dismiss").status_code == 200
    headers, path = operator_headers(acme), "/v1/attention/failed-replies"
    assert client.post(f"{path}/{dull}/redrive", headers=headers).status_code == 409
    assert client.post(f"{path}/{failed}/redrive", headers=headers).status_code == 200
    trouble.query(f"UPDATE outbox SET state = 'failed', status_at = now() WHERE id = '{failed}' RETURNING id")
    assert [one["id"] for one in client.get(path, headers=headers).json()["replies"]] == [str(failed)], "failed anew"


def test_a_failed_turn_is_answered_after_all(
    client: TestClient, trouble: AttentionItems, settle: Settle, queue: RecordingQueue
) -> None:
    turn = trouble.add_failed_turn()
    assert settle("turns", turn, "redrive").json() == {"message": "The message is being answered.", "queued": True}
    assert [message.body["session_id"] for message in queue.messages] == [str(trouble.session_id)]
    assert trouble.query("SELECT state FROM messages") == [("in_turn",)]
    late = settle("turns", turn, "dismiss")
    assert late.status_code == 409
    assert "dismissed" in refused(late)
    assert listed(client)["counts"]["total"] == 0


def test_a_failed_turn_is_let_be(
    client: TestClient, trouble: AttentionItems, settle: Settle, queue: RecordingQueue
) -> None:
    turn = trouble.add_failed_turn()
    assert settle("turns", turn, "dismiss").status_code == 200
    assert settle("turns", turn, "redrive").status_code == 409
    assert queue.messages == []
    assert listed(client)["counts"]["total"] == 0


def test_a_queue_that_is_away_delays_a_decision_and_loses_none(
    client: TestClient, trouble: AttentionItems, settle: Settle, queue: RecordingQueue, queues: FakeQueues
) -> None:
    for one in (queue, queues.tools, queues.outbox):
        one.problem = QueueUnavailable()
    done, again, send, turn = (
        trouble.add_tool_call(),
        trouble.add_tool_call(),
        trouble.add_reply(),
        trouble.add_failed_turn(),
    )
    answers = [
        settle("tool-calls", done, "done"),
        settle("tool-calls", again, "run_again"),
        settle("replies", send, "send_again"),
        settle("turns", turn, "redrive"),
    ]
    for answer in answers:
        assert answer.status_code == 200
        assert answer.json()["queued"] is False
        assert "where the database pauses within a day" in answer.json()["message"]
    assert listed(client)["counts"]["total"] == 0
    due = {kind for (kind,) in trouble.query("SELECT kind FROM work_due")} - {"archive", "visitor_retention"}
    assert due == {"session", "tool_call", "outbox"}, "the sweep finds all of it"


def test_who_decided_what_is_kept(
    client: TestClient, acme: str, trouble: AttentionItems, settle: Settle, clock: ManualClock
) -> None:
    call, send, turn, other = (
        trouble.add_tool_call(),
        trouble.add_reply(),
        trouble.add_failed_turn(),
        trouble.add_failed_turn(),
    )
    heavy = trouble.add_tool_call("reserved", heavy=True)
    for decide in (
        lambda: settle("tool-calls", call, "run_again"),
        lambda: settle("replies", send, "dismiss"),
        lambda: settle("turns", turn, "redrive"),
        lambda: settle("turns", other, "dismiss"),
        lambda: client.post(f"/v1/tool-calls/{heavy}/cancel", headers=operator_headers(acme)),
    ):
        clock.advance(seconds=1)
        assert decide().status_code == 200
    entries = client.get("/v1/audit?limit=5", headers=operator_headers(acme)).json()["entries"]
    assert [(one["action"], one["target"]) for one in entries[::-1]] == [
        ("tool_call.resolved", f"tool_call:{call}"),
        ("reply.resolved", f"outbox:{send}"),
        ("turn.redriven", f"turn:{turn}"),
        ("turn.dismissed", f"turn:{other}"),
        ("tool_call.cancelled", f"tool_call:{heavy}"),
    ]
    assert {one["actor"] for one in entries} == {"operator"}


@pytest.mark.parametrize(
    ("kind", "hows"),
    [("tool-calls", ("done", "run_again")), ("replies", ("arrived", "send_again")), ("turns", ("redrive", "dismiss"))],
)
def test_of_two_clicks_at_once_one_wins(
    trouble: AttentionItems,
    settle: Settle,
    clock: ManualClock,
    queue: RecordingQueue,
    queues: FakeQueues,
    kind: str,
    hows: tuple[str, str],
) -> None:
    clock.tick = timedelta(microseconds=1)
    for _ in range(3):
        item = {"tool-calls": trouble.add_tool_call, "replies": trouble.add_reply, "turns": trouble.add_failed_turn}[
            kind
        ]()
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(settle, [kind] * 4, [item] * 4, [*hows, *hows]))
        assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
        assert all(refused(answer) for answer in answers if answer.status_code == 409)
    woken = len(queue.messages) + len(queues.tools.messages) + len(queues.outbox.messages)
    assert woken <= 3


def test_another_tenants_troubles_are_neither_seen_nor_settled(
    client: TestClient, brick: str, trouble: AttentionItems
) -> None:
    call, send, turn = trouble.add_tool_call(), trouble.add_reply(), trouble.add_failed_turn()
    heavy = trouble.add_tool_call("reserved", heavy=True)
    assert listed(client, brick)["counts"]["total"] == 0
    headers = operator_headers(brick)
    for path, body in (
        (f"attention/tool-calls/{call}", {"resolution": "done"}),
        (f"attention/replies/{send}", {"resolution": "dismiss"}),
        (f"attention/turns/{turn}", {"resolution": "redrive"}),
        (f"tool-calls/{heavy}/cancel", None),
        (f"sessions/{trouble.session_id}/cancel", None),
    ):
        assert client.post(f"/v1/{path}", json=body, headers=headers).status_code == 404, path
    assert listed(client)["counts"]["total"] == 3


@pytest.mark.parametrize("kind", ["tool-calls", "replies", "turns"])
def test_bad_input_is_refused_in_a_sentence(client: TestClient, acme: str, settle: Settle, kind: str) -> None:
    right = {"tool-calls": "done", "replies": "arrived", "turns": "redrive"}[kind]
    nothing = settle(kind, uuid4(), right)
    assert nothing.status_code == 404
    assert refused(nothing).endswith(" not found")
    for wrong in ("maybe", "", "DONE"):
        answer = settle(kind, uuid4(), wrong)
        assert answer.status_code == 422
        assert refused(answer).startswith("resolution: ")
    for body in ({}, {"resolution": right, "why": "x"}, [right], None):
        answer = client.post(f"/v1/attention/{kind}/{uuid4()}", json=body, headers=operator_headers(acme))
        assert answer.status_code == 422
    assert (
        client.post(
            f"/v1/attention/{kind}/nobody", json={"resolution": right}, headers=operator_headers(acme)
        ).status_code
        == 422
    )


def test_a_heavy_call_is_cancelled_and_the_conversation_hears_of_it(
    client: TestClient, acme: str, trouble: AttentionItems, queue: RecordingQueue
) -> None:
    call = trouble.add_tool_call("reserved", heavy=True)
    answer = client.post(f"/v1/tool-calls/{call}/cancel", headers=operator_headers(acme))
    assert answer.json() == {"message": "Cancelled.", "queued": True}
    assert trouble.query("SELECT state, code FROM tool_calls") == [("failed", "cancelled")]
    assert len(queue.messages) == 1
    assert client.post(f"/v1/tool-calls/{call}/cancel", headers=operator_headers(acme)).status_code == 409
    short = trouble.add_tool_call()
    assert client.post(f"/v1/tool-calls/{short}/cancel", headers=operator_headers(acme)).status_code == 409
    assert client.post(f"/v1/tool-calls/{uuid4()}/cancel", headers=operator_headers(acme)).status_code == 404


def test_a_running_heavy_call_is_stopped_by_whoever_runs_it(
    client: TestClient, acme: str, trouble: AttentionItems, queue: RecordingQueue
) -> None:
    call = trouble.add_tool_call("running", heavy=True)
    answer = client.post(f"/v1/tool-calls/{call}/cancel", headers=operator_headers(acme))
    assert "takes about a second" in answer.json()["message"]
    assert queue.messages == []
    assert trouble.query("SELECT state, cancelled_at IS NULL FROM tool_calls") == [("running", False)]


def test_visitors_stop_what_they_asked_for_and_nothing_else(
    client: TestClient, acme: str, visit: VisitorSession, trouble: AttentionItems, queue: RecordingQueue
) -> None:
    for state in ("reserved", "reserved", "running", "done"):
        trouble.add_tool_call(state, heavy=True)
    stranger, path = open_session(client, acme), f"/v1/sessions/{visit.session_id}/cancel"
    assert client.post(path, headers=stranger.headers).status_code == 404
    assert client.post(path).status_code == 401
    assert client.post(path, headers=create_key_headers(client, acme, "viewer")).status_code == 403
    answer = client.post(path, headers=visit.headers)
    assert answer.json() == {"message": "3 tool calls cancelled.", "queued": True, "tool_calls": 3}
    assert len(queue.messages) == 2, "the third is told when whoever runs it has stopped"
    assert client.post(f"/v1/sessions/{stranger.session_id}/cancel", headers=stranger.headers).json()["tool_calls"] == 0


def test_switched_off_model_calls_need_a_person(client: TestClient, trouble: AttentionItems) -> None:
    trouble.query("UPDATE tenants SET spend_stopped_at = now() RETURNING tenant_id")
    found = listed(client)
    assert found["counts"]["spend"] == found["counts"]["total"] == 1
    (stop,) = found["items"]
    assert (stop["kind"], stop["reason"]["code"]) == ("no_model_calls", "spend_stopped")


def test_a_cap_that_is_reached_needs_a_person_until_it_is_raised(
    client: TestClient, trouble: AttentionItems, clock: ManualClock
) -> None:
    trouble.query(
        f"INSERT INTO spend_days (tenant_id, day, spent_usd, warned_percent) "
        f"VALUES (current_tenant(), '{clock.now.date()}', 19.5, 100) RETURNING day"
    )
    spend = listed(client)["spend"]
    assert (spend["cap_reached"], spend["cap_usd"]) == (True, "20")
    assert [one["reason"]["code"] for one in items_of(client, "no_model_calls")] == ["cap_reached"]
    trouble.query("UPDATE tenants SET daily_cap_usd = 100 RETURNING tenant_id")
    assert items_of(client, "no_model_calls") == []
    clock.advance(days=1)
    assert float(listed(client)["spend"]["spent_usd"]) == 0


def test_no_more_than_a_hundred_of_each_are_listed(
    client: TestClient, trouble: AttentionItems, database: Database
) -> None:
    trouble.at -= timedelta(days=1)
    for _ in range(101):
        trouble.add_failed_turn()
    found = listed(client)
    assert (len(found["items"]), found["counts"]["turns"], found["has_more"]) == (100, 100, True)
