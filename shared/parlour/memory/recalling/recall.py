"""What a turn is told of what is remembered, and what became of that once it had answered.

Whose memory it is the session says: its user with its binding, the binding's team and persona. No argument names them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.context.segment import Item
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.index.embed import Vector
from parlour.memory.policy import Policy
from parlour.memory.recalling import store, told
from parlour.memory.recalling.told import Fact
from parlour.memory.recalling.used import Told
from parlour.memory.state import render, shape
from parlour.memory.state.shape import State
from parlour.principal import Principal


@dataclass(frozen=True, slots=True)
class Remembered:
    """Candidates for a turn's prompts: facts and the agent's notes. `episodes`: how many may be told, 0 where there are
    none; which of them are to the point is asked once the question has its vector."""

    items: tuple[Item, ...] = ()
    episodes: int = 0


def remembered(
    tx: Transaction, session_id: UUID, asked: Sequence[str], policy: Policy, now: datetime
) -> Remembered:  # fmt: skip
    """What the session's next turn may be told of at once, in one statement; `asked`: what the user wrote last, oldest
    first. In a session that others may read, nothing that its user said in confidence."""
    found = store.remembered(tx, session_id, "\n".join(asked), policy.facts, now)
    if found is None:
        return Remembered()
    facts = told.fact_items([_fact(one) for one in found.facts or []])
    notes = render.lines(_seen(found), session_id, found.version or 0)
    return Remembered((*facts, *notes), policy.episodes if found.has_episodes else 0)


def notes(tx: Transaction, session_id: UUID, now: datetime) -> JsonObject:
    """The agent's notes as its summariser may be told of them: what the session's user may see by now, and without
    what the notes rest on. {} where there are none."""
    found = store.remembered(tx, session_id, "", 0, now)
    return shape.to_json(shape.bare(_seen(found))) if found else {}


def episodes(
    principal: Principal, tx: Transaction, session_id: UUID, *, query: str, vector: Vector | None, since: int,
    most: int, now: datetime,
) -> list[Item]:  # fmt: skip
    """The `most` episodes that are nearest to a question, as far as the principal is cleared for them. `vector` is the
    question's, in the tenant's space; without one words alone count. `since`: the session's first turn that is told
    word for word, 0 for all."""
    found = store.episodes(
        tx, session_id, query, vector, clearance=principal.clearance, since=since, most=most, now=now
    )
    return told.episode_items(found)


def note_recalled(tx: Transaction, turn_id: UUID, found: Sequence[Told], now: datetime) -> None:
    """Write down what a turn's prompts were told and whether its reply used it, with the reply."""
    if found:
        store.note_recalled(tx, turn_id, found, now)


def _seen(found: store.Remembered) -> State:
    """The notes as their reader may be told of them now."""
    if not found.state:
        return shape.EMPTY
    state, gone = shape.from_json(found.state), set(found.closed or ())
    return shape.of_records(shape.without(state, gone) if gone else state, set(found.seen or ()))


def _fact(row: JsonObject) -> Fact:
    return Fact(
        UUID(str(row["id"])), str(row["scope"]), str(row["key"]), str(row["value"]), float(str(row["confidence"])),
        float(str(row["relevance"])),
    )  # fmt: skip
