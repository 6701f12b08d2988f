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


def embed_and_reembed(conversation: ConversationHarness) -> None:
    """What was said and written today gets its vectors; the tenant moves to a model that costs something, and back;
    in the end something is left to do."""
    spaces = EmbeddingSpaces([PricedEmbedder(WordEmbedder()), PricedEmbedder(Titan(), "bedrock")])
    services = EmbeddingDependencies(
        conversation.database,
        spaces,
        conversation.embedding,
        backfill.run_backfill,
        Decimal(20),
        conversation.clock,
    )
    _write(conversation, "The crack at C4 is wider.", "An odd one.")
    ((type_id,),) = conversation.query("SELECT id FROM entity_types WHERE key = 'finding'")
    assert isinstance(type_id, UUID)
    with conversation.database.transaction(conversation.tenant_id) as tx:
        assert scheduling.oldest_pending_since(tx) is not None
        backfill.schedule_backfill(tx, type_id, conversation.clock())
    _run(services, conversation)
    _move(services, conversation, "amazon.titan-embed-text-v2:0")
    _write(conversation, "It is odd.")
    _run(services, conversation, seconds=10.0)
    _run(services, conversation)
    _move(services, conversation, "words")
    _write(conversation, "Nobody has looked at this one yet.")
    conversation.query(
        "UPDATE messages SET indexed = false WHERE id = (SELECT min(id::text)::uuid FROM messages) RETURNING id"
    )
    until = conversation.clock() + timedelta(minutes=1)
    with conversation.database.transaction(conversation.tenant_id) as tx:
        assert work_due.lease(tx, "embedding", conversation.tenant_id, until, conversation.clock())
        assert work_due.find_lease_end(tx, "embedding", conversation.tenant_id) == until


def _move(services: EmbeddingDependencies, conversation: ConversationHarness, model: str) -> None:
    with conversation.database.transaction(conversation.admin) as tx:
        reembedding.start_reembedding(conversation.admin, tx, services.spaces, model, conversation.clock())
    _run(services, conversation)
    conversation.clock.now += reembedding.OLD_VECTORS_KEPT
    _run(services, conversation)


def _run(services: EmbeddingDependencies, conversation: ConversationHarness, seconds: float = 300.0) -> None:
    embedding_job.embed_tenant(services, conversation.tenant_id, lambda: seconds)


def _write(conversation: ConversationHarness, *texts: str) -> None:
    now = conversation.clock()
    drafts = [RowDraft("delta", 0, "Delta", text, 0, {}) for text in texts]
    with conversation.database.transaction(conversation.tenant_id) as tx:
        add_rows(tx, [(uuid7(now), RowOwner(None, None), draft) for draft in drafts], now, is_pending=True)
        scheduling.schedule_embedding(tx, conversation.tenant_id, now)
