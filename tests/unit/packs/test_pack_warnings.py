import pytest

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


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ("needs_approval: always\napprover: editor\neditable: true\n", 11),
        ("editable: true\n", 9),
        ("needs_approval: always\neditable: true\n", None),
        ("needs_approval: always\napprover: editor\n", None),
    ],
)
def test_arguments_that_no_user_is_asked_about_need_no_editing(more: str, line: int | None) -> None:
    file = "tools/look_up.yaml"
    warnings = find_warnings(validate({**SMALL_PACK, file: f"{SMALL_PACK[file]}{more}"}))

    assert [(one.file, one.line, one.field) for one in warnings] == ([(file, line, "editable")] if line else [])


def test_a_binding_that_asks_about_every_tool_lets_its_tools_be_editable() -> None:
    files = {**SMALL_PACK, "tools/look_up.yaml": f"{SMALL_PACK['tools/look_up.yaml']}editable: true\n"}
    files[BINDING] = f"{files[BINDING]}needs_approval: always\n"

    assert find_warnings(validate(files)) == []
