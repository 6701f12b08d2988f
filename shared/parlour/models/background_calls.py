"""Calls to models that no turn waits for: noted as turns' calls are, so that the report of costs has them too."""

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.models import store


@dataclass(frozen=True, slots=True)
class BackgroundCall:
    """One call that was answered.

    purpose       what it was for, as the report of costs calls it.
    input_tokens  as the provider counts them, or as near as is known.
    cost_usd      by the price list; latency_ms: from asking to the whole answer.
    """

    id: UUID
    purpose: str
    provider: str
    model: str
    input_tokens: int
    cost_usd: Decimal
    latency_ms: int
    at: datetime
    output_tokens: int = 0

    def with_latency(self, milliseconds: int) -> "BackgroundCall":
        """Return the call with its duration."""
        return replace(self, latency_ms=milliseconds)


def record_call(tx: Transaction, call: BackgroundCall) -> None:
    """Keep the call, once."""
    store.add_background_call(
        tx,
        id=call.id,
        purpose=call.purpose,
        provider=call.provider,
        model=call.model,
        input_tokens=call.input_tokens,
        output_tokens=call.output_tokens,
        cost_usd=call.cost_usd,
        latency_ms=call.latency_ms,
        at=call.at,
    )
