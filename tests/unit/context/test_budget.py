"""One number per agent: floors are kept, caps hold, and a budget that makes no sense names its key."""

import pytest

from parlour.context import budget
from parlour.context.budget import Purse, Share
from parlour.context.segment import Layer, Lot
from parlour.infra.errors import Misconfigured, PromptOverflow
from parlour.infra.jsonable import JsonObject


@pytest.mark.parametrize("profile", budget.PROFILES.values(), ids=budget.PROFILES)
def test_floors_stay_below_the_total(profile: budget.Profile) -> None:
    assert profile.floors < profile.total


def test_room_is_given_in_the_reverse_of_the_order_in_which_lots_are_dropped() -> None:
    entity = budget.ENTITY.fill
    assert entity[-5:] == (Lot.RECALL, Lot.FACTS, Lot.EPISODES, Lot.NEAREST, Lot.OTHER_SESSIONS)
    assert entity.index(Lot.HISTORY) + 1 == entity.index(Lot.RECALL)
    assert budget.MESSAGING.fill[-5:] == (Lot.FACTS, Lot.EPISODES, Lot.RECALL, Lot.OTHER_SESSIONS, Lot.HISTORY)
    assert sorted(entity) == sorted(Lot)


def test_an_agent_may_set_its_own_total_shares_and_order() -> None:
    own = budget.profile({"profile": "entity", "tokens": 9_000, "layers": {"history": {"floor": 800, "cap": 900}},
                          "drops": ["nearest", "recall"]})  # fmt: skip
    assert own.total == 9_000
    assert own.share(Layer.HISTORY) == Share(800, 900)
    assert own.share(Layer.RECALL) == budget.ENTITY.share(Layer.RECALL)
    assert own.drops == (Lot.NEAREST, Lot.RECALL, Lot.HISTORY)


def test_a_kind_of_record_may_say_otherwise_than_the_agent() -> None:
    agent: JsonObject = {
        "profile": "entity",
        "tokens": 9_000,
        "layers": {"history": {"floor": 800}, "recall": {"cap": 900}},
    }
    own = budget.profile(agent, {"tokens": 8_000, "layers": {"history": {"floor": 0}}})
    assert (own.name, own.total) == ("entity", 8_000)
    assert own.share(Layer.HISTORY).floor == 0
    assert own.share(Layer.RECALL).cap == 900
    assert budget.profile(agent, {"tokens": 8_000}).share(Layer.HISTORY).floor == 800
    assert budget.profile({}, {"layers": {"history": {"floor": 1}}}).share(Layer.HISTORY).floor == 1


def test_a_kind_that_names_a_profile_keeps_nothing_of_the_agents() -> None:
    agent: JsonObject = {"profile": "entity", "tokens": 9_000, "layers": {"history": {"floor": 800}}}
    assert budget.profile(agent, {"profile": "messaging"}) == budget.MESSAGING


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
        ({"drops": ["record"]}, "budget.drops"),
        ({"drops": ["facts", "facts"]}, "budget.drops"),
    ],
)
def test_a_budget_that_makes_no_sense_names_its_key(settings: JsonObject, key: str) -> None:
    with pytest.raises(Misconfigured, match=key.replace(".", r"\.")):
        budget.profile(settings)


def test_nobody_is_given_what_another_layer_was_promised() -> None:
    purse = Purse(1_000, {Layer.HISTORY: 600, Layer.RECALL: 200})
    assert purse.offer(Layer.RECALL, 900) == 400
    purse.take(Layer.RECALL, 300)
    assert purse.offer(Layer.MEMORY, 900) == 100
    assert purse.offer(Layer.HISTORY, 650) == 650
    purse.release()
    assert purse.offer(Layer.MEMORY, 900) == 700


def test_required_layers_that_exceed_the_total_name_the_largest() -> None:
    with pytest.raises(PromptOverflow, match="layer tiers takes 5000 tokens") as refused:
        budget.after_required(budget.MESSAGING, {Layer.TOOLS: 4_000, Layer.TIERS: 5_000})
    assert (refused.value.layer, refused.value.tokens, refused.value.budget) == ("tiers", 5_000, 3_700)


def test_promises_that_cannot_be_kept_shrink_alike() -> None:
    purse = budget.in_proportion(Purse(100, {Layer.HISTORY: 300, Layer.RECALL: 100}))
    assert purse.promised == {Layer.HISTORY: 75, Layer.RECALL: 25}
