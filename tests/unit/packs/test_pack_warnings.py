from pathlib import Path

import pytest

from parlour.packs.folder import read_folder
from parlour.packs.pack_templates import TEMPLATES, NewPack, render_pack
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

    closed = {**ASKING_AGENT, BINDING: notified[BINDING].replace("]}", "], events: [closed]}")}
    assert len(find_warnings(validate(closed))) == 1
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


WRITING_TOOL = """\
description: Books a visit.
schema: {type: object, properties: {day: {type: string}}}
endpoint: https://api.acme.example/visits
writes: true
"""
WHATSAPP = SMALL_PACK[BINDING].partition("  web:")[0]
WEB = SMALL_PACK[BINDING].partition("  whatsapp:")[0] + "  web:\n    host: acme.example\n"


def booking_pack(binding: str, tool: str = "book_visit", modes: str = "") -> list[str]:
    """The warnings about the tools of a pack whose agent books visits, with this binding."""
    files = with_edit("tenant.yaml", "secrets:", "tool_hosts: [api.acme.example]\nsecrets:")
    files["agents/helper.yaml"] = SMALL_PACK["agents/helper.yaml"].replace("[look_up]", f"[look_up, {tool}]\n{modes}")
    files |= {"tools/book_visit.yaml": WRITING_TOOL, BINDING: binding}
    return [str(warning) for warning in find_warnings(validate(files)) if warning.field == "agent"]


@pytest.mark.parametrize(
    "binding",
    [
        WHATSAPP,
        WEB,
        SMALL_PACK[BINDING],
        WHATSAPP + "writes: own\n",
        SMALL_PACK[BINDING] + "writes: {verified: own}\n",
        WHATSAPP + "tool_writes: {book_visit: own}\n",
        WHATSAPP + "tool_writes: {book_visit: {anonymous: all}}\n",
        WHATSAPP + "writes: all\ntool_writes: {book_visit: own}\n",
        WHATSAPP + "door: private\nowner: {phone: '+447700900001'}\n",
    ],
)
def test_a_tool_that_no_customer_may_use_is_warned_of(binding: str) -> None:
    (warning,) = booking_pack(binding)
    assert "agent: only signed-in editors may use book_visit here" in warning
    assert "tool_writes: {book_visit: all}" in warning


@pytest.mark.parametrize(
    "binding",
    [
        WHATSAPP + "writes: all\n",
        WHATSAPP + "tool_writes: {book_visit: all}\n",
        WEB + "writes: {anonymous: all}\n",
        SMALL_PACK[BINDING] + "tool_writes: {book_visit: {anonymous: all}}\n",
        SMALL_PACK[BINDING] + "tool_writes: {book_visit: none}\n",
        WEB + "door: private\nowner: {issuer: 'https://id.example', subject: ada}\n",
    ],
)
def test_a_tool_that_somebody_may_use_or_nobody_shall_is_no_reason_to_warn(binding: str) -> None:
    assert booking_pack(binding) == []


def test_a_tool_of_parlour_needs_less_and_an_agent_that_may_not_act_uses_none() -> None:
    assert booking_pack(WHATSAPP, "create_entity") == []
    assert booking_pack(SMALL_PACK[BINDING], "create_entity") == []
    (warning,) = booking_pack(WEB, "create_entity")
    assert "visitors and phones have none, and it needs own" in warning
    assert booking_pack(WHATSAPP, modes="modes: [inform]\n") == []


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("whatsapp", ["442079460150", ""])
def test_a_new_pack_has_no_warnings(template: str, whatsapp: str) -> None:
    wanted = NewPack(template, "bright-smile", "Bright Smile", "chat.bright.example", whatsapp)
    files = {path: text for path, text in render_pack(wanted).items() if not path.startswith(".")}
    assert find_warnings(validate(files)) == []


def test_the_example_with_code_has_no_warnings() -> None:
    assert find_warnings(validate(read_folder(Path("examples/code-first")))) == []


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        ("writes: all", "writes: strangers may change every record"),
        ("writes: {anonymous: none, verified: all}", "writes: strangers may change every record"),
        ("clearance: confidential", "clearance: strangers may read what is confidential"),
        ("clearance: restricted", "clearance: strangers may read what is restricted"),
    ],
)
def test_a_public_door_that_gives_strangers_too_much_is_warned_of(setting: str, found: str) -> None:
    public = _with_binding(f"door: public\n{setting}\n")
    (warning,) = find_warnings(validate(public))
    assert found in str(warning)
    owned = _with_binding(f"door: private\nowner: {{phone: '+447700900123'}}\n{setting}\n")
    assert find_warnings(validate(owned)) == []


@pytest.mark.parametrize(
    "setting", ["writes: own", "clearance: internal", "tool_writes: {look_up: all}", "writes: {anonymous: own}"]
)
def test_rights_of_single_tools_and_lower_levels_are_no_reason_to_warn(setting: str) -> None:
    assert find_warnings(validate(_with_binding(f"door: public\n{setting}\n"))) == []


def test_the_example_warns_of_its_confidential_desk_alone() -> None:
    (warning,) = find_warnings(validate(read_folder(Path("packs/construction"))))
    assert str(warning).startswith("bindings/contract-desk.yaml:8: clearance: strangers may read what is confidential")


def _with_binding(settings: str) -> dict[str, str]:
    """Return the sample pack, whose binding has these settings."""
    names = {line.partition(":")[0] for line in settings.splitlines()}
    kept = [line for line in SMALL_PACK[BINDING].splitlines() if line.partition(":")[0] not in names]
    return {**SMALL_PACK, BINDING: "\n".join(kept) + "\n" + settings}
