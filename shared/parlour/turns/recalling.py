"""What a turn is reminded of: older messages that its question is about, once when it begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from parlour.context.segment import Item, Lot, Source
from parlour.infra.errors import RetryError
from parlour.infra.postgres import Transaction
from parlour.knowledge.index.embed import Vector
from parlour.knowledge.search.recall import Recalled, recall
from parlour.knowledge.search.recalled import document, expected
from parlour.knowledge.search.sources import take_numbers
from parlour.memory.recalling import recall as memories
from parlour.turns.foreseeing import Foreseen, Question, question, vector_of
from parlour.turns.load import Loaded
from parlour.turns.records import Lease
from parlour.turns.running import Running


def add_recalled(running: Running, loaded: Loaded, foreseen: Foreseen | None = None) -> None:
    """Put what is recalled beside the turn's other material: older messages, and what came of the user's earlier
    conversations. No messages where nothing was cut and the question does not point elsewhere, and nothing for a turn
    that goes on: its prompts keep what it began with. What was foreseen is not looked for again; until the database
    has found it, the turn's prompt is begun without.
    """
    prompting = loaded.prompting
    asked = question(loaded.principal, prompting.standing.lead.since, loaded.asked)
    if prompting.recorded or asked is None or not (asked.looks or prompting.episodes):
        return
    if foreseen:
        with running.stages.timed("assemble"):
            prompting.begin_until_recall()
    with running.stages.timed("recall"):
        rows = foreseen.found(asked) if foreseen else None
        is_embedded = foreseen is not None and foreseen.question.query == asked.query
        vector = foreseen.vector if foreseen and is_embedded else vector_of(running, asked.query)
        looking = _Looking(running, loaded, asked, vector, rows)
        found, beside = (rows or [], []) if looking.is_done else looking.done()
    numbers = expected(found)
    told = [*items([(numbers[row.row_id], row) for row in found]), *beside]
    prompting.recall(told, partial(_number, running.lease, found, numbers))


@dataclass(frozen=True, slots=True)
class _Looking:
    """What is looked for once the turn's material is there; `rows` are found already, None where they are not."""

    running: Running
    loaded: Loaded
    asked: Question
    vector: Vector | None
    rows: list[Recalled] | None

    @property
    def is_done(self) -> bool:
        return self.rows is not None and not self.loaded.prompting.episodes

    def done(self) -> tuple[list[Recalled], list[Item]]:
        """Messages, and what came of earlier conversations."""
        return self.running.services.database.run(self.asked.reader, lambda tx: (self._messages(tx), self._beside(tx)))

    def _messages(self, tx: Transaction) -> list[Recalled]:
        if self.rows is not None or not self.asked.looks:
            return self.rows or []
        asked = self.asked
        return recall(
            asked.reader, tx, self.running.lease.id, query=asked.query, vector=self.vector, since=asked.since,
            others=asked.others,
        )  # fmt: skip

    def _beside(self, tx: Transaction) -> list[Item]:
        asked, most = self.asked, self.loaded.prompting.episodes
        if not most:
            return []
        return memories.episodes(
            asked.reader, tx, self.running.lease.id, query=asked.query, vector=self.vector, since=asked.since,
            most=most, now=self.running.turn.frozen_at,
        )  # fmt: skip


def _number(lease: Lease, rows: Sequence[Recalled], numbers: Mapping[UUID, int], tx: Transaction) -> None:
    """Give the rows the numbers that the prompt tells of them by. RetryError when they would be others: somebody who
    lost the session meanwhile has taken some, or a row was forgotten."""
    if not take_numbers(tx, lease.id, rows, numbers):
        raise RetryError("what was recalled is gone or numbered otherwise by now; the turn is begun again", after=1)


def items(numbered: Sequence[tuple[int, Recalled]]) -> list[Item]:
    """Candidates for a prompt, under the numbers by which a reply cites them."""
    return [
        Item(
            Lot.OTHER_SESSIONS if row.elsewhere else Lot.RECALL, document(number, row),
            Source("messages", str(row.message_id)) if row.message_id else Source("context_rows", str(row.row_id)),
            score=row.score, level=row.classification, title=row.title,
        )
        for number, row in numbered
    ]  # fmt: skip
