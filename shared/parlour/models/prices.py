"""What a call costs, in US dollars, by the price list that ships with genai-prices; nothing is fetched at run time."""

import functools
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from parlour.infra import log
from parlour.models.request import Usage
from parlour.models.route import OFFLINE

if TYPE_CHECKING:
    import genai_prices

_LISTED_AS = {"bedrock": "aws", "gemini": "google"}
"""Where the price list calls a provider by another name than routing does."""


def preload() -> None:
    """Import the price list; it takes a quarter of a second."""
    import genai_prices.data  # noqa: F401, PLC0415


def cost(provider: str, model: str, usage: Usage, at: datetime) -> Decimal | None:
    """The price of one call at the prices that held `at` (an aware time), cache reads and writes included.

    None when the price list does not know the model: that is logged once, and nobody is told it was free.
    """
    if provider == OFFLINE:
        return Decimal(0)
    from genai_prices import calc_price  # noqa: PLC0415 - heavy, and only the turn needs it

    try:
        found = calc_price(
            _listed(usage), model, provider_id=_LISTED_AS.get(provider, provider), genai_request_timestamp=at
        )
    except LookupError:
        _unknown(provider, model)
        return None
    return found.total_price


def _listed(usage: Usage) -> "genai_prices.Usage":
    """The price list counts cached tokens among the input tokens; Parlour does not."""
    from genai_prices import Usage as Listed  # noqa: PLC0415

    return Listed(
        input_tokens=usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
    )


@functools.cache
def _unknown(provider: str, model: str) -> None:
    log.warning("model_price_unknown", provider=provider, model=model)
