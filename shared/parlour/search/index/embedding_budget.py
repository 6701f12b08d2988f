"""Vectors within a tenant's daily cap: what a batch costs is set aside before the model is asked, and settled after."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from parlour.infra.errors import ProviderRejected
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, Transaction
from parlour.models import background_calls, prices, spend
from parlour.models.model import TokenUsage
from parlour.models.spend import Reservation
from parlour.principal import Principal
from parlour.search.index.embedders import Embedder, space_name
from parlour.search.index.embedding_spaces import PricedEmbedder
from parlour.search.index.store import RowText
from parlour.text import token_counter

EMBEDDING_PURPOSE = "embedding"
_PROBE_TEXT = "One plain sentence."


@dataclass(frozen=True, slots=True)
class EmbeddingBudget:
    """Whose money it is, and how long a reservation holds: as long as the worker may live."""

    database: Database
    principal: Principal
    default_cap: Decimal
    reservation_expires_at: datetime
    clock: Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class EmbeddedBatch:
    """The vectors of a batch by row, the rows whose text the model refuses, and what was paid.

    reserved_call  None where the price list does not know the model: nothing was reserved.
    """

    space: str
    vectors: Mapping[UUID, Sequence[float]]
    rejected_ids: Sequence[UUID]
    reserved_call: background_calls.BackgroundCall | None


def embed_within_cap(purse: EmbeddingBudget, embedder: PricedEmbedder, rows: Sequence[RowText]) -> EmbeddedBatch:
    """Embed the rows' texts, if the tenant may; call it while no transaction is open.

    Raises SpendRefused, and what the embedder raises unless it is one text's own fault.
    """
    call = _reserve(purse, embedder, [row.content for row in rows])
    begun = time.monotonic()
    vectors, refused = _embed_rows(embedder.embedder, rows)
    if call is not None:
        call = call.with_latency(round((time.monotonic() - begun) * 1000))
    return EmbeddedBatch(space_name(embedder.embedder), vectors, refused, call)


def settle_batch(tx: Transaction, purse: EmbeddingBudget, bought: EmbeddedBatch) -> None:
    """Note what the batch cost. Best done last in a transaction, since it holds the tenant's day until the commit."""
    if bought.reserved_call is not None:
        background_calls.record_call(tx, bought.reserved_call)
        spend.settle(
            tx,
            [bought.reserved_call.id],
            bought.reserved_call.cost_usd,
            default_cap=purse.default_cap,
            now=purse.clock(),
        )


def _reserve(
    purse: EmbeddingBudget, offer: PricedEmbedder, texts: Sequence[str]
) -> background_calls.BackgroundCall | None:
    """Reserve the cost of the texts' tokens, counted with the margin of an unknown model; not every provider reports
    them."""
    if not offer.provider or not texts:
        return None
    now, model = purse.clock(), offer.embedder.model
    amount_of = sum(token_counter.count_tokens(text) for text in texts)
    cost = prices.known_cost(offer.provider, model, TokenUsage(amount_of, 0), now)
    if cost is None:
        return None
    call = background_calls.BackgroundCall(
        uuid7(now), EMBEDDING_PURPOSE, offer.provider, model, amount_of, cost, 0, now
    )
    spend.reserve_in_transaction(
        purse.database,
        purse.principal,
        Reservation(
            id=call.id,
            amount=cost,
            purpose=EMBEDDING_PURPOSE,
            default_cap=purse.default_cap,
            expires_at=purse.reservation_expires_at,
        ),
        now=now,
    )
    return call


def _embed_rows(embedder: Embedder, rows: Sequence[RowText]) -> tuple[dict[UUID, Sequence[float]], list[UUID]]:
    """All at once; when the model refuses them while it takes a plain sentence, one by one."""
    if not rows:
        return {}, []
    try:
        return dict(zip([row.id for row in rows], embedder.embed([row.content for row in rows]), strict=True)), []
    except ProviderRejected:
        embedder.embed([_PROBE_TEXT])
        vectors: dict[UUID, Sequence[float]] = {}
        refused: list[UUID] = []
        for row in rows:
            try:
                vectors[row.id] = embedder.embed([row.content])[0]
            except ProviderRejected:
                refused.append(row.id)
        return vectors, refused
