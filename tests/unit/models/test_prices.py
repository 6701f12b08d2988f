from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from parlour.infra import log
from parlour.models.prices import cost
from parlour.models.request import Usage

AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def test_cached_tokens_have_prices_of_their_own() -> None:
    """Sonnet 5.5: 2 dollars a million in, 10 out, 0.10 read from the cache, 2.50 written to it."""
    usage = Usage(input_tokens=1_000, output_tokens=200, cache_read_tokens=10_000, cache_write_tokens=2_000)

    assert cost("anthropic", "claude-sonnet-5-5", usage, AT) == sum(map(Decimal, ("0.002", "0.002", "0.001", "0.005")))


def test_a_dated_model_name_costs_what_the_model_costs() -> None:
    assert cost("anthropic", "claude-haiku-4-5-20251001", Usage(1_000, 1_000), AT) == Decimal("0.006")


def test_the_prices_are_those_of_the_day() -> None:
    """Sonnet 4.6 charged double for a long prompt until 13 March 2026."""
    long = Usage(300_000, 0)

    assert cost("anthropic", "claude-sonnet-4-6", long, AT) == Decimal("1.8")
    assert cost("anthropic", "claude-sonnet-4-6", long, AT + timedelta(days=30)) == Decimal("0.9")


def test_other_names_for_a_provider_are_understood() -> None:
    usage = Usage(1_000_000, 0)

    assert cost("bedrock", "anthropic.claude-haiku-4-5-20251001-v1:0", usage, AT) is not None
    assert cost("gemini", "gemini-2.5-flash", usage, AT) == Decimal("0.30")


def test_the_stand_in_is_free() -> None:
    assert cost("offline", "extractive", Usage(9_999, 9_999), AT) == 0


@pytest.mark.parametrize(("provider", "model"), [("anthropic", "no-such-model"), ("nobody", "claude-sonnet-5-5")])
def test_what_the_list_does_not_know_is_not_called_free_and_logged_once(
    provider: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[tuple[str, dict[str, str]]] = []
    monkeypatch.setattr(log, "warning", lambda action, **ids: logged.append((action, ids)))

    assert cost(provider, model, Usage(1, 1), AT) is None
    assert cost(provider, model, Usage(1, 1), AT) is None
    assert logged == [("model_price_unknown", {"provider": provider, "model": model})]
