"""What a pack says of its agents' prompts: read, refused with file, line and what to do, weighed, given back."""

import pytest

from parlour.infra.errors import InvalidPack, PackProblem
from parlour.packs import budget_check, export, prompt_settings, serialization
from parlour.packs.format import Agent, Pack, RagSettings
from parlour.packs.validate import validate
from parlour.prompts.assembly import budget
from parlour.prompts.assembly.segment import Layer, SourceKind
from tests.unit.packs.sample_pack import SMALL_PACK, with_file

AGENT, KIND = "agents/helper.yaml", "entity_types/site.yaml"
FULL = """\
budget:
  profile: entity
  tokens: 9000
  layers:
    history: {floor: 800, cap: 3000}
    recall: {cap: 900}
  eviction_order: [other_sessions, recall]
prompt: floating
modes: [clarify, inform]
reminders:
  - Give the date of every reading.
"""


def words(text: str) -> int:
    return len(text.split())


def agent(text: str) -> dict[str, str]:
    return with_file(AGENT, SMALL_PACK[AGENT] + text)


def kind(text: str) -> dict[str, str]:
    return with_file(KIND, SMALL_PACK[KIND] + text)


def problems(files: dict[str, str]) -> tuple[PackProblem, ...]:
    with pytest.raises(InvalidPack) as refused:
        validate(files)
    return refused.value.problems


def test_an_agent_says_what_its_prompts_may_come_to() -> None:
    own = budget.resolve_profile(prompt_settings.budget_settings(validate(agent(FULL)).agents["helper"].budget))
    assert (own.name, own.total_tokens) == ("entity", 9_000)
    assert own.limits_of(Layer.HISTORY) == budget.TokenLimits(800, 3_000)
    assert own.limits_of(Layer.RECALL) == budget.TokenLimits(500, 900)
    assert own.eviction_order == (SourceKind.OTHER_SESSIONS, SourceKind.RECALL, SourceKind.HISTORY)


def test_what_a_pack_does_not_say_is_as_it_was() -> None:
    plain = validate(SMALL_PACK).agents["helper"]
    assert budget.resolve_profile(prompt_settings.budget_settings(plain.budget)) == budget.MESSAGING_PROFILE
    assert (plain.prompt, plain.modes, plain.reminders) == ("system", ("clarify", "inform", "act"), ())


@pytest.mark.parametrize(
    ("setting", "hint"),
    [
        ("eviction_order: [nearest]", "must be 'other_sessions', 'recall'"),
        ("eviction_order: [recall, file_summaries]", "must be 'other_sessions', 'recall'"),
        ("layers: {heartbeat: {cap: 10}}", "always included"),
        ("layers: {summary: {cap: 1501}}", "1500"),
    ],
)
def test_a_setting_that_changes_nothing_is_refused(setting: str, hint: str) -> None:
    (problem,) = problems(agent(f"budget: {{{setting}}}\n"))
    assert problem.field.startswith("budget.")
    assert hint in problem.message


def test_what_is_stored_reads_back_as_the_same_part() -> None:
    one = validate(agent(FULL)).agents["helper"]
    assert export._file_fields(Agent, AGENT, serialization.to_row(one)) == serialization.to_file_fields(one)


@pytest.mark.parametrize(
    ("said", "settings"),
    [
        ("  budget: 9000\n", {"tokens": 9_000}),
        ("  budget: {layers: {history: {floor: 0}}}\n", {"layers": {"history": {"floor": 0}}}),
        ("  budget: {tokens: 9000, eviction_order: [recall]}\n", {"tokens": 9_000, "eviction_order": ["recall"]}),
        ("  budget: {profile: messaging}\n", {"profile": "messaging"}),
    ],
)
def test_a_kind_of_record_says_a_total_or_as_much_as_an_agent(said: str, settings: object) -> None:
    rag = validate(kind(said)).entity_types["site"].rag
    assert isinstance(rag.budget, prompt_settings.BudgetOverride)
    assert prompt_settings.budget_settings(rag.budget) == settings
    assert (
        RagSettings.model_validate_json(RagSettings(budget=rag.budget).model_dump_json(exclude_defaults=True)).budget
        == rag.budget
    )


WRONG = [
    ("budget: {profil: entity}", "budget.profil", "did you mean 'profile'"),
    ("budget: {total: 9000}", "budget.total", "use `tokens`"),
    ("budget: {tokens: 100}", "budget.tokens", "at least 2000"),
    ("budget: {layers: {histroy: {floor: 1}}}", "budget.layers.histroy", "did you mean 'history'"),
    ("budget: {layers: {tools: {floor: 1}}}", "budget.layers.tools", "only `tokens` limits it"),
    ("budget: {layers: {facts: {floor: 1}}}", "budget.layers.facts", "`memory`"),
    ("budget: {layers: {history: {flor: 1}}}", "budget.layers.history.flor", "did you mean 'floor'"),
    ("budget: {layers: {history: {floor: -1}}}", "budget.layers.history.floor", "at least 0"),
    ("budget: {layers: {history: {floor: 900, cap: 10}}}", "budget.layers.history", "10 is below the floor of 900"),
    ("budget: {layers: {history: {floor: 9000}}}", "budget.layers", "lower a floor, or raise budget.tokens"),
    ("budget: {eviction_order: [histry]}", "budget.eviction_order[0]", "did you mean 'history'"),
    ("budget: {eviction_order: [facts, facts]}", "budget.eviction_order", "each once"),
    ("prompt: float", "prompt", "'system' or 'floating'"),
    ("modes: [clarify, advise]", "modes[1]", "'clarify', 'inform' or 'act'"),
    ("modes: []", "modes", "must not be empty"),
    ("modes: [inform, inform]", "modes[1]", "is listed twice"),
    (f"reminders: ['{'x' * 201}']", "reminders[0]", "at most 200 characters"),
]


@pytest.mark.parametrize(("line", "field", "message"), WRONG)
def test_an_agents_mistake_is_refused_at_its_line_with_what_to_do(line: str, field: str, message: str) -> None:
    (problem,) = problems(agent(f"{line}\n"))
    assert (problem.file, problem.line, problem.field) == (AGENT, SMALL_PACK[AGENT].count("\n") + 1, field)
    assert message in problem.message


@pytest.mark.parametrize(("line", "field", "message"), [one for one in WRONG if one[0].startswith("budget")])
def test_a_kinds_mistake_is_refused_alike(line: str, field: str, message: str) -> None:
    (problem,) = problems(kind(f"  {line}\n"))
    assert (problem.file, problem.field) == (KIND, f"rag.{field}")
    assert message in problem.message


def test_a_kinds_budget_is_held_against_the_agents_that_it_is_laid_over() -> None:
    files = {
        **kind("  budget: {tokens: 5000}\n"),
        AGENT: SMALL_PACK[AGENT] + "budget: {layers: {history: {floor: 5000}}}\n",
    }
    (problem,) = problems(files)
    assert (problem.file, problem.field) == (KIND, "rag.budget.layers")


def weighed(files: dict[str, str], times: int = 1) -> list[PackProblem]:
    return list(budget_check.find_budget_problems(validate(files), lambda text: times * words(text)))


def config() -> int:
    """Words that the sample's tools and persona come to."""
    pack: Pack = validate(SMALL_PACK)
    return budget_check._tool_tokens(pack, pack.bindings["front"], words) + words(
        budget_check._persona_text(pack, pack.bindings["front"])
    )


def test_floors_must_leave_room_for_tools_and_persona_as_they_are_measured() -> None:
    others = budget.MESSAGING_PROFILE.floor_total - budget.MESSAGING_PROFILE.limits_of(Layer.HISTORY).floor
    most = budget.MESSAGING_PROFILE.total_tokens - others - config()
    line = "budget: {{layers: {{history: {{floor: {0}, cap: 9000}}}}}}\n"
    assert weighed(agent(line.format(most))) == []
    (problem,) = weighed(agent("\n" + line.format(most + 1)))
    assert (problem.file, problem.line, problem.field) == (AGENT, SMALL_PACK[AGENT].count("\n") + 2, "budget")
    assert f"raise `tokens` to {budget.MESSAGING_PROFILE.total_tokens + 1}" in problem.message


def test_the_budget_of_a_kind_must_have_that_room_too() -> None:
    (problem,) = weighed(kind("  budget: 2000\n"), times=10)
    assert (problem.file, problem.line, problem.field) == (KIND, SMALL_PACK[KIND].count("\n") + 1, "rag.budget")
    assert "binding front" in problem.message


def test_reminders_stay_within_their_layer() -> None:
    lines = "reminders:\n" + "".join(f"  - {'word ' * 39}end\n" for _ in range(2))
    assert weighed(agent(lines)) == []
    (problem,) = weighed(agent(lines + "  - One more.\n"))
    assert (problem.file, problem.field) == (AGENT, "reminders")
    assert "82 tokens; the limit is 80" in problem.message


def test_instructions_that_float_are_weighed_like_those_that_do_not() -> None:
    texts = [agent(f"instructions: Look twice.\nprompt: {where}\n") for where in ("system", "floating")]
    packs = [validate(one) for one in texts]
    system, floating = (words(budget_check._persona_text(pack, pack.bindings["front"])) for pack in packs)
    assert system == floating
