import pytest

from parlour.infra.errors import Misconfigured
from parlour.infra.jsonable import JsonObject
from parlour.models.route import OFFLINE_MODEL, Choice, available, choose, problems

SONNET: JsonObject = {"provider": "anthropic", "model": "claude-sonnet-5-5"}
HAIKU: JsonObject = {"provider": "anthropic", "model": "claude-haiku-5-5"}
FLASH: JsonObject = {"provider": "gemini", "model": "gemini-2.5-flash"}


def test_the_default_comes_first_and_the_fallbacks_after_it() -> None:
    routing: JsonObject = {"default": SONNET, "fallback": [HAIKU, FLASH], "strategy": "rule"}

    assert choose(routing) == [
        Choice("anthropic", "claude-sonnet-5-5"),
        Choice("anthropic", "claude-haiku-5-5"),
        Choice("gemini", "gemini-2.5-flash"),
    ]


def test_a_purpose_has_its_own_model_or_the_default() -> None:
    routing: JsonObject = {"default": SONNET, "cheap": HAIKU}

    assert choose(routing, "cheap") == [Choice("anthropic", "claude-haiku-5-5")]
    assert choose(routing, "quality") == [Choice("anthropic", "claude-sonnet-5-5")]


def test_a_model_is_tried_once_however_often_it_is_named() -> None:
    assert choose({"default": SONNET, "fallback": [SONNET, HAIKU, HAIKU]}) == [
        Choice("anthropic", "claude-sonnet-5-5"),
        Choice("anthropic", "claude-haiku-5-5"),
    ]


@pytest.mark.parametrize(
    ("routing", "key"),
    [
        ({}, "default"),
        ({"default": "claude-sonnet-5-5"}, "default"),
        ({"default": {"provider": "anthropic"}}, "default.model"),
        ({"default": {"provider": "", "model": "m"}}, "default.provider"),
        ({"default": {"provider": "anthropic", "model": 4}}, "default.model"),
        ({"default": {**SONNET, "temperature": 1}}, "default.temperature"),
        ({"default": SONNET, "cheap": None}, "cheap"),
        ({"default": SONNET, "fallback": HAIKU}, "fallback"),
        ({"default": SONNET, "fallback": [HAIKU, {"model": "m"}]}, "fallback[1].provider"),
        ({"default": SONNET, "strategy": "classifier"}, "strategy"),
        ({"default": SONNET, "strategy": "hybrid"}, "strategy"),
        ({"default": SONNET, "strategy": ["rule"]}, "strategy"),
        ({"default": SONNET, "router_strategy": "rule"}, "router_strategy"),
    ],
)
def test_what_is_wrong_is_named_by_its_key(routing: JsonObject, key: str) -> None:
    assert [problem.key for problem in problems(routing)] == [key]
    with pytest.raises(Misconfigured, match=r"^model_routing\." + key.replace("[", r"\[")):
        choose(routing)


def test_every_problem_is_found_at_once() -> None:
    found = problems({"fallback": [{}], "strategy": "guess"})

    assert [problem.key for problem in found] == [
        "default",
        "fallback[0].provider",
        "fallback[0].model",
        "strategy",
    ]


def test_only_configured_providers_are_asked() -> None:
    choices = choose({"default": SONNET, "fallback": [FLASH]})

    assert available(choices, {"gemini", "offline"}) == [Choice("gemini", "gemini-2.5-flash")]


def test_the_offline_model_answers_only_where_no_real_provider_is_configured() -> None:
    choices = choose({"default": SONNET})

    assert available(choices, {"offline"}) == [OFFLINE_MODEL]
    with pytest.raises(Misconfigured, match="anthropic"):
        available(choices, {"gemini", "offline"})


def test_an_agent_may_ask_for_the_offline_model_by_name() -> None:
    choices = choose({"default": {"provider": "offline", "model": "extractive"}})

    assert available(choices, {"anthropic", "offline"}) == [OFFLINE_MODEL]
