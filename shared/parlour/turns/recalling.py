"""What a turn is reminded of: older messages that its question is about, once when it begins."""

from collections.abc import Callable, Sequence

from parlour.context.segment import Item, Lot, Source
from parlour.infra import log
from parlour.infra.errors import Misconfigured, ProviderRejected, ProviderUnavailable
from parlour.infra.postgres import Transaction
from parlour.knowledge.index.embed import Vector, embed_question
from parlour.knowledge.search.question import expand, unsaid
from parlour.knowledge.search.recall import Recalled, recalling
from parlour.knowledge.search.recalled import document
from parlour.knowledge.search.sources import number_rows
from parlour.memory.recalling import recall as memories
from parlour.turns.load import Loaded
from parlour.turns.pointing import points_back
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

                def numbered() -> list[Item]:
                    rows = found()
                    numbers = number_rows(tx, running.lease.id, rows, running.lease.token)
                    messages = items([(numbers[row.row_id], row) for row in rows])
                    return [*messages, *_episodes(running, loaded, tx, query, vector)]

                return prompting.recalling(numbered)

        running.services.database.run(loaded.principal, look)()


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
