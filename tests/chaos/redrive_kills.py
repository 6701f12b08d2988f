"""Kills while an operator redrives: turns that were parked, and messages among the dead letters."""

import time
from collections.abc import Sequence
from typing import Any

from tests.chaos.chaos_environment import ChaosEnvironment, ChaosTenant
from tests.chaos.conversations import Conversation, Conversations
from tests.chaos.guarantees import check_tenant, read_external_state
from tests.chaos.kill_suite import BoundaryFilter, ProgressCallback, all_boundaries, run_until_idle, to_row
from tests.chaos.operator_requests import redrive_dead_letters, redrive_turn
from tests.chaos.report import ResultRow
from tests.chaos.scenarios import (
    EFFECTS,
    MAX_TURN_ATTEMPTS,
    Boundary,
    Invocation,
    Scenario,
    list_boundaries,
)

PARKED_TURN = Scenario("redrive of a parked turn", "effects", (Invocation("http_api"),), steps=2, effects=EFFECTS)
DEAD_LETTERS = Scenario("redrive of dead letters", "plain", (Invocation("http_api"),))

_VISIBILITY_SECONDS = 62.0
"""For how long a dead letter stays in the hands of a redrive that died."""

_FAILED_TURN = """
SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
 WHERE u.phone = %s AND t.state = 'failed'
"""


def kill_redrives(
    world: ChaosEnvironment, desk: ChaosTenant, say: ProgressCallback, choose: BoundaryFilter = all_boundaries
) -> list[ResultRow]:
    """Record a clean redrive of each kind, then die at each of its port calls; the operator tries again."""
    clean = Conversations(world, desk, records_calls=True)
    parked, letter = clean.add(PARKED_TURN), clean.add(DEAD_LETTERS)
    _move_to_dead_letters(clean, letter)
    clean.invoke(letter, "http_api", redrive_dead_letters("intake"), 20)
    _park_turns(clean, [parked])
    _redrive_turn(clean, parked)
    run_until_idle(clean, [])
    seen = read_external_state(world, desk)
    rows = [to_row(world, seen, conversation) for conversation in clean.conversations]
    if any(row.broken_guarantees for row in rows):
        return rows
    doomed = [
        one
        for conversation in clean.conversations
        for one in choose(list_boundaries(conversation.scenario, conversation.recorded_calls))
    ]
    say(f"{len(doomed)} boundaries in 2 kinds of redrive")
    killed = _run_kills(world, desk, doomed)
    seen = read_external_state(world, desk)
    rows += [to_row(world, seen, conversation) for conversation in killed.conversations]
    left = check_tenant(world, desk)
    return [
        *rows,
        ResultRow("redrive", "after all of it", outcome="nothing left behind", broken_guarantees=tuple(left)),
    ]


def run_clean_redrive(world: ChaosEnvironment, desk: ChaosTenant) -> list[ResultRow]:
    """A clean redrive of a dead letter by itself: it takes seconds where parking a turn takes a minute."""
    clean = Conversations(world, desk)
    letter = clean.add(DEAD_LETTERS)
    _move_to_dead_letters(clean, letter)
    clean.invoke(letter, "http_api", redrive_dead_letters("intake"), 20)
    run_until_idle(clean, [])
    return [to_row(world, read_external_state(world, desk), letter)]


def _run_kills(world: ChaosEnvironment, desk: ChaosTenant, doomed: Sequence[Boundary]) -> Conversations:
    """The dead letters first: while they stay in dead hands, turns are parked."""
    killed = Conversations(world, desk)
    letters = [killed.add(boundary.scenario, boundary) for boundary in doomed if boundary.scenario is DEAD_LETTERS]
    for conversation in letters:
        _move_to_dead_letters(killed, conversation)
        killed.invoke(conversation, "http_api", redrive_dead_letters("intake"), 20)
    begun = time.monotonic()
    parked = [killed.add(boundary.scenario, boundary) for boundary in doomed if boundary.scenario is PARKED_TURN]
    _park_turns(killed, parked)
    for conversation in parked:
        _redrive_turn(killed, conversation)
    run_until_idle(killed, [])
    time.sleep(max(0.0, begun + _VISIBILITY_SECONDS - time.monotonic()) if letters else 0.0)
    world.workers.invoke("http_api", redrive_dead_letters("intake"), 30)
    run_until_idle(killed, [])
    return killed


def _move_to_dead_letters(conversations: Conversations, conversation: Conversation) -> None:
    """Somebody writes, and the envelope goes to the dead letters, as SQS moves what was received too often."""
    world = conversations.world
    conversations.send_message(conversation)
    intake = next(source for source in world.event_sources if source.mapping.name == "intake")
    for record in _receive_envelope(world, conversation.phone_number):
        attributes = record["attributes"]
        world.sqs.send_message(
            QueueUrl=world.dead_letter_queues["IntakeDeadLetters"].mapping.url,
            MessageBody=record["body"],
            MessageGroupId=attributes["MessageGroupId"],
            MessageDeduplicationId=attributes["MessageDeduplicationId"],
        )
        intake.delete_processed([record], None)


def _receive_envelope(world: ChaosEnvironment, number: str) -> list[dict[str, Any]]:
    """The envelope of that number, which is the only one on the queue."""
    intake = next(source for source in world.event_sources if source.mapping.name == "intake")
    found = [record for record in intake.receive(10) if number in record["body"]]
    if not found:
        raise LookupError("the envelope is not on the intake queue")
    return found


def _park_turns(conversations: Conversations, parked: list[Conversation]) -> None:
    """Their turns' workers die until the turns are given up, each time with all done but the reply."""
    for conversation in parked:
        conversation.deaths_before_reply = MAX_TURN_ATTEMPTS
    run_until_idle(conversations, parked)


def _redrive_turn(conversations: Conversations, conversation: Conversation) -> None:
    turn_id = conversations.world.value(_FAILED_TURN, conversation.phone_number)
    if turn_id is None:
        conversation.problems.append("its turn was not parked")
        return
    conversation.redeliveries = 0
    conversations.invoke(conversation, "http_api", redrive_turn(conversations.desk, turn_id), 20)
