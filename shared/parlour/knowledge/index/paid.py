"""Vectors within a tenant's daily cap: what a batch costs is set aside before the model is asked, and settled after."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from parlour.context import tokens
from parlour.infra.errors import ProviderRejected
from parlour.infra.ids import NewId
from parlour.infra.postgres import Database, Transaction
from parlour.knowledge.index.embed import Embedder, space
from parlour.knowledge.index.spaces import Offer
from parlour.knowledge.index.store import Text
from parlour.models import background, prices, spend
from parlour.models.request import Usage
from parlour.principal import Principal

PURPOSE = "embedding"
_PROBE = "One plain sentence."


@dataclass(frozen=True, slots=True)
class Purse:
    """Whose money it is, and how long a reservation holds: as long as the worker may live."""

    database: Database
    principal: Principal
    default_cap: Decimal
    until: datetime
    clock: Callable[[], datetime]
    new_id: NewId


@dataclass(frozen=True, slots=True)
class Bought:
    """The vectors of a batch by row, the rows whose text the model refuses, and what was paid.

    call  None where the price list does not know the model: nothing was set aside and nothing is reckoned.
    """

    space: str
    vectors: Mapping[UUID, Sequence[float]]
    refused: Sequence[UUID]
    call: background.Call | None


def embed(purse: Purse, offer: Offer, rows: Sequence[Text]) -> Bought:
    """Embed the rows' texts, if the tenant may; call it while no transaction is open.

    Raises SpendRefused, and what the embedder raises unless it is one text's own fault.
    """
    call = _reserve(purse, offer, [row.content for row in rows])
    begun = time.monotonic()
    vectors, refused = _vectors(offer.embedder, rows)
    if call is not None:
        call = call.took(round((time.monotonic() - begun) * 1000))
    return Bought(space(offer.embedder), vectors, refused, call)


def settle(tx: Transaction, purse: Purse, bought: Bought) -> None:
    """Note what the batch cost. Best done last in a transaction, since it holds the tenant's day until the commit."""
    if bought.call is not None:
        background.note(tx, bought.call)
        spend.settle(
            tx, [bought.call.id], bought.call.cost_usd, default_cap=purse.default_cap, now=purse.clock()
        )  # fmt: skip


def _reserve(purse: Purse, offer: Offer, texts: Sequence[str]) -> background.Call | None:
    """The tokens are counted here, with the margin for an unlearned model: not every provider tells them."""
    if not offer.provider or not texts:
        return None
    now, model = purse.clock(), offer.embedder.model
    amount_of = sum(tokens.count(text) for text in texts)
    cost = prices.cost(offer.provider, model, Usage(amount_of, 0), now)
    if cost is None:
        return None
    call = background.Call(purse.new_id(now), PURPOSE, offer.provider, model, amount_of, cost, 0, now)
    spend.take(
        purse.database, purse.principal, reservation_id=call.id, amount=cost, purpose=PURPOSE,
        default_cap=purse.default_cap, expires_at=purse.until, now=now,
    )  # fmt: skip
    return call


def _vectors(embedder: Embedder, rows: Sequence[Text]) -> tuple[dict[UUID, Sequence[float]], list[UUID]]:
    """All at once; when the model refuses them while it takes a plain sentence, one by one."""
    if not rows:
        return {}, []
    try:
        return dict(zip([row.id for row in rows], embedder.embed([row.content for row in rows]), strict=True)), []
    except ProviderRejected:
        embedder.embed([_PROBE])
        return _one_by_one(embedder, rows)


def _one_by_one(embedder: Embedder, rows: Sequence[Text]) -> tuple[dict[UUID, Sequence[float]], list[UUID]]:
    vectors: dict[UUID, Sequence[float]] = {}
    refused: list[UUID] = []
    for row in rows:
        try:
            vectors[row.id] = embedder.embed([row.content])[0]
        except ProviderRejected:
            refused.append(row.id)
    return vectors, refused
