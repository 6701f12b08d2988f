"""What a turn is reminded of: older messages that its question is about, once when it begins."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from uuid import UUID

from parlour.context.segment import Item, Lot, Source
from parlour.infra import log
from parlour.infra.errors import Misconfigured, ProviderRejected, ProviderUnavailable
from parlour.infra.postgres import Transaction
from parlour.knowledge.index.embed import Vector, embed_question
from parlour.knowledge.search.question import expand, unsaid
from parlour.knowledge.search.recall import Recalled, recalling
from parlour.knowledge.search.recalled import document, expected
from parlour.knowledge.search.sources import numbering
from parlour.memory.recalling import recall as memories
from parlour.turns.load import Loaded
from parlour.turns.pointing import points_back
from parlour.turns.prompts.prompting import Prompting
from parlour.turns.running import Running


def add_recalled(running: Running, loaded: Loaded) -> None:
    """Put what is recalled beside the turn's other material: older messages, and what came of the user's earlier
    conversations. No messages where nothing was cut and the question does not point elsewhere, and nothing for a turn
    that goes on: its prompts keep what it began with.

    The question is embedded while no transaction is open; when the embedder is away, words alone are searched.
    """
    prompting = loaded.prompting
    since, now = prompting.standing.lead.since, loaded.asked[-1] if loaded.asked else ""
    others = points_back(now)
    if prompting.recorded or not now.strip() or not (since or others or prompting.episodes):
        return
    with running.stages.timed("recall"):
        query = expand(now, unsaid(now.strip(), loaded.asked))
        vector = _vector(running, query)

        def look(tx: Transaction) -> Callable[[], None]:
            tx.commit_lazily()  # numbers mean nothing without the prompt that tells of them and is committed after them
            if not (since or others):
                return prompting.recalling(lambda: _episodes(running, loaded, tx, query, vector))
            with recalling(
                loaded.principal, tx, running.lease.id, query=query, vector=vector, since=since, others=others
            ) as found:
                told = _Telling(running, prompting, tx, found, lambda: _episodes(running, loaded, tx, query, vector))
                return told.hold()

        running.services.database.run(loaded.principal, look)()


@dataclass(slots=True)
class _Telling:
    """What is found, as the turn's prompts tell it: under the numbers that are expected while these are given, and once
    more where they turn out to be others."""

    running: Running
    prompting: Prompting
    tx: Transaction
    found: Callable[[], list[Recalled]]
    episodes: Callable[[], list[Item]]
    rows: list[Recalled] = field(default_factory=list)
    beside: list[Item] = field(default_factory=list)
    given: Callable[[], dict[UUID, int]] = dict

    def hold(self) -> Callable[[], None]:
        """How to have it in the prompts."""
        with ExitStack() as sent:
            hold = self.prompting.recalling(lambda: self._expected(sent))
            numbers = self.given()
        return hold if numbers == expected(self.rows) else self.prompting.recalling(lambda: self._told(numbers))

    def _expected(self, sent: ExitStack) -> list[Item]:
        self.rows, self.beside = self.found(), self.episodes()
        lease = self.running.lease
        self.given = sent.enter_context(numbering(self.tx, lease.id, self.rows, lease.token))
        return self._told(expected(self.rows))

    def _told(self, numbers: Mapping[UUID, int]) -> list[Item]:
        return [*items([(numbers[row.row_id], row) for row in self.rows]), *self.beside]


def _episodes(running: Running, loaded: Loaded, tx: Transaction, query: str, vector: Vector | None) -> list[Item]:
    """What came of earlier conversations, where there are any."""
    prompting = loaded.prompting
    if not prompting.episodes:
        return []
    return memories.episodes(
        loaded.principal, tx, running.lease.id, query=query, vector=vector, since=prompting.standing.lead.since,
        most=prompting.episodes, now=running.turn.frozen_at,
    )  # fmt: skip


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


def _vector(running: Running, query: str) -> Vector | None:
    services, tenant_id = running.services, running.feed.principal.tenant_id
    try:
        return embed_question(services.embedder(services.database, tenant_id), query)
    except (ProviderUnavailable, ProviderRejected, Misconfigured) as problem:
        log.warning("recall_by_words", turn_id=running.turn.id, code=problem.code)
        log.count("EmbeddingUnavailable")
        return None
