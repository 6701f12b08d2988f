from pathlib import Path

import pytest

from parlour.context import budget, tokens
from parlour.packs import built_in, weigh
from parlour.packs.folder import read_folder
from parlour.packs.validate import validate
from tests.unit.packs.sample import SMALL_PACK, with_edit


def words(text: str) -> int:
    return len(text.split())


def test_a_binding_within_its_profile_is_no_problem() -> None:
    assert list(weigh.find_budget_problems(validate(SMALL_PACK), words)) == []


def test_a_tier_that_is_too_long_is_named_with_its_size() -> None:
    pack = validate(with_edit("humans/mira.yaml", "You help at the gate.", "Well. " * 1_000))

    (problem,) = weigh.find_budget_problems(pack, lambda text: 4 * words(text))

    assert problem.file == "bindings/front.yaml"
    assert "3500 are the most" in problem.message
    assert "human 40" in problem.message
    assert "team 4" not in problem.message


def test_the_example_pack_fits() -> None:
    pack = built_in.add_built_in_tools(validate(read_folder(Path("packs/construction"))))

    assert list(weigh.find_budget_problems(pack, tokens.count_tokens)) == []


@pytest.mark.parametrize("profile", budget.PROFILES.values(), ids=budget.PROFILES)
def test_the_example_pack_would_fit_either_profile(profile: budget.BudgetProfile) -> None:
    pack = built_in.add_built_in_tools(validate(read_folder(Path("packs/construction"))))
    for binding in pack.bindings.values():
        tools = weigh._tool_tokens(pack, pack.agents[binding.agent], tokens.count_tokens)
        assert tools + tokens.count_tokens(weigh._persona_text(pack, binding)) <= profile.config_cap
