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
from tests.integration.api.conftest import Feed, Queues, Sent, Time, Visit, begin, key, operator
from tests.integration.api.trouble import ARGUMENTS, PHONE, Trouble

type Settle = Callable[..., Any]


@pytest.fixture
def trouble(feed: Feed) -> Trouble:
    """Troubles of a visitor of acme's."""
    return Trouble(feed.database, feed.tenant_id, feed.session_id, feed.now)


@pytest.fixture
def settle(client: TestClient, acme: str) -> Settle:
    """Decides as the operator: `settle("sends", id, "arrived")`."""

    def post(kind: str, item: UUID, how: str) -> Any:
        return client.post(f"/v1/attention/{kind}/{item}", json={"how": how}, headers=operator(acme))

    return post


def listed(client: TestClient, tenant: str = "acme") -> Any:
    answer = client.get("/v1/attention", headers=operator(tenant))
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(answer: Any) -> str:
    """The sentence of a refusal."""
    return str(answer.json()["error"]["message"])


def test_when_all_is_well_nothing_is_listed(client: TestClient, acme: str) -> None:
    found = listed(client)
    assert found["counts"] == {"tool_calls": 0, "sends": 0, "turns": 0, "spend": 0, "total": 0}
    assert found["tool_calls"] == found["sends"] == found["turns"] == []
    assert found["spend"] == {
        "spent_usd": "0", "reserved_usd": "0", "cap_usd": "20", "stopped": False, "reached": False, "problem": ""
    }  # fmt: skip
    assert found["more"] is False


def test_everything_that_needs_a_person_is_told_with_what_they_need_to_decide(
    client: TestClient, trouble: Trouble
) -> None:
    call, unknown, held, turn = trouble.call(), trouble.send(), trouble.send("held"), trouble.turn()
    found = listed(client)
    assert found["counts"] == {"tool_calls": 1, "sends": 2, "turns": 1, "spend": 0, "total": 4}
    (shown,) = found["tool_calls"]
    assert (shown["id"], shown["tool"], shown["arguments"]) == (str(call), "book_crane", ARGUMENTS)
    assert shown["session_id"] == str(trouble.session_id)
    assert client.get(f"/v1/turns/{shown['turn_id']}", headers=operator("acme")).status_code == 200
    assert [(one["id"], one["state"]) for one in found["sends"]] == [(str(unknown), "unknown"), (str(held), "held")]
    assert found["sends"][0]["text"] == "The crane is booked."
    assert found["sends"][0]["why"] == "the provider did not answer in time"
    (parked,) = found["turns"]
    assert (parked["id"], parked["texts"], parked["attempts"]) == (str(turn), ["When is the pour?"], 3)
    assert parked["problem"] == "ProviderUnavailable"


def test_of_a_phone_number_only_the_last_digits_are_shown(client: TestClient, trouble: Trouble) -> None:
    trouble.send()
    answer = client.get("/v1/attention", headers=operator("acme"))
    assert answer.json()["sends"][0]["recipient"] == "…0001"
    assert PHONE[1:-4] not in answer.text


def test_what_is_finished_needs_nobody(client: TestClient, trouble: Trouble) -> None:
    trouble.call("done")
    trouble.call("running", heavy=True)
    trouble.send("sent")
    assert listed(client)["counts"]["total"] == 0


def test_a_viewer_looks_and_an_admin_decides(client: TestClient, acme: str, visit: Visit, trouble: Trouble) -> None:
    call, send, turn = trouble.call(), trouble.send(), trouble.turn()
    viewer, admin = key(client, acme, "viewer"), key(client, acme, "admin")
    assert client.get("/v1/attention", headers=viewer).json()["counts"]["total"] == 3
    decisions = {
        f"/v1/attention/tool-calls/{call}": "done",
        f"/v1/attention/sends/{send}": "arrived",
        f"/v1/attention/turns/{turn}": "redrive",
        f"/v1/tool-calls/{call}/cancel": None,
    }
    for path, how in decisions.items():
        body = {"how": how} if how else None
        assert client.post(path, json=body, headers=viewer).status_code == 403
        assert client.post(path, json=body, headers=visit.headers).status_code == 403
        assert client.post(path, json=body).status_code == 401
    assert client.get("/v1/attention", headers=visit.headers).status_code == 403
    assert client.get("/v1/attention", headers=key(client, acme)).status_code == 403
    for path, how in list(decisions.items())[:3]:
        assert client.post(path, json={"how": how}, headers=admin).status_code == 200


def test_what_went_through_a_binding_of_more_clearance_is_not_listed(
    client: TestClient, acme: str, trouble: Trouble
) -> None:
    turn, call, send, running = trouble.turn(), trouble.call(), trouble.send(), trouble.call("running", heavy=True)
    trouble.rows("UPDATE bindings SET clearance = 3 RETURNING id")
    headers = key(client, acme, "admin")
    assert client.get("/v1/attention", headers=headers).json()["counts"]["total"] == 0
    decisions = {
        f"attention/turns/{turn}": "redrive", f"attention/tool-calls/{call}": "done",
        f"attention/sends/{send}": "send_again", f"tool-calls/{running}/cancel": "",
    }  # fmt: skip
    for path, how in decisions.items():
        answer = client.post(f"/v1/{path}", json={"how": how} if how else None, headers=headers)
        assert answer.status_code == 404, path
    assert listed(client)["counts"]["total"] == 3


def test_what_was_asked_by_somebody_of_more_clearance_is_not_listed(
    client: TestClient, acme: str, trouble: Trouble
) -> None:
    turn = trouble.turn()
    trouble.call()
    trouble.send()
    running = trouble.call("running", heavy=True)
    trouble.rows("UPDATE users SET clearance = 3 RETURNING id")
    headers = key(client, acme, "admin")
    assert client.get("/v1/attention", headers=headers).json()["counts"]["total"] == 0
    for path in (f"attention/turns/{turn}", f"sessions/{trouble.session_id}/cancel"):
        assert client.post(f"/v1/{path}", json={"how": "redrive"}, headers=headers).status_code == 404, path
    assert client.get(f"/v1/sessions/{trouble.session_id}/messages", headers=headers).status_code == 404
    assert trouble.rows(f"SELECT cancelled_at FROM tool_calls WHERE id = '{running}'") == [(None,)]
    assert listed(client)["counts"]["total"] == 3


def test_a_session_of_more_clearance_is_cancelled_by_its_visitor_and_no_lower_administrator(
    client: TestClient, acme: str, visit: Visit, trouble: Trouble
) -> None:
    trouble.call("reserved", heavy=True)
    trouble.rows("UPDATE bindings SET clearance = 3 RETURNING id")
    path = f"/v1/sessions/{trouble.session_id}/cancel"
    assert client.post(path, headers=key(client, acme, "admin")).status_code == 404
    assert trouble.rows("SELECT cancelled_at FROM tool_calls") == [(None,)]
    assert client.post(path, headers=visit.headers).json()["tool_calls"] == 1


def test_a_redrive_that_cannot_be_audited_is_none(
    client: TestClient, trouble: Trouble, settle: Settle, queue: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = trouble.turn()
    with monkeypatch.context() as patch:
        patch.setattr(audit, "record", Mock(side_effect=DatabaseUnavailable()))
        assert settle("turns", turn, "redrive").status_code == 503
    assert trouble.rows("SELECT state FROM turns") == [("failed",)]
    assert queue.messages == []
    assert settle("turns", turn, "redrive").status_code == 200


def test_a_call_that_was_done_goes_on_in_its_conversation(
    client: TestClient, trouble: Trouble, settle: Settle, queue: Sent
) -> None:
    call = trouble.call()
    answer = settle("tool-calls", call, "done")
    assert answer.json()["woken"] is True
    assert "was done" in answer.json()["message"]
    assert trouble.rows("SELECT state, resolved_by FROM tool_calls") == [("done", "operator")]
    ((body,),) = trouble.rows("SELECT body FROM messages WHERE kind = 'tool_result' AND state = 'unanswered'")
    assert "book_crane" in str(body)
    assert [message.body["session_id"] for message in queue.messages] == [str(trouble.session_id)]
    assert listed(client)["counts"]["total"] == 0
    again = settle("tool-calls", call, "run_again")
    assert again.status_code == 409
    assert "not in doubt any more" in refused(again)


def test_a_call_that_was_not_done_is_run_again_by_the_dispatcher(
    client: TestClient, trouble: Trouble, settle: Settle, queues: Queues, queue: Sent
) -> None:
    call = trouble.call()
    assert settle("tool-calls", call, "run_again").json() == {"message": "It is run again now.", "woken": True}
    (message,) = queues.tools.messages
    assert message.body == {"tenant_id": str(trouble.tenant_id), "tool_call_id": str(call)}
    assert queue.messages == []
    assert trouble.rows("SELECT state FROM tool_calls") == [("reserved",)]
    assert settle("tool-calls", call, "done").status_code == 409
    assert listed(client)["counts"]["total"] == 0


def test_a_reply_that_arrived_is_not_sent_again(
    client: TestClient, trouble: Trouble, settle: Settle, queues: Queues
) -> None:
    send = trouble.send()
    assert settle("sends", send, "arrived").json() == {"message": "It counts as sent.", "woken": True}
    assert queues.outbox.messages == []
    assert settle("sends", send, "send_again").status_code == 409
    assert listed(client)["counts"]["total"] == 0


@pytest.mark.parametrize("state", ["unknown", "held"])
def test_a_reply_is_sent_again_when_somebody_says_so(
    trouble: Trouble, settle: Settle, queues: Queues, state: str
) -> None:
    send = trouble.send(state)
    assert settle("sends", send, "send_again").status_code == 200
    (message,) = queues.outbox.messages
    assert message.body == {"tenant_id": str(trouble.tenant_id), "outbox_id": str(send)}
    assert message.group == str(trouble.session_id)
    assert trouble.rows("SELECT state FROM outbox") == [("pending",)]


def test_a_held_reply_is_woken_although_its_queue_has_just_seen_it(
    trouble: Trouble, settle: Settle, queues: Queues, clock: Time
) -> None:
    send = trouble.send("held")
    trouble.rows("UPDATE outbox SET attempts = 0 RETURNING 1")  # the window was closed before anything was tried
    for _ in range(2):
        assert settle("sends", send, "send_again").json()["woken"]
        trouble.rows("UPDATE outbox SET state = 'held' RETURNING 1")
        clock.now += timedelta(seconds=30)
    told = [message.deduplication for message in queues.outbox.messages]
    assert len({str(send), *told}) == 3


def test_a_reply_that_is_dismissed_stays_unsent(
    client: TestClient, trouble: Trouble, settle: Settle, queues: Queues
) -> None:
    send = trouble.send("held")
    assert settle("sends", send, "arrived").status_code == 409, "what was held cannot have arrived"
    assert settle("sends", send, "dismiss").status_code == 200
    assert queues.outbox.messages == []
    assert listed(client)["counts"]["total"] == 0


def test_a_failed_reply_is_sent_after_all_and_who_said_so_is_kept(
    client: TestClient, acme: str, trouble: Trouble, queues: Queues
) -> None:
    failed, others = trouble.send("failed"), [trouble.send(state) for state in ("unknown", "held", "sent", "pending")]
    trouble.rows("UPDATE outbox SET attempts = 7 RETURNING id")
    headers, path = operator(acme), "/v1/attention/failed-sends"
    assert [one["id"] for one in client.get(path, headers=headers).json()["sends"]] == [str(failed)]
    assert client.get(path, headers=key(client, acme)).status_code == 403
    assert client.post(f"{path}/{failed}/redrive", headers=key(client, acme, "viewer")).status_code == 403

    answer = client.post(f"{path}/{failed}/redrive", headers=headers)
    assert answer.json() == {"message": "It is sent again now.", "woken": True}
    assert [message.body["outbox_id"] for message in queues.outbox.messages] == [str(failed)]
    assert trouble.rows(f"SELECT state, attempts, resolved_by FROM outbox WHERE id = '{failed}'") == [
        ("pending", 0, "operator")
    ]
    assert trouble.rows(f"SELECT id FROM work_due WHERE id = '{failed}'") == [(failed,)]
    audited = trouble.rows("SELECT target FROM audit_log WHERE action = 'send.redriven'")
    assert audited == [(f"outbox:{failed}",)]
    for other in (failed, *others):
        assert client.post(f"{path}/{other}/redrive", headers=headers).status_code == 409
    assert client.post(f"{path}/{uuid4()}/redrive", headers=headers).status_code == 404


@pytest.mark.parametrize("table", ["users", "bindings"])
def test_a_failed_reply_of_more_clearance_is_neither_listed_nor_sent(
    client: TestClient, acme: str, trouble: Trouble, queues: Queues, table: str
) -> None:
    failed, path = trouble.send("failed"), "/v1/attention/failed-sends"
    trouble.rows(f"UPDATE {table} SET clearance = 3 RETURNING id")
    headers = key(client, acme, "admin")
    assert client.get(path, headers=headers).json()["sends"] == []
    assert client.post(f"{path}/{failed}/redrive", headers=headers).status_code == 404
    assert queues.outbox.messages == []


def test_a_reply_that_somebody_let_be_is_not_redriven(
    client: TestClient, acme: str, trouble: Trouble, settle: Settle, clock: Time
) -> None:
    dull, failed = trouble.send("held"), trouble.send("failed")
    assert settle("sends", dull, "dismiss").status_code == 200
    headers, path = operator(acme), "/v1/attention/failed-sends"
    assert client.post(f"{path}/{dull}/redrive", headers=headers).status_code == 409
    assert client.post(f"{path}/{failed}/redrive", headers=headers).status_code == 200
    trouble.rows(f"UPDATE outbox SET state = 'failed', status_at = now() WHERE id = '{failed}' RETURNING id")
    assert [one["id"] for one in client.get(path, headers=headers).json()["sends"]] == [str(failed)], "failed anew"


def test_a_failed_turn_is_answered_after_all(client: TestClient, trouble: Trouble, settle: Settle, queue: Sent) -> None:
    turn = trouble.turn()
    assert settle("turns", turn, "redrive").json() == {"message": "It is answered now.", "woken": True}
    assert [message.body["session_id"] for message in queue.messages] == [str(trouble.session_id)]
    assert trouble.rows("SELECT state FROM messages") == [("taken",)]
    late = settle("turns", turn, "dismiss")
    assert late.status_code == 409
    assert "dismissed" in refused(late)
    assert listed(client)["counts"]["total"] == 0


def test_a_failed_turn_is_let_be(client: TestClient, trouble: Trouble, settle: Settle, queue: Sent) -> None:
    turn = trouble.turn()
    assert settle("turns", turn, "dismiss").status_code == 200
    assert settle("turns", turn, "redrive").status_code == 409
    assert queue.messages == []
    assert listed(client)["counts"]["total"] == 0


def test_a_queue_that_is_away_delays_a_decision_and_loses_none(
    client: TestClient, trouble: Trouble, settle: Settle, queue: Sent, queues: Queues
) -> None:
    for one in (queue, queues.tools, queues.outbox):
        one.problem = QueueUnavailable()
    done, again, send, turn = trouble.call(), trouble.call(), trouble.send(), trouble.turn()
    answers = [
        settle("tool-calls", done, "done"), settle("tool-calls", again, "run_again"),
        settle("sends", send, "send_again"), settle("turns", turn, "redrive"),
    ]  # fmt: skip
    for answer in answers:
        assert answer.status_code == 200
        assert answer.json()["woken"] is False
        assert "where the database pauses within a day" in answer.json()["message"]
    assert listed(client)["counts"]["total"] == 0
    due = {kind for (kind,) in trouble.rows("SELECT kind FROM work_due WHERE kind <> 'archive'")}
    assert due == {"session", "tool_call", "outbox"}, "the sweep finds all of it"


def test_who_decided_what_is_kept(client: TestClient, acme: str, trouble: Trouble, settle: Settle, clock: Time) -> None:
    call, send, turn, other = trouble.call(), trouble.send(), trouble.turn(), trouble.turn()
    heavy = trouble.call("reserved", heavy=True)
    for decide in (
        lambda: settle("tool-calls", call, "run_again"),
        lambda: settle("sends", send, "dismiss"),
        lambda: settle("turns", turn, "redrive"),
        lambda: settle("turns", other, "dismiss"),
        lambda: client.post(f"/v1/tool-calls/{heavy}/cancel", headers=operator(acme)),
    ):
        clock.passes(seconds=1)
        assert decide().status_code == 200
    entries = client.get("/v1/audit?most=5", headers=operator(acme)).json()["entries"]
    assert [(one["action"], one["target"]) for one in entries[::-1]] == [
        ("tool_call.resolved", f"tool_call:{call}"),
        ("send.resolved", f"outbox:{send}"),
        ("turn.redriven", f"turn:{turn}"),
        ("turn.dismissed", f"turn:{other}"),
        ("tool_call.cancelled", f"tool_call:{heavy}"),
    ]
    assert {one["actor"] for one in entries} == {"operator"}


@pytest.mark.parametrize(
    ("kind", "hows"),
    [("tool-calls", ("done", "run_again")), ("sends", ("arrived", "send_again")), ("turns", ("redrive", "dismiss"))],
)
def test_of_two_clicks_at_once_one_wins(
    trouble: Trouble, settle: Settle, clock: Time, queue: Sent, queues: Queues, kind: str, hows: tuple[str, str]
) -> None:
    clock.tick = timedelta(microseconds=1)
    for _ in range(3):
        item = {"tool-calls": trouble.call, "sends": trouble.send, "turns": trouble.turn}[kind]()
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(settle, [kind] * 4, [item] * 4, [*hows, *hows]))
        assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
        assert all(refused(answer) for answer in answers if answer.status_code == 409)
    woken = len(queue.messages) + len(queues.tools.messages) + len(queues.outbox.messages)
    assert woken <= 3


def test_another_tenants_troubles_are_neither_seen_nor_settled(
    client: TestClient, brick: str, trouble: Trouble
) -> None:
    call, send, turn = trouble.call(), trouble.send(), trouble.turn()
    heavy = trouble.call("reserved", heavy=True)
    assert listed(client, brick)["counts"]["total"] == 0
    headers = operator(brick)
    for path, body in (
        (f"attention/tool-calls/{call}", {"how": "done"}),
        (f"attention/sends/{send}", {"how": "dismiss"}),
        (f"attention/turns/{turn}", {"how": "redrive"}),
        (f"tool-calls/{heavy}/cancel", None),
        (f"sessions/{trouble.session_id}/cancel", None),
    ):
        assert client.post(f"/v1/{path}", json=body, headers=headers).status_code == 404, path
    assert listed(client)["counts"]["total"] == 3


@pytest.mark.parametrize("kind", ["tool-calls", "sends", "turns"])
def test_bad_input_is_refused_in_a_sentence(client: TestClient, acme: str, settle: Settle, kind: str) -> None:
    right = {"tool-calls": "done", "sends": "arrived", "turns": "redrive"}[kind]
    nothing = settle(kind, uuid4(), right)
    assert nothing.status_code == 404
    assert refused(nothing).startswith("there is no such")
    for wrong in ("maybe", "", "DONE"):
        answer = settle(kind, uuid4(), wrong)
        assert answer.status_code == 422
        assert refused(answer).startswith("how: ")
    for body in ({}, {"how": right, "why": "x"}, [right], None):
        answer = client.post(f"/v1/attention/{kind}/{uuid4()}", json=body, headers=operator(acme))
        assert answer.status_code == 422
    assert client.post(f"/v1/attention/{kind}/nobody", json={"how": right}, headers=operator(acme)).status_code == 422


def test_a_heavy_call_is_cancelled_and_the_conversation_hears_of_it(
    client: TestClient, acme: str, trouble: Trouble, queue: Sent
) -> None:
    call = trouble.call("reserved", heavy=True)
    answer = client.post(f"/v1/tool-calls/{call}/cancel", headers=operator(acme))
    assert answer.json() == {"message": "It is cancelled.", "woken": True}
    assert trouble.rows("SELECT state, code FROM tool_calls") == [("failed", "cancelled")]
    assert len(queue.messages) == 1
    assert client.post(f"/v1/tool-calls/{call}/cancel", headers=operator(acme)).status_code == 409
    short = trouble.call()
    assert client.post(f"/v1/tool-calls/{short}/cancel", headers=operator(acme)).status_code == 409
    assert client.post(f"/v1/tool-calls/{uuid4()}/cancel", headers=operator(acme)).status_code == 404


def test_a_running_heavy_call_is_stopped_by_whoever_runs_it(
    client: TestClient, acme: str, trouble: Trouble, queue: Sent
) -> None:
    call = trouble.call("running", heavy=True)
    answer = client.post(f"/v1/tool-calls/{call}/cancel", headers=operator(acme))
    assert "takes a second or so" in answer.json()["message"]
    assert queue.messages == []
    assert trouble.rows("SELECT state, cancelled_at IS NULL FROM tool_calls") == [("running", False)]


def test_visitors_stop_what_they_asked_for_and_nothing_else(
    client: TestClient, acme: str, visit: Visit, trouble: Trouble, queue: Sent
) -> None:
    for state in ("reserved", "reserved", "running", "done"):
        trouble.call(state, heavy=True)
    stranger, path = begin(client, acme), f"/v1/sessions/{visit.session_id}/cancel"
    assert client.post(path, headers=stranger.headers).status_code == 404
    assert client.post(path).status_code == 401
    assert client.post(path, headers=key(client, acme, "viewer")).status_code == 403
    answer = client.post(path, headers=visit.headers)
    assert answer.json() == {"message": "3 are being stopped.", "woken": True, "tool_calls": 3}
    assert len(queue.messages) == 2, "the third is told when whoever runs it has stopped"
    assert client.post(f"/v1/sessions/{stranger.session_id}/cancel", headers=stranger.headers).json()["tool_calls"] == 0


def test_switched_off_model_calls_need_a_person(client: TestClient, trouble: Trouble) -> None:
    trouble.rows("UPDATE tenants SET spend_stopped_at = now() RETURNING tenant_id")
    found = listed(client)
    assert found["counts"]["spend"] == found["counts"]["total"] == 1
    assert "switched off" in found["spend"]["problem"]


def test_a_cap_that_is_reached_needs_a_person_until_it_is_raised(
    client: TestClient, trouble: Trouble, clock: Time
) -> None:
    trouble.rows(
        f"INSERT INTO spend_days (tenant_id, day, spent_usd, warned_percent) "
        f"VALUES (current_tenant(), '{clock.now.date()}', 19.5, 100) RETURNING day"
    )
    spend = listed(client)["spend"]
    assert (spend["reached"], spend["cap_usd"]) == (True, "20")
    assert spend["problem"].startswith("Today's cap is reached")
    trouble.rows("UPDATE tenants SET daily_cap_usd = 100 RETURNING tenant_id")
    assert listed(client)["spend"]["problem"] == ""
    clock.passes(days=1)
    assert float(listed(client)["spend"]["spent_usd"]) == 0


def test_no_more_than_a_hundred_of_each_are_listed(client: TestClient, trouble: Trouble, database: Database) -> None:
    trouble.at -= timedelta(days=1)
    for _ in range(101):
        trouble.turn()
    found = listed(client)
    assert (len(found["turns"]), found["counts"]["turns"], found["more"]) == (100, 100, True)
