from pathlib import Path

import pytest

from parlour.infra.errors import InvalidPack, PackProblem
from parlour.infra.json_values import JsonObject
from parlour.models.demo_scenes import DEMO_SETTING, scenes_from_settings
from parlour.packs import drafts
from parlour.packs.folder import read_folder
from parlour.packs.format import Pack
from parlour.packs.items import ItemId
from parlour.packs.validate import validate
from tests.unit.packs.sample_pack import SMALL_PACK

SCENE = """\
ask: ['hours of (?P<gate>\\w+)']
calls:
  - {tool: look_up, arguments: {query: 'hours {gate}'}}
quotes:
  hours: {title: Gate rules, pattern: 'closes at (\\d\\d:\\d\\d)'}
replies:
  - The gate closes at {hours} [hours].
"""


def settings_of(pack: Pack, before: JsonObject | None = None) -> JsonObject:
    """Return the tenant's settings once the pack is applied."""
    return drafts.tenant_settings(drafts.wanted_items(pack)[ItemId("tenant", "tenant")], before or {})


def problems(scene: str) -> list[PackProblem]:
    with pytest.raises(InvalidPack) as caught:
        validate({**SMALL_PACK, "demo/hours.yaml": scene})
    return list(caught.value.problems)


def test_a_scene_is_stored_in_the_tenants_settings() -> None:
    settings = settings_of(validate({**SMALL_PACK, "demo/hours.yaml": SCENE}))
    (scene,) = scenes_from_settings(settings)
    assert (scene.name, scene.calls[0][1]) == ("hours", {"query": "hours {gate}"})
    assert DEMO_SETTING not in settings_of(validate(SMALL_PACK), settings)


@pytest.mark.parametrize(
    ("before", "after", "line", "message"),
    [
        ("'hours of (?P<gate>\\w+)'", "'hours of ('", 1, "is not a regular expression: missing )"),
        ("look_up", "look_upp", 3, "unknown tool 'look_upp'; did you mean 'look_up'?"),
        ("{gate}", "{gates}", 3, "unknown {gates}; did you mean 'gate'?"),
        ("{gate}", "{look_up.e-bike}", 3, "{look_up.e-bike} is no slot"),
        ("[hours]", "[hour]", 7, "unknown [hour]; did you mean 'hours'?"),
        (" [hours]", "", 7, "quotes {hours} and does not cite it: write [hours] behind it"),
        ("ask: ['hours of (?P<gate>\\w+)']", "tools: [look_up]", 1, "says when it is played nowhere"),
        ("replies:", "reply:", 6, "use the list `replies`"),
    ],
)
def test_a_mistake_in_a_scene_is_told_with_its_line(before: str, after: str, line: int, message: str) -> None:
    assert any(
        (one.file, one.line) == ("demo/hours.yaml", line) and message in one.message
        for one in problems(SCENE.replace(before, after))
    ), problems(SCENE.replace(before, after))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("after: hour\n", "unknown scene 'hour'"),
        ("result_of: lookup\n", "unknown tool 'lookup'"),
        ("pulse_of: site/S-1\n", "stands alone"),
        ("calculations: {end: {add_days: [hours, days]}}\n", "unknown slot 'days'"),
        ("calculations: {end: {}}\n", "give add_days or days_between"),
    ],
)
def test_a_scene_that_names_what_is_not_there_is_refused(more: str, message: str) -> None:
    assert any(message in one.message for one in problems(SCENE + more)), problems(SCENE + more)


def test_the_example_pack_has_scenes_for_what_its_desks_offer() -> None:
    pack = validate(read_folder(Path("packs/construction")))
    scenes = scenes_from_settings(settings_of(pack))
    web = [binding.channels.web for binding in pack.bindings.values()]
    samples = [sample for one in web if one for sample in one.samples]
    for question in (*samples, "What can you help me with?", "What happened most recently?"):
        assert any(pattern.search(question) for scene in scenes for pattern in scene.ask), question
