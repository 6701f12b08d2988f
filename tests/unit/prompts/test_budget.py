"""One number per agent: floors are kept, caps hold, and a budget that makes no sense names its key."""

import pytest

from parlour.infra.errors import Misconfigured, PromptOverflow
from parlour.infra.json_values import JsonObject
from parlour.prompts.assembly import budget
from parlour.prompts.assembly.budget import RemainingBudget, TokenLimits
from parlour.prompts.assembly.segment import Layer, SourceKind


@pytest.mark.parametrize("profile", budget.PROFILES.values(), ids=budget.PROFILES)
def test_floors_stay_below_the_total(profile: budget.BudgetProfile) -> None:
    assert profile.floor_total < profile.total_tokens


def test_room_is_given_in_the_reverse_of_the_order_in_which_lots_are_dropped() -> None:
    entity = budget.ENTITY_PROFILE.allocation_order
    assert entity[-5:] == (
        SourceKind.RECALL,
        SourceKind.FACTS,
        SourceKind.EPISODES,
        SourceKind.NEAREST,
        SourceKind.OTHER_SESSIONS,
    )
    assert entity.index(SourceKind.HISTORY) + 1 == entity.index(SourceKind.RECALL)
    assert budget.MESSAGING_PROFILE.allocation_order[-5:] == (
        SourceKind.FACTS,
        SourceKind.EPISODES,
        SourceKind.RECALL,
        SourceKind.OTHER_SESSIONS,
        SourceKind.HISTORY,
    )
    assert sorted(entity) == sorted(SourceKind)


def test_an_agent_may_set_its_own_total_shares_and_order() -> None:
    own = budget.resolve_profile({"profile": "entity", "tokens": 9_000, "layers": {"history": {"floor": 800, "cap": 900}},
                          "eviction_order": ["nearest", "recall"]})  # fmt: skip
    assert own.total_tokens == 9_000
    assert own.limits_of(Layer.HISTORY) == TokenLimits(800, 900)
    assert own.limits_of(Layer.RECALL) == budget.ENTITY_PROFILE.limits_of(Layer.RECALL)
    assert own.eviction_order == (SourceKind.NEAREST, SourceKind.RECALL, SourceKind.HISTORY)


def test_a_kind_of_record_may_say_otherwise_than_the_agent() -> None:
    agent: JsonObject = {
        "profile": "entity",
        "tokens": 9_000,
        "layers": {"history": {"floor": 800}, "recall": {"cap": 900}},
    }
    own = budget.resolve_profile(agent, {"tokens": 8_000, "layers": {"history": {"floor": 0}}})
    assert (own.name, own.total_tokens) == ("entity", 8_000)
    assert own.limits_of(Layer.HISTORY).floor == 0
    assert own.limits_of(Layer.RECALL).cap == 900
    assert budget.resolve_profile(agent, {"tokens": 8_000}).limits_of(Layer.HISTORY).floor == 800
    assert budget.resolve_profile({}, {"layers": {"history": {"floor": 1}}}).limits_of(Layer.HISTORY).floor == 1


def test_a_kind_that_names_a_profile_keeps_nothing_of_the_agents() -> None:
    agent: JsonObject = {"profile": "entity", "tokens": 9_000, "layers": {"history": {"floor": 800}}}
    assert budget.resolve_profile(agent, {"profile": "messaging"}) == budget.MESSAGING_PROFILE


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"profile": "huge"}, "budget.profile"),
        ({"tokens": 0}, "budget.tokens"),
        ({"tokens": "many"}, "budget.tokens"),
        ({"tokens": True}, "budget.tokens"),
        ({"tokens": 1_000}, "budget.layers"),
        ({"layers": []}, "budget.layers"),
        ({"layers": {"tools": {"cap": 1}}}, "budget.layers.tools"),
        ({"layers": {"history": {"most": 1}}}, "budget.layers.history"),
        ({"layers": {"history": {"floor": 2_000, "cap": 10}}}, "budget.layers.history"),
        ({"layers": {"history": {"floor": -1}}}, "budget.layers.history.floor"),
        ({"eviction_order": ["record"]}, "budget.eviction_order"),
        ({"eviction_order": ["facts", "facts"]}, "budget.eviction_order"),
    ],
)
def test_a_budget_that_makes_no_sense_names_its_key(settings: JsonObject, key: str) -> None:
    with pytest.raises(Misconfigured, match=key.replace(".", r"\.")):
        budget.resolve_profile(settings)


def test_nobody_is_given_what_another_layer_was_promised() -> None:
    purse = RemainingBudget(1_000, {Layer.HISTORY: 600, Layer.RECALL: 200})
    assert purse.available_tokens(Layer.RECALL, 900) == 400
    purse.spend(Layer.RECALL, 300)
    assert purse.available_tokens(Layer.MEMORY, 900) == 100
    assert purse.available_tokens(Layer.HISTORY, 650) == 650
    purse.release_floors()
    assert purse.available_tokens(Layer.MEMORY, 900) == 700


def test_required_layers_that_exceed_the_total_name_the_largest() -> None:
    with pytest.raises(PromptOverflow, match="layer tiers takes 5000 tokens") as refused:
        budget.budget_after_required(budget.MESSAGING_PROFILE, {Layer.TOOLS: 4_000, Layer.TIERS: 5_000})
    assert (refused.value.layer, refused.value.tokens, refused.value.budget) == ("tiers", 5_000, 3_700)


def test_promises_that_cannot_be_kept_shrink_alike() -> None:
    purse = budget.shrink_floors(RemainingBudget(100, {Layer.HISTORY: 300, Layer.RECALL: 100}))
    assert purse.reserved_floors == {Layer.HISTORY: 75, Layer.RECALL: 25}
