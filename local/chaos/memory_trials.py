"""Whoever reads conversations for what lasts dies at each call to the outside; what it notes is there once."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from local.chaos.conversations import Conversation, Conversations
from local.chaos.kills import play
from local.chaos.promises import remembered
from local.chaos.pump import SLOTS
from local.chaos.report import Row
from local.chaos.scenarios import Boundary, Scenario, boundaries
from local.chaos.world import World
from local.state import ROOT

NOTED = Scenario("remember", "remembers", (("memory_extractor", 1),))
SUMMED_UP = Scenario("sum up", "remembers", (("memory_extractor", 1),), turns=9)
"""Nine turns are eighteen messages: past sixteen a summary is wanted."""

_AT_STAKE = ("database: commit", "model: POST /v1/messages, the answer")
"""Where a summary's writer dies: a talk of nine turns for each call would take minutes."""

_SECONDS = 300
"""As the template has it: with less than a minute left nobody begins to ask a model."""

_MOST_TRIES = 4

_SESSION = """
SELECT s.tenant_id, s.id FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.phone = %s
"""
_IS_DUE = "SELECT count(*) FROM work_due WHERE kind = %s AND id = %s"
_LATER = """
UPDATE work_due SET due_at = now() - interval '1 second', held_until = LEAST(held_until, now() - interval '1 second')
 WHERE kind = %s AND id = %s RETURNING id
"""
"""Time travel: as if the minutes had passed until it is due, or until whoever died holding it holds it no more."""

_EPISODES = "SELECT count(*) FROM episodes WHERE session_id = %s"
_READ_UNTIL = "SELECT max(until_turn) FROM extractions WHERE session_id = %s"
_SUMMARIES = "SELECT version, text FROM summaries WHERE session_id = %s ORDER BY version"
_TWICE = """
SELECT message_id, value FROM kept_verbatim WHERE session_id = %s GROUP BY message_id, kind, value HAVING count(*) > 1
"""


def killed_extractor(world: World) -> list[Row]:
    """Killed before and after every call while it looks through what was said."""
    return _killed(world, "remember", NOTED, "memory", lambda _: True)


def killed_summariser(world: World) -> list[Row]:
    """Killed around what a summary hangs on."""
    return _killed(world, "sum-up", SUMMED_UP, "summary", lambda call: call.startswith(_AT_STAKE))


def _killed(world: World, slug: str, scenario: Scenario, kind: str, is_tried: Any) -> list[Row]:
    desk = world.open_desk(slug)
    clean = Conversations(world, desk, recorded=True)
    _talk(clean, [clean.open(scenario)])
    rows = [_worked(clean, kind, one) for one in clean.all]
    if any(row.broken for row in rows):
        return rows
    doomed = [one for talk in clean.all for one in boundaries(scenario, talk.recorded) if is_tried(one.point.call)]
    killed = Conversations(world, desk)
    _talk(killed, [_open(killed, boundary) for boundary in doomed])
    with ThreadPoolExecutor(SLOTS) as working:
        return [*rows, *working.map(partial(_worked, killed, kind), killed.all)]


def _open(conversations: Conversations, boundary: Boundary) -> Conversation:
    return conversations.open(boundary.scenario, boundary)


def _talk(conversations: Conversations, people: list[Conversation]) -> None:
    """Everybody writes, and is answered, as often as there are turns."""
    for turn in range(people[0].scenario.turns):
        with ThreadPoolExecutor(SLOTS) as writing:
            list(writing.map(lambda one, turn=turn: conversations.write(one, f"m{turn}"), people))
        play(conversations, [])


def _worked(conversations: Conversations, kind: str, one: Conversation) -> Row:
    """The work of memory on one conversation, as often as it takes; what became of it."""
    world = conversations.world
    ((tenant_id, session_id),) = world.rows(_SESSION, one.number)
    order = _event({"tenant_id": str(tenant_id), "kind": kind, "id": str(session_id)})
    tries = 0
    while world.value(_IS_DUE, kind, session_id) and tries < _MOST_TRIES:
        tries += 1
        world.rows(_LATER, kind, session_id)
        conversations.invoke(one, "memory_extractor", order, _SECONDS)
    found = [*one.problems, *_promised(world, kind, one, session_id)]
    if world.value(_IS_DUE, kind, session_id):
        found.append(f"it is due still after {tries} tries")
    asked = world.model.asked(one.tag, aside=True)
    if asked > 1 + bool(one.boundary):
        found.append(f"the model was asked {asked} times")
    if one.deaths:
        found.append("its worker never came to its end")
    return _row(one, found, "asked for again" if asked > 1 else "")


def _promised(world: World, kind: str, one: Conversation, session_id: object) -> Iterator[str]:
    """What there is once: a fact and why it is there, an episode; or a summary and the lines beside it."""
    if kind == "memory":
        yield from remembered(world, one, ["about.crew", "name"])
        if (episodes := world.value(_EPISODES, session_id)) != 1:
            yield f"{episodes} episodes instead of one"
        if (until := world.value(_READ_UNTIL, session_id)) != one.scenario.turns:
            yield f"the turns are looked through until {until}"
        return
    summaries = world.rows(_SUMMARIES, session_id)
    if len(summaries) != 1:
        yield f"the summaries are {summaries}"
    if twice := world.rows(_TWICE, session_id):
        yield f"kept twice: {twice}"


def _row(one: Conversation, found: Sequence[str], note: str) -> Row:
    boundary, name = one.boundary, one.scenario.name
    outcome = ", ".join(filter(None, ["there once", note])) if not found else "BROKEN"
    if boundary is None:
        return Row(name, "clean run", outcome=outcome, broken=tuple(found))
    return Row(
        name, boundary.point.call, function="memory_extractor", number=boundary.number, after=boundary.point.after,
        outcome=outcome, broken=tuple(found), redeliveries=one.redelivered, seconds=round(one.seconds, 1),
    )  # fmt: skip


def _event(order: dict[str, str]) -> dict[str, Any]:
    """An order as its queue delivers it."""
    event: dict[str, Any] = json.loads((ROOT / "events" / "memory_extractor_order.json").read_text())
    event["Records"][0]["body"] = json.dumps(order)
    return event
