"""The part of the working day in which rows get their vectors, and the tenant moves to another model and back."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra.errors import ProviderRejected
from parlour.infra.ids import uuid7
from parlour.jobs import work_due
from parlour.records import backfill
from parlour.search.index import embedding_job, reembedding, scheduling
from parlour.search.index.context_rows import RowDraft
from parlour.search.index.embedding_job import EmbeddingDependencies
from parlour.search.index.embedding_spaces import EmbeddingSpaces, PricedEmbedder
from parlour.search.index.store import RowOwner, add_rows
from tests.conversation_harness import ConversationHarness, WordEmbedder


class Titan:
    """A model with a price that does not take every text."""

    model = "amazon.titan-embed-text-v2:0"
    dimensions = 64

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        if any("odd" in text for text in texts):
            raise ProviderRejected("too odd a text")
        return WordEmbedder().embed(texts)


def embed_and_reembed(desk: ConversationHarness) -> None:
    """What was said and written today gets its vectors; the tenant moves to a model that costs something, and back;
    in the end something is left to do."""
    spaces = EmbeddingSpaces([PricedEmbedder(WordEmbedder()), PricedEmbedder(Titan(), "bedrock")])
    services = EmbeddingDependencies(
        desk.database, spaces, desk.embedding, backfill.run_backfill, Decimal(20), desk.clock, uuid7
    )
    _write(desk, "The crack at C4 is wider.", "An odd one.")
    ((type_id,),) = desk.query("SELECT id FROM entity_types WHERE key = 'finding'")
    assert isinstance(type_id, UUID)
    with desk.database.transaction(desk.tenant_id) as tx:
        assert scheduling.oldest_pending_since(tx) is not None
        backfill.schedule_backfill(tx, type_id, desk.clock())
    _run(services, desk)
    _move(services, desk, "amazon.titan-embed-text-v2:0")
    _write(desk, "It is odd.")
    _run(services, desk, seconds=10.0)
    _run(services, desk)
    _move(services, desk, "words")
    _write(desk, "Nobody has looked at this one yet.")
    desk.query("UPDATE messages SET indexed = false WHERE id = (SELECT min(id::text)::uuid FROM messages) RETURNING id")
    until = desk.clock() + timedelta(minutes=1)
    with desk.database.transaction(desk.tenant_id) as tx:
        assert work_due.lease(tx, "embedding", desk.tenant_id, until, desk.clock())
        assert work_due.find_lease_end(tx, "embedding", desk.tenant_id) == until


def _move(services: EmbeddingDependencies, desk: ConversationHarness, model: str) -> None:
    with desk.database.transaction(desk.admin) as tx:
        reembedding.start_reembedding(desk.admin, tx, services.spaces, model, desk.clock(), uuid7)
    _run(services, desk)
    desk.clock.now += reembedding.OLD_VECTORS_KEPT
    _run(services, desk)


def _run(services: EmbeddingDependencies, desk: ConversationHarness, seconds: float = 300.0) -> None:
    embedding_job.embed_tenant(services, desk.tenant_id, lambda: seconds)


def _write(desk: ConversationHarness, *texts: str) -> None:
    now = desk.clock()
    drafts = [RowDraft("delta", 0, "Delta", text, 0, {}) for text in texts]
    with desk.database.transaction(desk.tenant_id) as tx:
        add_rows(tx, [(uuid7(now), RowOwner(None, None), draft) for draft in drafts], now, is_pending=True)
        scheduling.schedule_embedding(tx, desk.tenant_id, now)
