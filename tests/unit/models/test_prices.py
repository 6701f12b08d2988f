from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.infra import log
from parlour.models.model import TokenUsage
from parlour.models.prices import charged_cost, known_cost, worst_case_cost

AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def test_cached_tokens_have_prices_of_their_own() -> None:
    """Sonnet 5.5: 2 dollars a million in, 10 out, 0.10 read from the cache, 2.50 written to it."""
    usage = TokenUsage(input_tokens=1_000, output_tokens=200, cache_read_tokens=10_000, cache_write_tokens=2_000)

    assert known_cost("anthropic", "claude-sonnet-5-5", usage, AT) == sum(
        map(Decimal, ("0.002", "0.002", "0.001", "0.005"))
    )


def test_a_dated_model_name_costs_what_the_model_costs() -> None:
    assert known_cost("anthropic", "claude-haiku-4-5-20251001", TokenUsage(1_000, 1_000), AT) == Decimal("0.006")


def test_the_prices_are_those_of_the_day() -> None:
    """Sonnet 4.6 charged double for a long prompt until 13 March 2026."""
    long = TokenUsage(300_000, 0)

    assert known_cost("anthropic", "claude-sonnet-4-6", long, AT) == Decimal("1.8")
    assert known_cost("anthropic", "claude-sonnet-4-6", long, AT + timedelta(days=30)) == Decimal("0.9")


def test_other_names_for_a_provider_are_understood() -> None:
    usage = TokenUsage(1_000_000, 0)

    assert known_cost("bedrock", "anthropic.claude-haiku-4-5-20251001-v1:0", usage, AT) is not None
    assert known_cost("gemini", "gemini-2.5-flash", usage, AT) == Decimal("0.30")


def test_the_offline_model_is_free() -> None:
    assert known_cost("offline", "extractive", TokenUsage(9_999, 9_999), AT) == 0


@pytest.mark.parametrize(("provider", "model"), [("anthropic", "no-such-model"), ("nobody", "claude-sonnet-5-5")])
def test_what_the_list_does_not_know_is_not_called_free_and_logged_once(
    provider: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[tuple[str, dict[str, str]]] = []
    monkeypatch.setattr(log, "warning", lambda action, **ids: logged.append((action, ids)))

    assert known_cost(provider, model, TokenUsage(1, 1), AT) is None
    assert known_cost(provider, model, TokenUsage(1, 1), AT) is None
    assert logged == [("model_price_unknown", {"provider": provider, "model": model})]


def test_the_worst_case_writes_all_of_the_input_to_the_cache_and_answers_at_length() -> None:
    assert worst_case_cost("anthropic", "claude-sonnet-5-5", 10_000, 1_000, AT) == Decimal("0.025") + Decimal("0.01")


def test_where_writing_to_the_cache_has_no_price_of_its_own_the_input_has() -> None:
    assert worst_case_cost("gemini", "gemini-2.5-flash", 1_000_000, 0, AT) == Decimal("0.30")


@given(
    model=st.sampled_from(["claude-sonnet-5-5", "claude-sonnet-4-6", "claude-opus-4-1", "no-such-model"]),
    read=st.tuples(*[st.integers(0, 400_000)] * 3),
    answer=st.integers(0, 8_000),
)
def test_no_usage_within_the_limits_costs_more_than_the_worst_case(
    model: str, read: tuple[int, int, int], answer: int
) -> None:
    usage = TokenUsage(read[0], answer, read[1], read[2])

    assert charged_cost("anthropic", model, usage, AT) <= worst_case_cost("anthropic", model, sum(read), 8_000, AT)


def test_a_known_model_is_charged_what_it_costs_and_the_offline_model_nothing() -> None:
    usage = TokenUsage(1_000, 1_000)

    assert charged_cost("anthropic", "claude-haiku-4-5", usage, AT) == Decimal("0.006")
    assert charged_cost("offline", "extractive", usage, AT) == worst_case_cost("offline", "extractive", 9, 9, AT) == 0


@pytest.mark.parametrize(("provider", "dearest"), [("anthropic", "claude-opus-4-1"), ("nobody", "claude-opus-4-1")])
def test_an_unknown_model_counts_as_the_dearest_of_its_provider_or_of_all_we_speak_to(
    provider: str, dearest: str
) -> None:
    for usage in (TokenUsage(100_000, 0), TokenUsage(0, 1_000), TokenUsage(0, 0, cache_write_tokens=50_000)):
        known = known_cost("anthropic", dearest, usage, AT)
        assert known is not None
        assert charged_cost(provider, "no-such-model", usage, AT) >= known


@pytest.mark.parametrize("provider", ["anthropic", "bedrock", "gemini", "openai", "elevenlabs", "nobody", ""])
def test_every_provider_has_a_dearest_model(provider: str) -> None:
    assert worst_case_cost(provider, "no-such-model", 1_000, 1_000, AT) > 0
