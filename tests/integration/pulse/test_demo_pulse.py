"""The Pulse of the demo: scripted statements, with figures from the record as it is now."""

from decimal import Decimal

from parlour.infra.json_values import JsonObject
from parlour.models.demo_scenes import DEMO_SETTING, scenes_from_settings
from parlour.models.offline import OfflineModel
from parlour.pulse.writing.demo_pulse import DemoPulseModel
from tests.integration.pulse.pulse_harness import PulseHarness


def write(pulse_harness: PulseHarness, pulse_of: str) -> None:
    scene: JsonObject = {
        "pulse_of": pulse_of,
        "quotes": {"place": {"pattern": r"stands at ([\w ]+)\."}, "ferry": {"pattern": "the ferry leaves at (.+)"}},
        "replies": [{"text": "The office stands at {place}."}, {"text": "The ferry leaves at {ferry}."}],
    }
    scenes = scenes_from_settings({DEMO_SETTING: {"harbour": scene}})
    pulse_harness.models = {"offline": OfflineModel(), "demo": DemoPulseModel(scenes)}
    pulse_harness.refresh()


def test_a_pulse_says_what_its_material_holds_and_changes_with_it(pulse_harness: PulseHarness) -> None:
    write(pulse_harness, "site/harbour")
    assert pulse_harness.pulse_column().startswith("- The office stands at the north quay.")
    assert "ferry" not in pulse_harness.pulse_column()
    pulse_harness.change("site/harbour", place="the south quay")
    write(pulse_harness, "site/harbour")
    assert pulse_harness.pulse_column().startswith("- The office stands at the south quay.")
    assert pulse_harness.pulse_column("provider") == "demo"
    assert Decimal(pulse_harness.pulse_column("cost_usd")) > 0


def test_a_record_without_a_scene_is_quoted(pulse_harness: PulseHarness) -> None:
    write(pulse_harness, "site/other")
    assert "Offline model" in pulse_harness.pulse_column()
