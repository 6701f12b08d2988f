"""A kill before and after every port call of every scenario, all of them under way at the same time."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from tests.chaos import people
from tests.chaos.chaos_environment import ChaosEnvironment, ChaosTenant
from tests.chaos.conversations import Conversation, Conversations
from tests.chaos.guarantees import ExternalState, check_conversation, check_tenant, read_external_state
from tests.chaos.queue_poller import QueuePoller
from tests.chaos.report import ResultRow
from tests.chaos.scenarios import Boundary, Scenario, list_boundaries

_IDLE_TIMEOUT_SECONDS = 900.0
"""How long everything may take to come to rest."""

_MAX_SWEEPS = 5
_MAX_SWEEP_INVOCATIONS = 20
"""Each looks at two hundred pieces of work, of all tenants."""

_MAKE_WORK_DUE = """
UPDATE work_due SET due_at = now() - interval '1 second'
 WHERE tenant_id = %s AND kind IN ('session', 'outbox', 'tool_call', 'notification', 'approval', 'inbox')
RETURNING kind, id
"""
"""Time travel for the sweep alone: as if the minutes of grace had passed."""

_COUNT_DUE_WORK = "SELECT count(*) FROM work_due WHERE tenant_id = %s AND kind <> 'pulse' AND due_at <= now()"

_SCHEDULED_EVENT: dict[str, Any] = {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}

type ProgressCallback = Callable[[str], None]
type BoundaryFilter = Callable[[list[Boundary]], Sequence[Boundary]]


def all_boundaries(boundaries: list[Boundary]) -> Sequence[Boundary]:
    """Leave nothing out."""
    return boundaries


def kill_everywhere(
    world: ChaosEnvironment,
    desk: ChaosTenant,
    scenarios: Sequence[Scenario],
    say: ProgressCallback,
    choose: BoundaryFilter = all_boundaries,
) -> list[ResultRow]:
    """Record a clean run of each scenario, then die at each of its port calls; what became of every one.

    `choose` may leave boundaries out, for a quick look.
    """
    clean = record_clean_runs(world, desk, scenarios)
    seen = read_external_state(world, desk)
    rows = [to_row(world, seen, conversation) for conversation in clean.conversations]
    if any(row.broken_guarantees for row in rows):
        return rows  # a kill would show nothing about what breaks by itself
    doomed = [
        boundary
        for conversation in clean.conversations
        for boundary in choose(list_boundaries(conversation.scenario, conversation.recorded_calls))
    ]
    say(f"{len(doomed)} boundaries in {len(scenarios)} scenarios")
    killed = Conversations(world, desk)
    run_until_idle(killed, [killed.add(boundary.scenario, boundary) for boundary in doomed])
    seen = read_external_state(world, desk)
    rows += [to_row(world, seen, conversation) for conversation in killed.conversations]
    left = check_tenant(world, desk)
    return [
        *rows,
        ResultRow("everything", "after all of it", outcome="nothing left behind", broken_guarantees=tuple(left)),
    ]


def record_clean_runs(world: ChaosEnvironment, desk: ChaosTenant, scenarios: Sequence[Scenario]) -> Conversations:
    """A clean run of each, with the names of all its port calls."""
    clean = Conversations(world, desk, records_calls=True)
    run_until_idle(clean, [clean.add(scenario) for scenario in scenarios])
    return clean


def run_until_idle(conversations: Conversations, begun: list[Conversation]) -> None:
    """Everybody writes and does what follows, and everything is delivered until nothing is left; then the sweep has its
    turn.

    Where people act in rounds, no round waits for delayed wake-ups: the sweep does at once what they are for.
    """
    rounds = max((len(one.scenario.follow_ups) for one in begun), default=0)
    pump = QueuePoller(
        conversations.world, conversations.wrap_delivery, conversations.record_result, waits_for_wakeups=not rounds
    )
    conversations.write_all(begun)
    rested = pump.run(_IDLE_TIMEOUT_SECONDS)
    for phase in range(1, 1 + rounds):
        people.act(conversations, [one for one in begun if len(one.scenario.follow_ups) >= phase], phase)
        rested = pump.run(_IDLE_TIMEOUT_SECONDS)
    for _ in range(_MAX_SWEEPS):
        if not _run_sweep(conversations):
            break
        rested = pump.run(_IDLE_TIMEOUT_SECONDS)
    if not rested:
        for conversation in conversations.conversations:
            conversation.problems.append(f"nothing came to rest: {pump.count_messages()}")


def _run_sweep(conversations: Conversations) -> bool:
    """Let the minutes of grace be over and the schedule strike until all was looked at; whether anything was due."""
    due = conversations.world.rows(_MAKE_WORK_DUE, conversations.desk.tenant_id)
    if due:
        for conversation in conversations.conversations:
            conversation.is_swept = conversation.is_swept or _is_waiting(conversations.world, conversation, due)
        for _ in range(_MAX_SWEEP_INVOCATIONS):
            conversations.world.workers.invoke("sweep", {**_SCHEDULED_EVENT, "time": datetime.now(UTC).isoformat()}, 30)
            if not conversations.world.value(_COUNT_DUE_WORK, conversations.desk.tenant_id):
                break
    return bool(due)


_OPEN_WORK = """
SELECT s.id FROM sessions s JOIN users u ON u.id = s.user_id JOIN messages m ON m.session_id = s.id
 WHERE u.phone = %s AND m.state IN ('unanswered', 'in_turn')
UNION ALL SELECT o.id FROM outbox o WHERE o.recipient = %s AND o.state IN ('pending', 'sending')
UNION ALL SELECT c.id FROM tool_calls c JOIN turns t ON t.id = c.turn_id JOIN sessions s ON s.id = t.session_id
            JOIN users u ON u.id = s.user_id WHERE u.phone = %s AND c.state IN ('reserved', 'running')
UNION ALL SELECT n.id FROM notifications n JOIN sessions s ON s.id = n.session_id JOIN users u ON u.id = s.user_id
           WHERE u.phone = %s AND n.state IN ('pending', 'sending')
"""


def _is_waiting(world: ChaosEnvironment, conversation: Conversation, due: list[tuple[Any, ...]]) -> bool:
    """Whether something of this conversation is due that nobody else would have seen to."""
    mine = {row[0] for row in world.rows(_OPEN_WORK, *[conversation.phone_number] * 4)}
    return any(thing in mine for _, thing in due)


def to_row(world: ChaosEnvironment, external_state: ExternalState, conversation: Conversation) -> ResultRow:
    """What became of one conversation, as a row."""
    verdict = check_conversation(world, external_state, conversation)
    boundary = conversation.boundary
    if boundary is None:
        return ResultRow(
            conversation.scenario.name,
            "clean run",
            outcome=verdict.outcome,
            broken_guarantees=verdict.broken_guarantees,
            redeliveries=conversation.redeliveries,
        )
    function, ordinal, phase = boundary.invocation
    after = f" after round {phase}" if phase else ""
    return ResultRow(
        boundary.scenario.name,
        boundary.point.call,
        function=(function if ordinal == 1 else f"{function} ({ordinal})") + after,
        number=boundary.number,
        is_after=boundary.point.is_after,
        outcome=verdict.outcome,
        broken_guarantees=verdict.broken_guarantees,
        redeliveries=conversation.redeliveries,
        seconds=round(conversation.recovery_seconds, 1),
    )
