"""Long calls and the sweep on the deployed functions, under the template's own rights."""

import json
import uuid
from typing import Any

import httpx2

from local import example_tenant
from local.stack_client import sample_payload, wait_until
from tests.end_to_end.world import World


def operate(world: World, method: str, path: str, **how: Any) -> httpx2.Response:
    keys = {"Authorization": f"Bearer {world.stack.keys.operator_key}", "Parlour-Tenant": example_tenant.TENANT_SLUG}
    return world.talk.client.request(method, f"{world.stack.addresses.console}{path}", headers=keys, **how)


def test_a_call_that_an_operator_runs_again_is_done_once_and_resumes_the_conversation(world: World) -> None:
    number = world.phone()
    assert world.talk.post_webhook(sample_payload("inbound_gupshup_text", sender=number)) == 200
    wait_until(lambda: world.talk.phone_messages(number), "the reply", 60)
    world.settle()
    subject = f"Crack at C4, {number}"
    call_id = _leave_in_doubt(world, number, {"subject": subject, "question": "May we backfill at C4 on Monday?"})
    listed = operate(world, "GET", "/v1/attention").json()
    assert call_id in json.dumps(listed)
    assert operate(world, "POST", f"/v1/attention/tool-calls/{call_id}", json={"resolution": "run_again"}).is_success
    wait_until(lambda: len(world.talk.phone_messages(number)) == 2, "the second reply", 60)
    world.settle()
    done = world.talk.client.get(f"{world.stack.addresses.office}/done").json()
    assert json.dumps(done).count(subject) == 1
    assert world.value("SELECT state FROM tool_calls WHERE id = %s", uuid.UUID(call_id)) == "done"
    assert operate(world, "POST", f"/v1/attention/tool-calls/{call_id}", json={"resolution": "done"}).status_code == 409


def test_a_session_that_nobody_woke_is_woken_by_the_sweep(world: World) -> None:
    number = world.phone()
    assert world.talk.post_webhook(sample_payload("inbound_gupshup_text", sender=number)) == 200
    wait_until(lambda: world.talk.phone_messages(number), "the reply", 60)
    world.settle()
    session = world.value("SELECT s.id FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.phone = %s", number)
    world.execute(
        "UPDATE messages SET state = 'unanswered', turn_id = NULL WHERE session_id = %s AND direction = 'inbound'",
        session,
    )
    world.execute(
        "INSERT INTO work_due (tenant_id, kind, id, due_at)"
        " SELECT tenant_id, 'session', id, now() FROM sessions WHERE id = %s",
        session,
    )
    wait_until(lambda: len(world.talk.phone_messages(number)) == 2, "the reply after the sweep", 100)


def _leave_in_doubt(world: World, number: str, arguments: dict[str, str]) -> str:
    """A request that broke off in the phone's last turn, as the turn would have left it."""
    call_id = uuid.uuid4()
    world.execute(
        """
        INSERT INTO tool_calls (tenant_id, id, turn_id, step, call_id, name, arguments, writes, state, idempotency_key,
                                result, code, runs, started_at, finished_at)
        SELECT t.tenant_id, %s, t.id, 1, 'call_in_doubt', 'raise_rfi', %s, true, 'unknown', %s,
               '{"ok": false, "code": "outcome_unknown"}', 'outcome_unknown', 1, now(), now()
          FROM turns t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
         WHERE u.phone = %s ORDER BY t.number DESC LIMIT 1""",
        call_id,
        json.dumps(arguments),
        f"in-doubt:{call_id}",
        number,
    )
    return str(call_id)
