"""Whoever reads conversations for what lasts dies at each call to the outside; what it notes is there once."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from local.state import ROOT
from parlour.infra.json_values import JsonObject
from parlour.memory.memory_job import MemoryJob, MemoryJobKind
from tests.chaos.chaos_environment import ChaosEnvironment
from tests.chaos.conversations import Conversation, Conversations
from tests.chaos.guarantees import check_facts
from tests.chaos.kill_suite import run_until_idle
from tests.chaos.queue_poller import WORKER_SLOTS
from tests.chaos.report import ResultRow
from tests.chaos.scenarios import Boundary, Invocation, Scenario, list_boundaries

EXTRACTION = Scenario("remember", "remembers", (Invocation("memory_extractor"),))
SUMMARY = Scenario("sum up", "remembers", (Invocation("memory_extractor"),), turns=9)
"""Nine turns are eighteen messages: past sixteen a summary is wanted."""

_CRITICAL_CALLS = ("database: commit", "model: POST /v1/messages, the answer")
"""Where a summary's writer dies: a talk of nine turns for each call would take minutes."""

_TIMEOUT_SECONDS = 300
"""As the template has it: with less than a minute left nobody begins to ask a model."""

_MAX_ATTEMPTS = 4

_SESSION = """
SELECT s.tenant_id, s.id FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.phone = %s
"""
_IS_DUE = "SELECT count(*) FROM work_due WHERE kind = %s AND id = %s"
_MAKE_DUE = """
UPDATE work_due
   SET due_at = now() - interval '1 second', leased_until = LEAST(leased_until, now() - interval '1 second')
 WHERE kind = %s AND id = %s RETURNING id
"""
"""Time travel: as if the minutes had passed until it is due, or until whoever died holding it holds it no more."""

_EPISODES = "SELECT count(*) FROM episodes WHERE session_id = %s"
_EXTRACTED_UNTIL = "SELECT max(extraction_cursor) FROM session_memory_state WHERE session_id = %s"
_SUMMARIES = "SELECT version, text FROM summaries WHERE session_id = %s ORDER BY version"
_DUPLICATE_KEY_DETAILS = """
SELECT message_id, value FROM summary_key_details
 WHERE session_id = %s GROUP BY message_id, kind, value HAVING count(*) > 1
"""


def kill_extractor(world: ChaosEnvironment) -> list[ResultRow]:
    """Killed before and after every call while it looks through what was said."""
    return _kill_memory_job(world, "remember", EXTRACTION, "extraction", lambda _: True)


def kill_summariser(world: ChaosEnvironment) -> list[ResultRow]:
    """Killed around what a summary hangs on."""
    return _kill_memory_job(world, "sum-up", SUMMARY, "summary", lambda call: call.startswith(_CRITICAL_CALLS))


def _kill_memory_job(
    world: ChaosEnvironment, slug: str, scenario: Scenario, kind: MemoryJobKind, is_tried: Any
) -> list[ResultRow]:
    desk = world.create_tenant(slug)
    clean = Conversations(world, desk, records_calls=True)
    _hold_conversations(clean, [clean.add(scenario)])
    rows = [_run_memory_job(clean, kind, one) for one in clean.conversations]
    if any(row.broken_guarantees for row in rows):
        return rows
    doomed = [
        one
        for talk in clean.conversations
        for one in list_boundaries(scenario, talk.recorded_calls)
        if is_tried(one.point.call)
    ]
    killed = Conversations(world, desk)
    _hold_conversations(killed, [_add_conversation(killed, boundary) for boundary in doomed])
    with ThreadPoolExecutor(WORKER_SLOTS) as working:
        return [*rows, *working.map(partial(_run_memory_job, killed, kind), killed.conversations)]


def _add_conversation(conversations: Conversations, boundary: Boundary) -> Conversation:
    return conversations.add(boundary.scenario, boundary)


def _hold_conversations(conversations: Conversations, people: list[Conversation]) -> None:
    """Everybody writes, and is answered, as often as there are turns."""
    for turn in range(people[0].scenario.turns):
        with ThreadPoolExecutor(WORKER_SLOTS) as writing:
            list(writing.map(lambda one, turn=turn: conversations.send_message(one, f"m{turn}"), people))
        run_until_idle(conversations, [])


def _run_memory_job(conversations: Conversations, kind: MemoryJobKind, one: Conversation) -> ResultRow:
    """The work of memory on one conversation, as often as it takes; what became of it."""
    world = conversations.world
    ((tenant_id, session_id),) = world.rows(_SESSION, one.phone_number)
    order = _job_event(MemoryJob(tenant_id, kind, session_id).to_json())
    tries = 0
    while world.value(_IS_DUE, kind, session_id) and tries < _MAX_ATTEMPTS:
        tries += 1
        world.rows(_MAKE_DUE, kind, session_id)
        conversations.invoke(one, "memory_extractor", order, _TIMEOUT_SECONDS)
    found = [*one.problems, *_check_results(world, kind, one, session_id)]
    if world.value(_IS_DUE, kind, session_id):
        found.append(f"it is due still after {tries} tries")
    asked = world.model.count_requests(one.tag, is_background=True)
    if asked > 1 + bool(one.boundary):
        found.append(f"the model was asked {asked} times")
    if one.kill_points:
        found.append("its worker never came to its end")
    return _to_row(one, found, "asked for again" if asked > 1 else "")


def _check_results(world: ChaosEnvironment, kind: str, one: Conversation, session_id: object) -> Iterator[str]:
    """What there is once: a fact and why it is there, an episode; or a summary and the lines beside it."""
    if kind == "extraction":
        yield from check_facts(world, one, ["about.crew", "name"])
        if (episodes := world.value(_EPISODES, session_id)) != 1:
            yield f"{episodes} episodes instead of one"
        if (until := world.value(_EXTRACTED_UNTIL, session_id)) != one.scenario.turns:
            yield f"the turns are looked through until {until}"
        return
    summaries = world.rows(_SUMMARIES, session_id)
    if len(summaries) != 1:
        yield f"the summaries are {summaries}"
    if twice := world.rows(_DUPLICATE_KEY_DETAILS, session_id):
        yield f"kept twice: {twice}"


def _to_row(one: Conversation, found: Sequence[str], note: str) -> ResultRow:
    boundary, name = one.boundary, one.scenario.name
    outcome = ", ".join(filter(None, ["there once", note])) if not found else "BROKEN"
    if boundary is None:
        return ResultRow(name, "clean run", outcome=outcome, broken_guarantees=tuple(found))
    return ResultRow(
        name,
        boundary.point.call,
        function="memory_extractor",
        number=boundary.number,
        is_after=boundary.point.is_after,
        outcome=outcome,
        broken_guarantees=tuple(found),
        redeliveries=one.redeliveries,
        seconds=round(one.recovery_seconds, 1),
    )


def _job_event(order: JsonObject) -> dict[str, Any]:
    """An order as its queue delivers it."""
    event: dict[str, Any] = json.loads((ROOT / "events" / "memory_extractor_job.json").read_text())
    event["Records"][0]["body"] = json.dumps(order)
    return event
