"""Conversations about a record, of any length: what `bench.context` measures turns of.

What was said long ago is written in batches by the rooms' own functions, with rows and vectors as the embedder gives
them; the last turns are real ones with a scripted model, so that briefing, cut and recap are the product's.
"""

import functools
import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import batched
from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.infra.queries import Query
from parlour.principal import Principal
from parlour.search.index import store
from parlour.search.index.message_rows import UnindexedMessage, message_row
from tests.conversation_harness import ConversationHarness, text_answer

LIVE = 4
"""Turns at the end of each conversation that are real ones."""

_HANDLE = "NRS"
_BATCH = 500
_DIMENSIONS = 512

_WHO = ("the crane crew", "Marta", "the survey team", "the concrete supplier", "the night shift", "our inspector")
_DID = ("measured", "delivered", "postponed", "finished", "found a crack at", "asked about", "repaired", "photographed")
_WHAT = (
    "pier",
    "pump",
    "footing",
    "scaffold",
    "gate",
    "drain",
    "beam",
    "slab",
    "anchor",
    "cable",
    "formwork",
    "bearing",
)
_MORE = (
    "and it took the whole morning because of the rain",
    "so the pour has to wait for another day",
    "and wants to know who pays for the second delivery",
    "as agreed with the client in the last meeting",
    "but nobody signed the delivery note yet",
    "and the photographs are in the usual folder",
)


def sentence(number: int) -> str:
    """What may be said on a building site; the same number always says the same."""
    chance = random.Random(number)
    what = f"{chance.choice(_WHAT)} {chance.choice('ABCDEFGH')}{chance.randint(1, 400)}"
    return f"{chance.choice(_WHO).capitalize()} {chance.choice(_DID)} {what} {chance.choice(_MORE)}."


@functools.cache
def _direction(word: str) -> tuple[float, ...]:
    chance = random.Random(word)
    return tuple(chance.gauss(0, 1) for _ in range(_DIMENSIONS))


@dataclass
class Directions:
    """An embedder for which every word is a direction of its own; `took`: seconds that it was waited for."""

    model: str = "directions"
    dimensions: int = _DIMENSIONS
    took: float = 0.0

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        begun = time.perf_counter()
        found = [self._vector(text) for text in texts]
        self.took += time.perf_counter() - begun
        return found

    def _vector(self, text: str) -> list[float]:
        sums = [math.fsum(parts) for parts in zip(*map(_direction, text.lower().split()), strict=True)]
        length = math.hypot(*sums) or 1.0
        return [one / length for one in sums]


@dataclass
class Talk:
    """A conversation of `messages` messages, and what its next turn is to find again each time.

    kept  what its next prompt stands on, as it was after its last turn.
    """

    visitor: Principal
    session_id: UUID
    messages: int
    kept: list[tuple[object, ...]] = field(default_factory=list)


def talk(desk: ConversationHarness, embedder: Directions, messages: int) -> Talk:
    """A conversation about the example's project that has come to so many messages."""
    visitor = desk.create_visitor()
    made = Talk(visitor, desk.find_session(visitor), messages)
    about = f"(SELECT id FROM entities WHERE key = '{_HANDLE}')"
    desk.query(f"UPDATE sessions SET entity_id = {about} WHERE id = '{made.session_id}' RETURNING id")
    _long_ago(desk, embedder, made, messages - 2 * LIVE)
    for number in range(LIVE):
        desk.send_web(visitor, made.session_id, f"{sentence(-number - 1)} What is next?")
        desk.model.script = [text_answer(sentence(-number - 100))]
        desk.run_turn()
    return made


def _long_ago(desk: ConversationHarness, embedder: Directions, made: Talk, messages: int) -> None:
    """Turns of two messages, a minute apart, with the rows and vectors of what was said."""
    began = desk.clock() - timedelta(minutes=messages)
    for numbers in batched(range(messages), _BATCH, strict=False):
        said = [_said(made, number, began + timedelta(minutes=number)) for number in numbers]
        rows = [(uuid7(one.sent_at), one, draft) for one in said if (draft := message_row(one))]
        vectors = embedder.embed([draft.content for _, _, draft in rows])
        with desk.database.transaction(desk.tenant_id) as tx:
            turns = [(uuid7(one.sent_at), one) for one in said[::2]]
            tx.run_many(
                _TURN,
                [
                    {
                        "id": turn,
                        "session_id": made.session_id,
                        "number": 1 + (numbers[0] // 2) + place,
                        "now": one.sent_at,
                    }
                    for place, (turn, one) in enumerate(turns)
                ],
            )
            tx.run_many(_MESSAGE, [_message(made, turns, place, one) for place, one in enumerate(said)])
            store.add_message_rows(tx, rows)
            store.store_vectors(
                tx,
                f"{embedder.model}@{embedder.dimensions}",
                {row_id: vector for (row_id, _, _), vector in zip(rows, vectors, strict=True)},
            )


def _said(made: Talk, number: int, at: datetime) -> UnindexedMessage:
    speaker = "Asha" if number % 2 else "User"
    return UnindexedMessage(
        uuid7(at), made.session_id, "Site desk", speaker, sentence(number), at, 0, is_searchable=True
    )


def _message(
    made: Talk, turns: Sequence[tuple[UUID, UnindexedMessage]], place: int, one: UnindexedMessage
) -> dict[str, object]:
    outbound = bool(place % 2)
    return {
        "id": one.id,
        "session_id": made.session_id,
        "turn_id": turns[place // 2][0],
        "body": one.body,
        "direction": "outbound" if outbound else "inbound",
        "state": "reply" if outbound else "answered",
        "at": one.sent_at,
    }


_TURN = Query(
    "bench.turn",
    "A turn that is over.",
    """
INSERT INTO turns (tenant_id, id, session_id, binding_id, number, state, attempt_count, frozen_at, finished_at, config)
SELECT current_tenant(), %(id)s, s.id, s.binding_id, %(number)s, 'answered', 1, %(now)s, %(now)s, '{}'
  FROM sessions s WHERE s.id = %(session_id)s
""",
)
_MESSAGE = Query(
    "bench.message",
    "A message of such a turn.",
    """
INSERT INTO messages (tenant_id, id, session_id, binding_id, turn_id, direction, state, channel, kind, body, sent_at,
                      received_at, indexed)
SELECT current_tenant(), %(id)s, s.id, s.binding_id, %(turn_id)s, %(direction)s, %(state)s, 'web', 'text', %(body)s,
       %(at)s, %(at)s, true
  FROM sessions s WHERE s.id = %(session_id)s
""",
)
