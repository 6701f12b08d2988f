"""What a call costs, in US dollars, by the price list that ships with genai-prices; nothing is fetched at run time.

Where an amount is needed and the list does not know the model, the model counts as dear: at the highest price of any
model of its provider, or of any provider that Parlour speaks to when the list does not know the provider either.
"""

import functools
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING

from parlour.infra import log
from parlour.models.model import TokenUsage
from parlour.models.model_routing import DEMO_PROVIDER, OFFLINE_PROVIDER

if TYPE_CHECKING:
    import genai_prices

_PRICE_LIST_NAMES = {"bedrock": "aws", "gemini": "google", DEMO_PROVIDER: "anthropic"}
"""Where the price list calls a provider by another name than routing does."""

_SUPPORTED_PROVIDERS = ("anthropic", "aws", "google")
"""Whose dearest model stands for a provider that the price list does not know."""

_TOKENS_PER_PRICE = 1_000_000


def preload() -> None:
    """Import the price list; it takes a quarter of a second."""
    import genai_prices.data  # noqa: F401, PLC0415


def worst_case_cost(provider: str, model: str, input_tokens: int, max_tokens: int, at: datetime) -> Decimal:
    """Return the most that one call can cost: all input at the highest rate that can apply, and the longest answer.

    The highest rate is that of writing to the prompt cache, where there is one. A model of unknown price gets the
    highest price.
    """
    written = TokenUsage(0, max_tokens, cache_write_tokens=input_tokens)
    return max(charged_cost(provider, model, usage, at) for usage in (written, TokenUsage(input_tokens, max_tokens)))


def charged_cost(provider: str, model: str, usage: TokenUsage, at: datetime) -> Decimal:
    """Return what a call counts against the cap: its cost, or the highest price for a model of unknown price."""
    known = known_cost(provider, model, usage, at)
    if known is not None:
        return known
    each_input, each_output = _highest_prices(_PRICE_LIST_NAMES.get(provider, provider), at.astimezone(UTC).date())
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return each_input * read + each_output * usage.output_tokens


def known_cost(provider: str, model: str, usage: TokenUsage, at: datetime) -> Decimal | None:
    """Return the price of one call at the prices of `at` (an aware time), cache reads and writes included.

    None when the price list does not know the model: that is logged once, and the call is not shown as free.
    """
    if provider == OFFLINE_PROVIDER:
        return Decimal(0)
    from genai_prices import calc_price  # noqa: PLC0415 - heavy, and only the turn needs it

    try:
        found = calc_price(
            _to_price_list_usage(usage),
            model,
            provider_id=_PRICE_LIST_NAMES.get(provider, provider),
            genai_request_timestamp=at,
        )
    except LookupError:
        _warn_unknown_price(provider, model)
        return None
    return found.total_price


def _to_price_list_usage(usage: TokenUsage) -> "genai_prices.Usage":
    """Convert the usage: the price list counts cached tokens among the input tokens, Parlour does not."""
    from genai_prices import Usage as Listed  # noqa: PLC0415

    return Listed(
        input_tokens=usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
    )


@functools.lru_cache(maxsize=32)
def _highest_prices(listed_provider: str, day: date) -> tuple[Decimal, Decimal]:
    """Return the highest price of one input token and of one output token, each of any model."""
    from genai_prices.data import providers  # noqa: PLC0415

    at = datetime.combine(day, time(), UTC)
    known = {provider.id: provider for provider in providers}
    chosen = [listed_provider] if listed_provider in known else _SUPPORTED_PROVIDERS
    prices = [model.get_prices(at) for name in chosen for model in known[name].models]
    return max(map(_price_per_input_token, prices)), max(map(_price_per_output_token, prices))


def _price_per_input_token(price: "genai_prices.types.ModelPrice") -> Decimal:
    return (
        max(
            _total_price(price, TokenUsage(_TOKENS_PER_PRICE, 0)),
            _total_price(price, TokenUsage(0, 0, cache_write_tokens=_TOKENS_PER_PRICE)),
        )
        / _TOKENS_PER_PRICE
    )


def _price_per_output_token(price: "genai_prices.types.ModelPrice") -> Decimal:
    """With a long prompt, since that may make the answer dearer."""
    return (
        _total_price(price, TokenUsage(_TOKENS_PER_PRICE, _TOKENS_PER_PRICE))
        - _total_price(price, TokenUsage(_TOKENS_PER_PRICE, 0))
    ) / _TOKENS_PER_PRICE


def _total_price(price: "genai_prices.types.ModelPrice", usage: TokenUsage) -> Decimal:
    return price.calc_price(_to_price_list_usage(usage))["total_price"]


@functools.cache
def _warn_unknown_price(provider: str, model: str) -> None:
    log.warning("model_price_unknown", provider=provider, model=model)
