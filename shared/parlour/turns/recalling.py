"""Recall of older messages and episodes for a turn's question, once when the turn begins."""

from collections.abc import Sequence
from dataclasses import dataclass

from parlour.context.segment import Item, Lot, Source
from parlour.infra import log
from parlour.infra.errors import Misconfigured, ProviderRejected, ProviderUnavailable
from parlour.infra.postgres import Transaction
from parlour.knowledge.index.embed import Vector, embed_question
from parlour.knowledge.search.question import expand, unsaid
from parlour.knowledge.search.recall import recall
from parlour.knowledge.search.recalled import document
from parlour.knowledge.search.sources import number_rows
from parlour.memory.recalling import recall as memories
from parlour.principal import Principal
from parlour.turns.load import Loaded
from parlour.turns.pointing import points_back
from parlour.turns.running import Running


@dataclass(frozen=True, slots=True)
class Question:
    """The question that recall is asked in a turn.

    query   the user's words, with the message before them where they lean on it.
    since   the number of the first turn that is told word for word; 0 where nothing was cut.
    others  whether the user's other conversations are searched, too.
    """

    reader: Principal
    query: str
    since: int
    others: bool

    @property
    def has_messages(self) -> bool:
        """Whether there are messages to search: some that were cut, or some in other conversations."""
        return self.since > 0 or self.others


def add_recalled(running: Running, loaded: Loaded) -> None:
    """Add older messages and the episodes of earlier conversations to the turn's material.

    Messages are recalled only where the history was cut or the question points to another conversation. A resumed turn
    keeps what its recorded prompts recalled. The question is embedded while no transaction is open.
    Raises LeaseLost when another worker has taken the session since.
    """
    prompting = loaded.prompting
    question = _question(loaded.principal, prompting.standing.lead.since, loaded.asked)
    if prompting.recorded or question is None or not (question.has_messages or prompting.episodes):
        return
    with running.stages.timed("recall"):
        vector = _vector_of(running, question.query)
        items: list[Item] = running.services.database.run(
            question.reader,
            lambda tx: [
                *_messages(tx, running, question, vector),
                *_episodes(tx, running, question, vector, prompting.episodes),
            ],
        )
    prompting.recall(items)


def _question(reader: Principal, since: int, asked: Sequence[str]) -> Question | None:
    """Return the turn's question, None when nothing was asked. `asked`: the user's last messages, two at most, oldest
    first."""
    now = asked[-1] if asked else ""
    if not now.strip():
        return None
    return Question(reader, expand(now, unsaid(now.strip(), asked)), since, points_back(now))


def _vector_of(running: Running, query: str) -> Vector | None:
    """Return the question's vector; None when the embedder is away, and the search is by words alone."""
    services, tenant_id = running.services, running.feed.principal.tenant_id
    try:
        return embed_question(services.embedder(services.database, tenant_id), query)
    except (ProviderUnavailable, ProviderRejected, Misconfigured) as problem:
        log.warning("recall_by_words", turn_id=running.turn.id, code=problem.code)
        log.count("EmbeddingUnavailable")
        return None


def _messages(tx: Transaction, running: Running, question: Question, vector: Vector | None) -> list[Item]:
    """Return the recalled messages as candidates for the prompt, under the numbers by which a reply cites them."""
    if not question.has_messages:
        return []
    lease = running.lease
    rows = recall(
        question.reader, tx, lease.id, query=question.query, vector=vector, since=question.since, others=question.others
    )
    numbers = number_rows(tx, lease.id, rows, lease.token)
    return [
        Item(
            Lot.OTHER_SESSIONS if row.elsewhere else Lot.RECALL,
            document(numbers[row.row_id], row),
            Source("messages", str(row.message_id)) if row.message_id else Source("context_rows", str(row.row_id)),
            score=row.score,
            level=row.classification,
            title=row.title,
        )
        for row in rows
        if row.row_id in numbers  # one that was erased meanwhile has no number
    ]


def _episodes(tx: Transaction, running: Running, question: Question, vector: Vector | None, most: int) -> list[Item]:
    if not most:
        return []
    return memories.episodes(
        question.reader,
        tx,
        running.lease.id,
        query=question.query,
        vector=vector,
        since=question.since,
        most=most,
        now=running.turn.frozen_at,
    )
