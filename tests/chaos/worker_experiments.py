"""Workers that fail at the same message every time, and workers that stop in the middle and go on much later."""

import signal
import time
from typing import Any

import psutil

from local.event_source import EventSource
from local.workers import Worker
from tests.chaos.chaos_environment import ChaosEnvironment, ChaosTenant
from tests.chaos.conversations import Conversation
from tests.chaos.experiments import add_conversations, deliver_all, list_broken_guarantees, reply_seconds
from tests.chaos.kill_suite import run_until_idle
from tests.chaos.operator_requests import redrive_turn, send_request
from tests.chaos.report import ResultRow
from tests.chaos.scenarios import MAX_TURN_ATTEMPTS, TURN_STARTED, Invocation, Scenario
from tests.chaos.tripwire import KillPoint, Tripwire

NEIGHBOURS = 20

_POISON_SCENARIO = Scenario("poison", "plain", ())

_PARKED_TURNS = """
SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
 WHERE u.phone = %s AND t.state = 'failed'
"""


def run_poison_message(world: ChaosEnvironment) -> list[ResultRow]:
    """A message that kills its worker every time: parked after three attempts; nobody else waits for it."""
    desk = world.create_tenant("poison")
    conversations, neighbours = add_conversations(world, desk, NEIGHBOURS)
    victim = conversations.add(_POISON_SCENARIO)
    victim.kill_points = {
        Invocation("orchestrator", attempt): TURN_STARTED for attempt in range(1, MAX_TURN_ATTEMPTS + 1)
    }
    begun: dict[str, float] = {}
    conversations.write_all([victim])
    for neighbour in neighbours:
        begun[neighbour.phone_number] = time.time()
        conversations.send_message(neighbour)
    run_until_idle(conversations, [])
    parked = world.rows(_PARKED_TURNS, victim.phone_number)
    longest = max(reply_seconds(world, neighbours, begun))
    visibility = next(
        source.mapping.visibility_seconds for source in world.event_sources if source.mapping.name == "turns"
    )
    problems = [] if len(parked) == 1 else [f"{len(parked)} turns are parked after {MAX_TURN_ATTEMPTS} deaths"]
    if longest > visibility:
        problems.append(f"a neighbour waited {longest:.1f} s, longer than one visibility ({visibility} s)")
    conversations.send_message(victim, "second")
    deliver_all(conversations)
    problems += _check_session_continued(world, victim)
    redriven = sum(send_request(world, redrive_turn(desk, turn_id)) for (turn_id,) in parked)
    deliver_all(conversations)
    problems += [f"redriven, and still {state}" for (state,) in world.rows(_UNANSWERED_STATES, victim.phone_number)]
    said = (
        f"parked after {MAX_TURN_ATTEMPTS} deaths, its session went on; {NEIGHBOURS} neighbours waited {longest:.1f} s "
        f"at most (one visibility is {visibility} s); {redriven} redriven and answered"
    )
    return [
        ResultRow(
            "poison",
            "kills its worker every time",
            outcome=said,
            broken_guarantees=(*problems, *list_broken_guarantees(world, desk, neighbours)),
        )
    ]


_UNANSWERED_STATES = """
SELECT m.state FROM messages m JOIN sessions s ON s.id = m.session_id JOIN users u ON u.id = s.user_id
 WHERE u.phone = %s AND m.direction = 'inbound' AND m.state <> 'answered'
"""
_ANSWERED_TURNS = """
SELECT count(*) FROM turns t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
 WHERE u.phone = %s AND t.state = 'answered'
"""


def _check_session_continued(world: ChaosEnvironment, victim: Conversation) -> list[str]:
    answered = world.value(_ANSWERED_TURNS, victim.phone_number)
    return [] if answered == 1 else [f"its session did not go on: {answered} turns answered"]


def run_stalled_workers(world: ChaosEnvironment) -> list[ResultRow]:
    """A worker that stops past its lease and then goes on, between two transactions and inside of one."""
    places = {
        "between the model's answer and its commit": KillPoint("model: POST /v1/messages, the answer", is_after=True),
        "inside the transaction of the reply": KillPoint("database: conversations.insert_reply", is_after=False),
    }
    return [
        _run_stalled_worker(world, f"stalled{number}", what, point)
        for number, (what, point) in enumerate(places.items())
    ]


def _run_stalled_worker(world: ChaosEnvironment, slug: str, what: str, point: KillPoint) -> ResultRow:
    desk = world.create_tenant(slug)
    conversations, (person,) = add_conversations(world, desk, 1)
    conversations.write_all([person])
    # The first message of a quiet thread is not delayed: it goes over the queue that the web has.
    source = next(source for source in world.event_sources if source.mapping.name == "web")
    record = _deliver_until_turn(world, source)
    worker = world.workers.start("orchestrator")
    worker.begin(
        {"Records": [record]}, source.mapping.timeout_seconds, Tripwire(world.server_names, point, signal.SIGSTOP)
    )
    problems = [] if _wait_until_stopped(worker) else ["the worker never got to where it was to stop"]
    conversations.count_uncommitted(person)
    begun = time.monotonic()
    deliver_all(conversations)
    answered = time.monotonic() - begun
    before = _table_hashes(world, desk)
    worker.resume()
    ended = worker.end(time.monotonic() + 30, time.monotonic())
    after = _table_hashes(world, desk)
    changed = [table for table in before if before[table] != after[table]]
    problems += [f"the worker that woke up wrote to {table}" for table in changed]
    problems += list_broken_guarantees(world, desk, [person])
    said = f"another answered after {answered:.0f} s; the first woke up, was {ended.outcome} and wrote nothing"
    return ResultRow("stalled worker", what, outcome=said, broken_guarantees=tuple(problems))


_TABLES = (
    "sessions",
    "messages",
    "turns",
    "steps",
    "llm_calls",
    "tool_calls",
    "events",
    "outbox",
    "outbox_parts",
    "work_due",
    "spend_days",
    "spend_reservations",
)


def _table_hashes(world: ChaosEnvironment, desk: ChaosTenant) -> dict[str, Any]:
    """What the tenant's tables hold, each as one hash."""
    query = "SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM {} t WHERE tenant_id = %s"
    return {table: world.value(query.format(table), desk.tenant_id) for table in _TABLES}


def _deliver_until_turn(world: ChaosEnvironment, source: EventSource) -> dict[str, Any]:
    """Deliver everything else until the turn's wake-up can be received; that one, for somebody else to handle."""
    others = [one for one in world.event_sources if one is not source]
    for _ in range(600):
        for other in others:
            for record in other.receive(1):
                other.handle(world.workers, [record])
        if found := source.receive(1):
            return found[0]
        time.sleep(0.05)
    raise LookupError("nobody was to be woken")


def _wait_until_stopped(worker: Worker) -> bool:
    """Wait until the process has stopped itself."""
    for _ in range(200):
        if psutil.Process(worker.pid).status() == psutil.STATUS_STOPPED:
            return True
        time.sleep(0.05)
    return False
