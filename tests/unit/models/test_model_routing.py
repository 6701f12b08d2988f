import pytest

from parlour.infra.errors import Misconfigured
from parlour.infra.json_values import JsonObject
from parlour.models.model_routing import (
    DEMO_MODEL,
    OFFLINE_MODEL,
    ModelChoice,
    choose_models,
    filter_available,
    find_routing_problems,
)

SONNET: JsonObject = {"provider": "anthropic", "model": "claude-sonnet-5-5"}
HAIKU: JsonObject = {"provider": "anthropic", "model": "claude-haiku-5-5"}
FLASH: JsonObject = {"provider": "gemini", "model": "gemini-2.5-flash"}


def test_the_default_comes_first_and_the_fallbacks_after_it() -> None:
    routing: JsonObject = {"default": SONNET, "fallback": [HAIKU, FLASH], "strategy": "rule"}

    assert choose_models(routing) == [
        ModelChoice("anthropic", "claude-sonnet-5-5"),
        ModelChoice("anthropic", "claude-haiku-5-5"),
        ModelChoice("gemini", "gemini-2.5-flash"),
    ]


def test_a_purpose_has_its_own_model_or_the_default() -> None:
    routing: JsonObject = {"default": SONNET, "cheap": HAIKU}

    assert choose_models(routing, "cheap") == [ModelChoice("anthropic", "claude-haiku-5-5")]
    assert choose_models(routing, "quality") == [ModelChoice("anthropic", "claude-sonnet-5-5")]


def test_a_model_is_tried_once_however_often_it_is_named() -> None:
    assert choose_models({"default": SONNET, "fallback": [SONNET, HAIKU, HAIKU]}) == [
        ModelChoice("anthropic", "claude-sonnet-5-5"),
        ModelChoice("anthropic", "claude-haiku-5-5"),
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
    assert [problem.key for problem in find_routing_problems(routing)] == [key]
    with pytest.raises(Misconfigured, match=r"^model_routing\." + key.replace("[", r"\[")):
        choose_models(routing)


def test_every_problem_is_found_at_once() -> None:
    found = find_routing_problems({"fallback": [{}], "strategy": "guess"})

    assert [problem.key for problem in found] == [
        "default",
        "fallback[0].provider",
        "fallback[0].model",
        "strategy",
    ]


def test_only_configured_providers_are_asked() -> None:
    choices = choose_models({"default": SONNET, "fallback": [FLASH]})

    assert filter_available(choices, {"gemini", "offline"}) == [ModelChoice("gemini", "gemini-2.5-flash")]


def test_the_offline_model_answers_only_where_no_real_provider_is_configured() -> None:
    choices = choose_models({"default": SONNET})

    assert filter_available(choices, {"offline"}) == [OFFLINE_MODEL]
    with pytest.raises(Misconfigured, match="anthropic"):
        filter_available(choices, {"gemini", "offline"})


def test_an_agent_may_ask_for_the_offline_model_by_name() -> None:
    choices = choose_models({"default": {"provider": "offline", "model": "extractive"}})

    assert filter_available(choices, {"anthropic", "offline"}) == [OFFLINE_MODEL]


def test_a_demo_answers_only_where_no_real_provider_is_configured() -> None:
    choices = choose_models({"default": {"provider": "anthropic", "model": "claude-sonnet-5-5"}})
    assert filter_available(choices, {"offline", "demo"}) == [DEMO_MODEL]
    assert filter_available(choices, {"offline", "demo", "anthropic"}) == choices
    with pytest.raises(Misconfigured):
        filter_available(choices, {"offline", "demo", "bedrock"})


@pytest.mark.parametrize(
    ("thinking", "setting", "tokens"),
    [
        (None, None, 0),
        ("adaptive", {"type": "adaptive", "display": "summarized"}, 4_096),
        (2_000, {"type": "enabled", "budget_tokens": 2_000}, 2_000),
    ],
)
def test_thinking_is_asked_for_with_room_for_it(
    thinking: str | int | None, setting: JsonObject | None, tokens: int
) -> None:
    (choice,) = choose_models({"default": {**SONNET, "thinking": thinking}})
    assert (choice.thinking_setting, choice.thinking_tokens) == (setting, tokens)


@pytest.mark.parametrize("purpose", ["cheap", "quality", "background"])
def test_background_work_served_by_the_default_model_or_a_fallback_does_not_think(purpose: str) -> None:
    routing: JsonObject = {"default": {**SONNET, "thinking": "adaptive"}, "fallback": [{**HAIKU, "thinking": 2_000}]}
    assert [choice.thinking for choice in choose_models(routing)] == ["adaptive", 2_000]
    assert [choice.thinking for choice in choose_models(routing, purpose)] == [None, None]


@pytest.mark.parametrize(
    "entry",
    [
        {**SONNET, "thinking": "deep"},
        {**SONNET, "thinking": 1_000},
        {**SONNET, "thinking": True},
        {"provider": "offline", "model": "extractive", "thinking": "adaptive"},
    ],
)
def test_thinking_that_cannot_be_asked_for_is_refused(entry: JsonObject) -> None:
    (problem,) = find_routing_problems({"default": entry})
    assert problem.key == "default.thinking"
