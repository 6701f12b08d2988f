"""A provider that takes a message and dies before it answers."""

import json
import time
from datetime import UTC, datetime
from typing import Any

import httpx2

from local import meta_webhooks
from tests.chaos.api_gateway import proxy_event
from tests.chaos.chaos_environment import APP_SECRET, ChaosEnvironment, ChaosTenant
from tests.chaos.experiments import PLAIN_SCENARIO, add_conversations
from tests.chaos.guarantees import read_external_state
from tests.chaos.operator_requests import mark_arrived, send_request
from tests.chaos.queue_poller import QueuePoller
from tests.chaos.report import ResultRow

_CALLBACK_SECONDS = 3.0
"""How long the provider takes for its news."""

_OUTBOX = "SELECT id, state FROM outbox WHERE tenant_id = %s"
_OUTBOX_STATE = "SELECT state FROM outbox WHERE tenant_id = %s"


def run_provider_crash(world: ChaosEnvironment) -> list[ResultRow]:
    """Gupshup's number is settled by the operator, Meta's by its own callback; nobody hears anything twice."""
    return [_run_gupshup(world), _run_meta(world)]


def _run_gupshup(world: ChaosEnvironment) -> ResultRow:
    desk = world.create_tenant("gupshup")
    conversations, (person,) = add_conversations(world, desk, 1)
    _make_provider_hang_up(world)
    conversations.send_message(person)
    QueuePoller(world).run(60)
    ((outbox_id, state),) = world.rows(_OUTBOX, desk.tenant_id)
    problems = [*person.problems, *_check_delivered_once(world, person.phone_number)]
    if state != "unknown" or str(outbox_id) not in read_external_state(world, desk).attention_ids:
        problems.append(f"the reply is {state}; it should be unknown and shown")
    if not send_request(world, mark_arrived(desk, outbox_id)):
        problems.append("the operator could not say that it arrived")
    QueuePoller(world).run(60)
    left = world.value(_OUTBOX_STATE, desk.tenant_id)
    problems += _check_delivered_once(world, person.phone_number)
    if left not in {"sent", "delivered"}:
        problems.append(f"after the operator's word it is {left}")
    said = f"unknown, shown; settled by the operator: {left}; the phone has it once"
    return ResultRow(
        "dying provider", "Gupshup takes a reply and hangs up", outcome=said, broken_guarantees=tuple(problems)
    )


def _run_meta(world: ChaosEnvironment) -> ResultRow:
    desk = world.create_tenant("cloud", cloud=True)
    number = world.new_phone_number()
    _make_provider_hang_up(world)
    _send_webhook(world, desk, number)
    until = time.monotonic() + _CALLBACK_SECONDS
    QueuePoller(world).run(60, keep_running=lambda: time.monotonic() < until or not world.rows(_OUTBOX, desk.tenant_id))
    until = time.monotonic() + _CALLBACK_SECONDS
    QueuePoller(world).run(60, keep_running=lambda: time.monotonic() < until)
    ((outbox_id, state),) = world.rows(_OUTBOX, desk.tenant_id)
    problems = _check_delivered_once(world, number)
    if state != "delivered" or str(outbox_id) in read_external_state(world, desk).attention_ids:
        problems.append(f"the reply is {state}; Meta's callback should have settled it")
    said = f"settled by Meta's callback: {state}; the phone has it once"
    return ResultRow(
        "dying provider", "Meta takes a reply and hangs up", outcome=said, broken_guarantees=tuple(problems)
    )


def _send_webhook(world: ChaosEnvironment, desk: ChaosTenant, number: str) -> None:
    """Somebody writes to the tenant's number at Meta: the webhook, signed."""
    message = meta_webhooks.text_message(
        phone_number_id=desk.whatsapp_app,
        sender=number,
        name="Chaos",
        text=f"chaos {PLAIN_SCENARIO.script} r{number[1:]}: the crack?",
        message_id=f"wamid.{number[1:]}",
        now=datetime.now(UTC),
    )
    body = meta_webhooks.encode(meta_webhooks.webhook(message))
    headers = {"Content-Type": "application/json", meta_webhooks.SIGNATURE_HEADER: meta_webhooks.sign(body, APP_SECRET)}
    ended = world.workers.invoke("inbound", proxy_event("POST", "/webhooks/whatsapp", headers, body.decode()), 10)
    answer: Any = ended.answer
    if not isinstance(answer, dict) or answer.get("statusCode") != 200:
        raise LookupError(f"Meta's webhook was answered with {json.dumps(answer)}")


def _make_provider_hang_up(world: ChaosEnvironment) -> None:
    httpx2.post(f"{world.servers.phone}/behaviour", json={"next": "hang_up"}, timeout=5).raise_for_status()


def _check_delivered_once(world: ChaosEnvironment, number: str) -> list[str]:
    came = len(world.texts_by_phone().get(number, ()))
    return [] if came == 1 else [f"the reply reached the phone {came} times"]
