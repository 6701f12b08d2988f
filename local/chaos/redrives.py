"""Kills while an operator redrives: turns that were parked, and messages among the dead letters."""

import time
from collections.abc import Sequence
from typing import Any

from local.chaos.conversations import Conversation, Conversations
from local.chaos.kills import Choose, Say, everything, play, row_of
from local.chaos.operator import redrive, redrive_dead_letters
from local.chaos.promises import judge_all, outside
from local.chaos.report import Row
from local.chaos.scenarios import ATTEMPTS, EFFECTS, REPLYING, Boundary, Scenario, boundaries
from local.chaos.world import Desk, World

PARKED = Scenario("redrive of a parked turn", "effects", (("http_api", 1),), steps=2, effects=EFFECTS)
LETTERS = Scenario("redrive of dead letters", "plain", (("http_api", 1),))

_HIDDEN_SECONDS = 62.0
"""For how long a dead letter stays in the hands of a redrive that died."""

_TURN = """
SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
 WHERE u.phone = %s AND t.state = 'failed'
"""


def kill_redrives(world: World, desk: Desk, say: Say, choose: Choose = everything) -> list[Row]:
    """Record a clean redrive of each kind, then die at each of its port calls; the operator tries again."""
    clean = Conversations(world, desk, recorded=True)
    parked, letter = clean.open(PARKED), clean.open(LETTERS)
    _bury(clean, letter)
    clean.invoke(letter, "http_api", redrive_dead_letters("intake"), 20)
    _park(clean, [parked])
    _redrive(clean, parked)
    play(clean, [])
    seen = outside(world, desk)
    rows = [row_of(world, seen, conversation) for conversation in clean.all]
    if any(row.broken for row in rows):
        return rows
    doomed = [one for conversation in clean.all for one in choose(boundaries(conversation.scenario,
                                                                             conversation.recorded))]  # fmt: skip
    say(f"{len(doomed)} boundaries in 2 kinds of redrive")
    killed = _kill(world, desk, doomed)
    seen = outside(world, desk)
    rows += [row_of(world, seen, conversation) for conversation in killed.all]
    left = judge_all(world, desk)
    return [*rows, Row("redrive", "after all of it", outcome="nothing left behind", broken=tuple(left))]


def redrive_unharmed(world: World, desk: Desk) -> list[Row]:
    """A clean redrive of a dead letter by itself: it takes seconds where parking a turn takes a minute."""
    clean = Conversations(world, desk)
    letter = clean.open(LETTERS)
    _bury(clean, letter)
    clean.invoke(letter, "http_api", redrive_dead_letters("intake"), 20)
    play(clean, [])
    return [row_of(world, outside(world, desk), letter)]


def _kill(world: World, desk: Desk, doomed: Sequence[Boundary]) -> Conversations:
    """The dead letters first: while they stay in dead hands, turns are parked."""
    killed = Conversations(world, desk)
    letters = [killed.open(boundary.scenario, boundary) for boundary in doomed if boundary.scenario is LETTERS]
    for conversation in letters:
        _bury(killed, conversation)
        killed.invoke(conversation, "http_api", redrive_dead_letters("intake"), 20)
    begun = time.monotonic()
    parked = [killed.open(boundary.scenario, boundary) for boundary in doomed if boundary.scenario is PARKED]
    _park(killed, parked)
    for conversation in parked:
        _redrive(killed, conversation)
    play(killed, [])
    time.sleep(max(0.0, begun + _HIDDEN_SECONDS - time.monotonic()) if letters else 0.0)
    world.workers.invoke("http_api", redrive_dead_letters("intake"), 30)
    play(killed, [])
    return killed


def _bury(conversations: Conversations, conversation: Conversation) -> None:
    """Somebody writes, and the envelope goes to the dead letters, as SQS moves what was received too often."""
    world = conversations.world
    conversations.write(conversation)
    intake = next(source for source in world.sources if source.source.name == "intake")
    for record in _received(world, conversation.number):
        attributes = record["attributes"]
        world.sqs.send_message(
            QueueUrl=world.dead["IntakeDeadLetters"].source.url,
            MessageBody=record["body"],
            MessageGroupId=attributes["MessageGroupId"],
            MessageDeduplicationId=attributes["MessageDeduplicationId"],
        )
        intake.settle([record], None)


def _received(world: World, number: str) -> list[dict[str, Any]]:
    """The envelope of that number, which is the only one on the queue."""
    intake = next(source for source in world.sources if source.source.name == "intake")
    found = [record for record in intake.receive(10) if number in record["body"]]
    if not found:
        raise LookupError("the envelope is not on the intake queue")
    return found


def _park(conversations: Conversations, parked: list[Conversation]) -> None:
    """Their turns' workers die until the turns are given up, each time with all done but the reply."""
    for conversation in parked:
        conversation.deaths |= {("orchestrator", attempt): REPLYING for attempt in range(1, ATTEMPTS + 1)}
    play(conversations, parked)


def _redrive(conversations: Conversations, conversation: Conversation) -> None:
    turn_id = conversations.world.value(_TURN, conversation.number)
    if turn_id is None:
        conversation.problems.append("its turn was not parked")
        return
    conversation.redelivered = 0
    conversations.invoke(conversation, "http_api", redrive(conversations.desk, turn_id), 20)
