from pathlib import Path

import pytest

from parlour.packs import budget_check, built_in_tools
from parlour.packs.folder import read_folder
from parlour.packs.validate import validate
from parlour.prompts.assembly import budget
from parlour.text import token_counter
from tests.unit.packs.sample_pack import SMALL_PACK, with_edit


def words(text: str) -> int:
    return len(text.split())


def test_a_binding_within_its_profile_is_no_problem() -> None:
    assert list(budget_check.find_budget_problems(validate(SMALL_PACK), words)) == []


def test_a_tier_that_is_too_long_is_named_with_its_size() -> None:
    pack = validate(with_edit("humans/mira.yaml", "You help at the gate.", "Well. " * 1_000))

    (problem,) = budget_check.find_budget_problems(pack, lambda text: 4 * words(text))

    assert problem.file == "bindings/front.yaml"
    assert "the limit is 3500" in problem.message
    assert "human 41" in problem.message
    assert "team 4" not in problem.message


def test_the_example_pack_fits() -> None:
    pack = built_in_tools.add_built_in_tools(validate(read_folder(Path("packs/construction"))))

    assert list(budget_check.find_budget_problems(pack, token_counter.count_tokens)) == []


@pytest.mark.parametrize("profile", budget.PROFILES.values(), ids=budget.PROFILES)
def test_the_example_pack_would_fit_either_profile(profile: budget.BudgetProfile) -> None:
    pack = built_in_tools.add_built_in_tools(validate(read_folder(Path("packs/construction"))))
    for binding in pack.bindings.values():
        tools = budget_check._tool_tokens(pack, binding, token_counter.count_tokens)
        assert tools + token_counter.count_tokens(budget_check._persona_text(pack, binding)) <= profile.config_cap
