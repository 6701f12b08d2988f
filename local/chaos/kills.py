"""A kill before and after every port call of every scenario, all of them under way at the same time."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from local.chaos.conversations import Conversation, Conversations
from local.chaos.promises import Outside, judge, judge_all, outside
from local.chaos.pump import Pump
from local.chaos.report import Row
from local.chaos.scenarios import Boundary, Scenario, boundaries
from local.chaos.world import Desk, World

_REST_SECONDS = 900.0
"""How long everything may take to come to rest."""

_SWEPT = "UPDATE work_due SET due_at = now() - interval '1 second' WHERE tenant_id = %s RETURNING kind, id"
"""Time travel for the sweep alone: as if the minutes of grace had passed."""

_SCHEDULED: dict[str, Any] = {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}

type Say = Callable[[str], None]
type Choose = Callable[[list[Boundary]], Sequence[Boundary]]


def everything(boundaries: list[Boundary]) -> Sequence[Boundary]:
    """Leave nothing out."""
    return boundaries


def kill_everywhere(
    world: World, desk: Desk, scenarios: Sequence[Scenario], say: Say, choose: Choose = everything
) -> list[Row]:
    """Record a clean run of each scenario, then die at each of its port calls; what became of every one.

    `choose` may leave boundaries out, for a quick look.
    """
    clean = record(world, desk, scenarios)
    seen = outside(world, desk)
    rows = [row_of(world, seen, conversation) for conversation in clean.all]
    if any(row.broken for row in rows):
        return rows  # a kill would show nothing about what breaks by itself
    doomed = [
        boundary
        for conversation in clean.all
        for boundary in choose(boundaries(conversation.scenario, conversation.recorded))
    ]
    say(f"{len(doomed)} boundaries in {len(scenarios)} scenarios")
    killed = Conversations(world, desk)
    play(killed, [killed.open(boundary.scenario, boundary) for boundary in doomed])
    seen = outside(world, desk)
    rows += [row_of(world, seen, conversation) for conversation in killed.all]
    left = judge_all(world, desk)
    return [*rows, Row("everything", "after all of it", outcome="nothing left behind", broken=tuple(left))]


def record(world: World, desk: Desk, scenarios: Sequence[Scenario]) -> Conversations:
    """A clean run of each, with the names of all its port calls."""
    clean = Conversations(world, desk, recorded=True)
    play(clean, [clean.open(scenario) for scenario in scenarios])
    return clean


def play(conversations: Conversations, begun: list[Conversation]) -> None:
    """Everybody writes, and everything is delivered until nothing is left; then the sweep has its turn."""
    pump = Pump(conversations.world, conversations.plan, conversations.seen)
    conversations.begin(begun)
    rested = pump.run(_REST_SECONDS)
    for _ in range(2):
        if _sweep(conversations):
            rested = pump.run(_REST_SECONDS)
    if not rested:
        for conversation in conversations.all:
            conversation.problems.append(f"nothing came to rest: {pump.held()}")


def _sweep(conversations: Conversations) -> bool:
    """Let the minutes of grace be over and the schedule strike; whether anything was due."""
    due = conversations.world.rows(_SWEPT, conversations.desk.tenant_id)
    if due:
        for conversation in conversations.all:
            conversation.swept = conversation.swept or _is_waiting(conversations.world, conversation, due)
        conversations.world.workers.invoke("sweep", {**_SCHEDULED, "time": datetime.now(UTC).isoformat()}, 30)
    return bool(due)


_WAITING = """
SELECT s.id FROM sessions s JOIN users u ON u.id = s.user_id JOIN messages m ON m.session_id = s.id
 WHERE u.phone = %s AND m.state IN ('unanswered', 'taken')
UNION ALL SELECT o.id FROM outbox o WHERE o.recipient = %s AND o.state IN ('pending', 'sending')
UNION ALL SELECT c.id FROM tool_calls c JOIN turns t ON t.id = c.turn_id JOIN sessions s ON s.id = t.session_id
            JOIN users u ON u.id = s.user_id WHERE u.phone = %s AND c.state IN ('reserved', 'running')
"""


def _is_waiting(world: World, conversation: Conversation, due: list[tuple[Any, ...]]) -> bool:
    """Whether something of this conversation is due that nobody else would have seen to."""
    mine = {row[0] for row in world.rows(_WAITING, *[conversation.number] * 3)}
    return any(thing in mine for _, thing in due)


def row_of(world: World, seen: Outside, conversation: Conversation) -> Row:
    """What became of one conversation, as a row."""
    verdict = judge(world, seen, conversation)
    boundary = conversation.boundary
    if boundary is None:
        return Row(
            conversation.scenario.name, "clean run", outcome=verdict.outcome, broken=verdict.broken,
            redeliveries=conversation.redelivered,
        )  # fmt: skip
    function, ordinal = boundary.invocation
    return Row(
        boundary.scenario.name,
        boundary.point.call,
        function=function if ordinal == 1 else f"{function} ({ordinal})",
        number=boundary.number,
        after=boundary.point.after,
        outcome=verdict.outcome,
        broken=verdict.broken,
        redeliveries=conversation.redelivered,
        seconds=round(conversation.seconds, 1),
    )
