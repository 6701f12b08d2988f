from parlour.packs.pack_warnings import find_warnings
from parlour.packs.validate import validate
from tests.unit.packs.sample_pack import SMALL_PACK, with_edit

ASKING_AGENT = with_edit("agents/helper.yaml", "tools: [look_up]", "tools: [look_up, ask_a_person]")
BINDING = "bindings/front.yaml"


def test_an_agent_that_asks_for_people_who_are_not_notified_is_warned_of() -> None:
    (warning,) = find_warnings(validate(ASKING_AGENT))

    assert str(warning).startswith(
        "bindings/front.yaml:4: agent: the agent may call ask_a_person, but nobody is notified"
    )


def test_people_who_are_notified_or_answer_are_no_reason_to_warn() -> None:
    notified = {**ASKING_AGENT, BINDING: f"{SMALL_PACK[BINDING]}notifications: {{email: [office@acme.example]}}\n"}
    answered = {**ASKING_AGENT, BINDING: f"{SMALL_PACK[BINDING]}inbox: {{words: {{en: [real person]}}}}\n"}

    assert find_warnings(validate(notified)) == []
    assert find_warnings(validate(answered)) == []
    assert find_warnings(validate(SMALL_PACK)) == []
