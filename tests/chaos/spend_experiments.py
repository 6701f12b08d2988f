"""Model calls against a cap: many at once, one after the other, and a worker that dies with money set aside."""

import threading
from datetime import UTC, datetime
from decimal import ROUND_UP, Decimal

from parlour.models import prices, spend
from parlour.models.model import TokenUsage
from parlour.tenancy import roles
from tests.chaos.chaos_environment import ChaosEnvironment, ChaosTenant
from tests.chaos.conversations import Conversation
from tests.chaos.experiments import add_conversations, deliver_all, run_in_background
from tests.chaos.queue_poller import QueuePoller
from tests.chaos.report import ResultRow
from tests.chaos.scenarios import Invocation
from tests.chaos.tripwire import KillPoint

CALLS, AT_ONCE = 10, 50
_MAX_OUTPUT_TOKENS = 1_500
_INVOCATION_SECONDS = 120.0
"""Fifty workers at once on two cores take their time; nobody is killed here."""

_RESERVED = "SELECT max(amount_usd) FROM spend_reservations WHERE tenant_id = %s"
_USED = """
SELECT COALESCE((SELECT sum(spent_usd) FROM spend_days WHERE tenant_id = %s), 0)
     + COALESCE((SELECT sum(amount_usd) FROM spend_reservations WHERE tenant_id = %s AND expires_at > now()), 0)
"""
_TURNS = """
SELECT count(*) FILTER (WHERE t.state = 'answered' AND NOT t.degraded),
       count(*) FILTER (WHERE t.problem = 'spend_cap'), count(*)
  FROM turns t WHERE t.tenant_id = %s
"""


def run_parallel_turns(world: ChaosEnvironment) -> list[ResultRow]:
    """Fifty turns at the same time and money for ten calls: never over the cap."""
    desk, cap = _create_capped_tenant(world, "cap")
    conversations, people = add_conversations(world, desk, AT_ONCE)
    conversations.write_all(people)
    world.model.change_script("plain", pause_seconds=2.0)
    highest = [Decimal(0)]
    with run_in_background(lambda over: _watch_spend(world, desk, over, highest)):
        QueuePoller(world, worker_slots=AT_ONCE, seconds=_INVOCATION_SECONDS).run(300)
    world.model.change_script("plain", pause_seconds=0.0)
    problems = _check_turns(world, desk, people, answered=CALLS)
    if highest[0] > cap:
        problems.append(f"${highest[0]:.4f} were spent and set aside at a cap of ${cap}")
    said = f"never more than ${highest[0]:.4f} of ${cap}; {CALLS} answered, {AT_ONCE - CALLS} told so politely"
    return [
        ResultRow(
            "spend", f"{AT_ONCE} turns at once, {CALLS} calls' worth", outcome=said, broken_guarantees=tuple(problems)
        )
    ]


def run_sequential_turns(world: ChaosEnvironment) -> list[ResultRow]:
    """Eleven turns in sequence and money for ten: the eleventh gets the polite line."""
    desk, _ = _create_capped_tenant(world, "sequence")
    conversations, people = add_conversations(world, desk, CALLS + 1)
    for person in people:
        conversations.send_message(person)
    QueuePoller(world, worker_slots=1).run(120)
    problems = _check_turns(world, desk, people, answered=CALLS)
    if world.model.count_requests(people[-1].tag):
        problems.append("the eleventh was answered by the model")
    outcome = f"{CALLS} answered, the last one told so politely"
    return [ResultRow("spend", f"{CALLS + 1} turns in sequence", outcome=outcome, broken_guarantees=tuple(problems))]


def run_kill_with_reservation(world: ChaosEnvironment) -> list[ResultRow]:
    """A worker dies with all the money set aside: it counts until the lease ends, and no longer."""
    desk, cap = _create_capped_tenant(world, "killed")
    _set_cap(world, desk, cap / CALLS)
    conversations, (victim, other) = add_conversations(world, desk, 2)
    victim.kill_points[Invocation("orchestrator")] = KillPoint("model: POST /v1/messages", is_after=False)
    conversations.write_all([victim])
    pump = QueuePoller(world, conversations.wrap_delivery, conversations.record_result)
    pump.run(60, keep_running=lambda: victim.died_at is None, should_stop=lambda: victim.died_at is not None)
    conversations.write_all([other])
    deliver_all(conversations)
    problems = _check_turns(world, desk, [victim, other], answered=1)
    if world.model.count_requests(other.tag):
        problems.append("the money that was set aside was spent by somebody else")
    live = world.value(
        "SELECT count(*) FROM spend_reservations WHERE tenant_id = %s AND expires_at > now()", desk.tenant_id
    )
    if live:
        problems.append(f"{live} reservations are left")
    said = "meanwhile another was refused; after the lease the turn was answered, and nothing is set aside any more"
    return [ResultRow("spend", "killed with its reservation", outcome=said, broken_guarantees=tuple(problems))]


def _create_capped_tenant(world: ChaosEnvironment, slug: str) -> tuple[ChaosTenant, Decimal]:
    """A tenant whose cap is ten calls' worth, and a model that costs what was set aside for it."""
    probe = world.create_tenant(f"{slug}-probe")
    conversations, people = add_conversations(world, probe, 1)
    world.model.change_script("plain", pause_seconds=1.0)
    conversations.write_all(people)
    amounts = [Decimal(0)]
    with run_in_background(lambda over: _watch_reservations(world, probe, over, amounts)):
        deliver_all(conversations)
    _set_model_cost(world, amounts[0])
    world.model.change_script("plain", pause_seconds=0.0)
    desk = world.create_tenant(slug)
    cap = (amounts[0] * CALLS * Decimal("1.02")).quantize(Decimal("0.0001"), ROUND_UP)
    _set_cap(world, desk, cap)
    return desk, cap


def _set_cap(world: ChaosEnvironment, desk: ChaosTenant, cap: Decimal) -> None:
    operator = roles.operator_principal(desk.tenant_id)
    with world.database() as database, database.transaction(operator) as tx:
        spend.set_daily_cap(operator, tx, cap.quantize(Decimal("0.0001"), ROUND_UP), datetime.now(UTC))


def _set_model_cost(world: ChaosEnvironment, amount: Decimal) -> None:
    """Have an answer cost a little less than the worst case that was set aside for it."""
    model = world.value("SELECT model FROM llm_calls ORDER BY at DESC LIMIT 1")
    now = datetime.now(UTC)
    written = prices.known_cost("anthropic", model, TokenUsage(0, _MAX_OUTPUT_TOKENS), now) or Decimal(0)
    thousand = prices.known_cost("anthropic", model, TokenUsage(1_000, 0), now) or Decimal(1)
    read = int((amount * Decimal("0.99") - written) / thousand * 1_000)
    world.model.change_script("plain", input_tokens=read, output_tokens=_MAX_OUTPUT_TOKENS)


def _watch_reservations(
    world: ChaosEnvironment, desk: ChaosTenant, over: threading.Event, amounts: list[Decimal]
) -> None:
    while not over.wait(0.05):
        amounts[0] = max(amounts[0], world.value(_RESERVED, desk.tenant_id) or Decimal(0))


def _watch_spend(world: ChaosEnvironment, desk: ChaosTenant, over: threading.Event, highest: list[Decimal]) -> None:
    while not over.wait(0.02):
        highest[0] = max(highest[0], world.value(_USED, desk.tenant_id, desk.tenant_id))


def _check_turns(world: ChaosEnvironment, desk: ChaosTenant, people: list[Conversation], *, answered: int) -> list[str]:
    """What is wrong with how the turns ended, when so many of them can be paid for."""
    really, refused, turns = world.rows(_TURNS, desk.tenant_id)[0]
    asked = sum(world.model.count_requests(person.tag) for person in people)
    problems = [f"{count} dead letters in {name}" for name, count in world.dead_letters().items()]
    if (really, refused, turns) != (answered, len(people) - answered, len(people)):
        problems.append(f"{turns} turns: {really} answered, {refused} refused; {answered} can be paid for")
    if asked != answered:
        problems.append(f"the model was asked {asked} times")
    came = world.texts_by_phone()
    silent = [person.phone_number for person in people if len(came.get(person.phone_number, ())) != 1]
    if silent:
        problems.append(f"{len(silent)} heard nothing, or heard it twice")
    return problems
