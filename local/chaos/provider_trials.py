"""A provider that takes a message and dies before it answers."""

import json
import time
from datetime import UTC, datetime
from typing import Any

import httpx2

from local import meta
from local.chaos.gateway import event
from local.chaos.operator import arrived, ask
from local.chaos.promises import outside
from local.chaos.pump import Pump
from local.chaos.report import Row
from local.chaos.trials import PLAIN, crowd
from local.chaos.world import APP_SECRET, Desk, World

_NEWS_SECONDS = 3.0
"""How long the provider takes for its news."""

_OUTBOX = "SELECT id, state FROM outbox WHERE tenant_id = %s"
_LAST = "SELECT state FROM outbox WHERE tenant_id = %s"


def dying_provider(world: World) -> list[Row]:
    """Gupshup's number is settled by the operator, Meta's by its own callback; nobody hears anything twice."""
    return [_gupshup(world), _cloud(world)]


def _gupshup(world: World) -> Row:
    desk = world.open_desk("gupshup")
    conversations, (person,) = crowd(world, desk, 1)
    _hang_up(world)
    conversations.write(person)
    Pump(world).run(60)
    ((outbox_id, state),) = world.rows(_OUTBOX, desk.tenant_id)
    problems = [*person.problems, *_twice(world, person.number)]
    if state != "unknown" or str(outbox_id) not in outside(world, desk).shown:
        problems.append(f"the reply is {state}; it should be unknown and shown")
    if not ask(world, arrived(desk, outbox_id)):
        problems.append("the operator could not say that it arrived")
    Pump(world).run(60)
    left = world.value(_LAST, desk.tenant_id)
    problems += _twice(world, person.number)
    if left not in {"sent", "delivered"}:
        problems.append(f"after the operator's word it is {left}")
    said = f"unknown, shown; settled by the operator: {left}; the phone has it once"
    return Row("dying provider", "Gupshup takes a reply and hangs up", outcome=said, broken=tuple(problems))


def _cloud(world: World) -> Row:
    desk = world.open_desk("cloud", cloud=True)
    number = world.number()
    _hang_up(world)
    _write(world, desk, number)
    until = time.monotonic() + _NEWS_SECONDS
    Pump(world).run(60, go_on=lambda: time.monotonic() < until or not world.rows(_OUTBOX, desk.tenant_id))
    until = time.monotonic() + _NEWS_SECONDS
    Pump(world).run(60, go_on=lambda: time.monotonic() < until)
    ((outbox_id, state),) = world.rows(_OUTBOX, desk.tenant_id)
    problems = _twice(world, number)
    if state != "delivered" or str(outbox_id) in outside(world, desk).shown:
        problems.append(f"the reply is {state}; Meta's callback should have settled it")
    said = f"settled by Meta's callback: {state}; the phone has it once"
    return Row("dying provider", "Meta takes a reply and hangs up", outcome=said, broken=tuple(problems))


def _write(world: World, desk: Desk, number: str) -> None:
    """Somebody writes to the tenant's number at Meta: the webhook, signed."""
    message = meta.text_message(
        phone_number_id=desk.app, sender=number, name="Chaos", text=f"chaos {PLAIN.script} r{number[1:]}: the crack?",
        message_id=f"wamid.{number[1:]}", now=datetime.now(UTC),
    )  # fmt: skip
    body = meta.encode(meta.webhook(message))
    headers = {"Content-Type": "application/json", meta.SIGNATURE: meta.sign(body, APP_SECRET)}
    ended = world.workers.invoke("inbound", event("POST", "/webhooks/whatsapp", headers, body.decode()), 10)
    answer: Any = ended.answer
    if not isinstance(answer, dict) or answer.get("statusCode") != 200:
        raise LookupError(f"Meta's webhook was answered with {json.dumps(answer)}")


def _hang_up(world: World) -> None:
    httpx2.post(f"{world.servers.phone}/behaviour", json={"next": "hang_up"}, timeout=5).raise_for_status()


def _twice(world: World, number: str) -> list[str]:
    came = len(world.received().get(number, ()))
    return [] if came == 1 else [f"the reply reached the phone {came} times"]
