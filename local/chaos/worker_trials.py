"""Workers that fail at the same message every time, and workers that stop in the middle and go on much later."""

import signal
import time
from typing import Any

import psutil

from local.chaos.conversations import Conversation
from local.chaos.kills import play
from local.chaos.operator import ask, redrive
from local.chaos.report import Row
from local.chaos.scenarios import ATTEMPTS, BEGUN, Scenario
from local.chaos.trials import broken, crowd, settle, waits
from local.chaos.tripwire import Point, Tripwire
from local.chaos.world import Desk, World
from local.event_source import EventSource
from local.workers import Worker

NEIGHBOURS = 20

_ANSWERED = Scenario("poison", "plain", ())

_PARKED = """
SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
 WHERE u.phone = %s AND t.state = 'failed'
"""


def poison(world: World) -> list[Row]:
    """A message that kills its worker every time: parked after three attempts; nobody else waits for it."""
    desk = world.open_desk("poison")
    conversations, neighbours = crowd(world, desk, NEIGHBOURS)
    victim = conversations.open(_ANSWERED)
    victim.deaths = {("orchestrator", attempt): BEGUN for attempt in range(1, ATTEMPTS + 1)}
    begun: dict[str, float] = {}
    conversations.begin([victim])
    for neighbour in neighbours:
        begun[neighbour.number] = time.time()
        conversations.write(neighbour)
    play(conversations, [])
    parked = world.rows(_PARKED, victim.number)
    longest = max(waits(world, neighbours, begun))
    visibility = next(source.source.visibility for source in world.sources if source.source.name == "turns")
    problems = [] if len(parked) == 1 else [f"{len(parked)} turns are parked after {ATTEMPTS} deaths"]
    if longest > visibility:
        problems.append(f"a neighbour waited {longest:.1f} s, longer than one visibility ({visibility} s)")
    conversations.write(victim, "second")
    settle(conversations)
    problems += _answered_since(world, victim)
    redriven = sum(ask(world, redrive(desk, turn_id)) for (turn_id,) in parked)
    settle(conversations)
    problems += [f"redriven, and still {state}" for (state,) in world.rows(_STATES, victim.number)]
    said = (
        f"parked after {ATTEMPTS} deaths, its session went on; {NEIGHBOURS} neighbours waited {longest:.1f} s at most "
        f"(one visibility is {visibility} s); {redriven} redriven and answered"
    )
    return [Row("poison", "kills its worker every time", outcome=said,
                broken=(*problems, *broken(world, desk, neighbours)))]  # fmt: skip


_STATES = """
SELECT m.state FROM messages m JOIN sessions s ON s.id = m.session_id JOIN users u ON u.id = s.user_id
 WHERE u.phone = %s AND m.direction = 'inbound' AND m.state <> 'answered'
"""
_LATER = """
SELECT count(*) FROM turns t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
 WHERE u.phone = %s AND t.state = 'answered'
"""


def _answered_since(world: World, victim: Conversation) -> list[str]:
    answered = world.value(_LATER, victim.number)
    return [] if answered == 1 else [f"its session did not go on: {answered} turns answered"]


def stalled(world: World) -> list[Row]:
    """A worker that stops past its lease and then goes on, between two transactions and inside of one."""
    places = {
        "between the model's answer and its commit": Point("model: POST /v1/messages, the answer", after=True),
        "inside the transaction of the reply": Point("database: turns.insert_reply", after=False),
    }
    return [_stalled(world, f"stalled{number}", what, point) for number, (what, point) in enumerate(places.items())]


def _stalled(world: World, slug: str, what: str, point: Point) -> Row:
    desk = world.open_desk(slug)
    conversations, (person,) = crowd(world, desk, 1)
    conversations.begin([person])
    source = next(source for source in world.sources if source.source.name == "turns")
    record = _until_turn(world, source)
    worker = world.workers.start("orchestrator")
    worker.begin({"Records": [record]}, source.source.seconds, Tripwire(world.places, point, signal.SIGSTOP))
    problems = [] if _stopped(worker) else ["the worker never got to where it was to stop"]
    conversations.note_unpaid(person)
    begun = time.monotonic()
    settle(conversations)
    answered = time.monotonic() - begun
    before = _everything(world, desk)
    worker.thaw()
    ended = worker.end(time.monotonic() + 30, time.monotonic())
    after = _everything(world, desk)
    changed = [table for table in before if before[table] != after[table]]
    problems += [f"the worker that woke up wrote to {table}" for table in changed]
    problems += broken(world, desk, [person])
    said = f"another answered after {answered:.0f} s; the first woke up, was {ended.how} and wrote nothing"
    return Row("stalled worker", what, outcome=said, broken=tuple(problems))


_TABLES = (
    "sessions", "messages", "turns", "steps", "llm_calls", "tool_calls", "events", "outbox", "outbox_parts",
    "work_due", "spend_days", "spend_reservations",
)  # fmt: skip


def _everything(world: World, desk: Desk) -> dict[str, Any]:
    """What the tenant's tables hold, each as one hash."""
    query = "SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM {} t WHERE tenant_id = %s"
    return {table: world.value(query.format(table), desk.tenant_id) for table in _TABLES}


def _until_turn(world: World, source: EventSource) -> dict[str, Any]:
    """Deliver everything else until the turn's wake-up can be received; that one, for somebody else to handle."""
    others = [one for one in world.sources if one is not source]
    for _ in range(600):
        for other in others:
            for record in other.receive(1):
                other.handle(world.workers, [record])
        if found := source.receive(1):
            return found[0]
        time.sleep(0.05)
    raise LookupError("nobody was to be woken")


def _stopped(worker: Worker) -> bool:
    """Wait until the process has stopped itself."""
    for _ in range(200):
        if psutil.Process(worker.pid).status() == psutil.STATUS_STOPPED:
            return True
        time.sleep(0.05)
    return False
