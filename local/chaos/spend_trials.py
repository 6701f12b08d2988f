"""Model calls against a cap: many at once, one after the other, and a worker that dies with money set aside."""

import threading
from datetime import UTC, datetime
from decimal import ROUND_UP, Decimal

from local.chaos.conversations import Conversation
from local.chaos.pump import Pump
from local.chaos.report import Row
from local.chaos.trials import crowd, meanwhile, settle
from local.chaos.tripwire import Point
from local.chaos.world import Desk, World
from parlour.models import prices, spend
from parlour.models.request import Usage
from parlour.tenancy import roles

CALLS, AT_ONCE = 10, 50
_LONGEST = 1_500
_PATIENCE_SECONDS = 120.0
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


def many_at_once(world: World) -> list[Row]:
    """Fifty turns at the same time and money for ten calls: never over the cap."""
    desk, cap = _desk(world, "cap")
    conversations, people = crowd(world, desk, AT_ONCE)
    conversations.begin(people)
    world.model.change("plain", pause=2.0)
    highest = [Decimal(0)]
    with meanwhile(lambda over: _watch(world, desk, over, highest)):
        Pump(world, slots=AT_ONCE, seconds=_PATIENCE_SECONDS).run(300)
    world.model.change("plain", pause=0.0)
    problems = _left(world, desk, people, answered=CALLS)
    if highest[0] > cap:
        problems.append(f"${highest[0]:.4f} were spent and set aside at a cap of ${cap}")
    said = f"never more than ${highest[0]:.4f} of ${cap}; {CALLS} answered, {AT_ONCE - CALLS} told so politely"
    return [Row("spend", f"{AT_ONCE} turns at once, {CALLS} calls' worth", outcome=said, broken=tuple(problems))]


def one_by_one(world: World) -> list[Row]:
    """Eleven turns in sequence and money for ten: the eleventh gets the polite line."""
    desk, _ = _desk(world, "sequence")
    conversations, people = crowd(world, desk, CALLS + 1)
    for person in people:
        conversations.write(person)
    Pump(world, slots=1).run(120)
    problems = _left(world, desk, people, answered=CALLS)
    if world.model.asked(people[-1].tag):
        problems.append("the eleventh was answered by the model")
    outcome = f"{CALLS} answered, the last one told so politely"
    return [Row("spend", f"{CALLS + 1} turns in sequence", outcome=outcome, broken=tuple(problems))]


def killed_with_money(world: World) -> list[Row]:
    """A worker dies with all the money set aside: it counts until the lease ends, and no longer."""
    desk, cap = _desk(world, "killed")
    _cap(world, desk, cap / CALLS)
    conversations, (victim, other) = crowd(world, desk, 2)
    victim.deaths[("orchestrator", 1)] = Point("model: POST /v1/messages", after=False)
    conversations.begin([victim])
    pump = Pump(world, conversations.plan, conversations.seen)
    pump.run(60, go_on=lambda: victim.died_at is None, stop=lambda: victim.died_at is not None)
    conversations.begin([other])
    settle(conversations)
    problems = _left(world, desk, [victim, other], answered=1)
    if world.model.asked(other.tag):
        problems.append("the money that was set aside was spent by somebody else")
    live = world.value("SELECT count(*) FROM spend_reservations WHERE tenant_id = %s AND expires_at > now()",
                       desk.tenant_id)  # fmt: skip
    if live:
        problems.append(f"{live} reservations are left")
    said = "meanwhile another was refused; after the lease the turn was answered, and nothing is set aside any more"
    return [Row("spend", "killed with its reservation", outcome=said, broken=tuple(problems))]


def _desk(world: World, slug: str) -> tuple[Desk, Decimal]:
    """A tenant whose cap is ten calls' worth, and a model that costs what was set aside for it."""
    probe = world.open_desk(f"{slug}-probe")
    conversations, people = crowd(world, probe, 1)
    world.model.change("plain", pause=1.0)
    conversations.begin(people)
    amounts = [Decimal(0)]
    with meanwhile(lambda over: _look(world, probe, over, amounts)):
        settle(conversations)
    _cost(world, amounts[0])
    world.model.change("plain", pause=0.0)
    desk = world.open_desk(slug)
    cap = (amounts[0] * CALLS * Decimal("1.02")).quantize(Decimal("0.0001"), ROUND_UP)
    _cap(world, desk, cap)
    return desk, cap


def _cap(world: World, desk: Desk, cap: Decimal) -> None:
    operator = roles.operator(desk.tenant_id)
    with world.database() as database, database.transaction(operator) as tx:
        spend.set_cap(operator, tx, cap.quantize(Decimal("0.0001"), ROUND_UP), datetime.now(UTC))


def _cost(world: World, amount: Decimal) -> None:
    """Have an answer cost a little less than the worst case that was set aside for it."""
    model = world.value("SELECT model FROM llm_calls ORDER BY at DESC LIMIT 1")
    now = datetime.now(UTC)
    written = prices.cost("anthropic", model, Usage(0, _LONGEST), now) or Decimal(0)
    thousand = prices.cost("anthropic", model, Usage(1_000, 0), now) or Decimal(1)
    read = int((amount * Decimal("0.99") - written) / thousand * 1_000)
    world.model.change("plain", input_tokens=read, output_tokens=_LONGEST)


def _look(world: World, desk: Desk, over: threading.Event, amounts: list[Decimal]) -> None:
    while not over.wait(0.05):
        amounts[0] = max(amounts[0], world.value(_RESERVED, desk.tenant_id) or Decimal(0))


def _watch(world: World, desk: Desk, over: threading.Event, highest: list[Decimal]) -> None:
    while not over.wait(0.02):
        highest[0] = max(highest[0], world.value(_USED, desk.tenant_id, desk.tenant_id))


def _left(world: World, desk: Desk, people: list[Conversation], *, answered: int) -> list[str]:
    """What is wrong with how the turns ended, when so many of them can be paid for."""
    really, refused, turns = world.rows(_TURNS, desk.tenant_id)[0]
    asked = sum(world.model.asked(person.tag) for person in people)
    problems = [f"{count} dead letters in {name}" for name, count in world.dead_letters().items()]
    if (really, refused, turns) != (answered, len(people) - answered, len(people)):
        problems.append(f"{turns} turns: {really} answered, {refused} refused; {answered} can be paid for")
    if asked != answered:
        problems.append(f"the model was asked {asked} times")
    came = world.received()
    silent = [person.number for person in people if len(came.get(person.number, ())) != 1]
    if silent:
        problems.append(f"{len(silent)} heard nothing, or heard it twice")
    return problems
