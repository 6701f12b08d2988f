"""What models read of the record types: true for the pack, and bounded."""

import json

from parlour.infra.json_values import JsonObject
from parlour.records.type_lines import KnownTypes, render_type_lines

TASK: JsonObject = {
    "owner": {"type": "text", "required": True},
    "due": {"type": "date"},
    "state": {"type": "choice", "choices": ["open", "in progress", "waiting"], "required": True},
    "exposure": {"type": "number", "unit": "GBP"},
    "days": {"type": "integer"},
}


def lines(types: KnownTypes, *, can_link: bool = True) -> list[str]:
    return render_type_lines(types, can_link=can_link)


def test_a_line_has_properties_in_order_with_choices_units_and_kinds() -> None:
    expected = "- task: owner*, due (date), state* (open | in progress | waiting), exposure (GBP), days (integer)"
    assert expected in lines(KnownTypes({"task": TASK}))
    stored = {name: TASK[name] for name in sorted(TASK)}
    row = {"key": "task", "properties": stored, "property_order": [*TASK], "is_built_in": False}
    assert expected in lines(KnownTypes.parse(json.dumps({"types": [row]})))


def test_examples_are_true_for_the_pack() -> None:
    text = "\n".join(lines(KnownTypes({"case": {"phase": {"type": "choice", "choices": ["first", "last"]}}})))
    assert "as case/KEY" in text


def test_relations_are_there_only_for_who_can_use_them() -> None:
    types = KnownTypes({"task": TASK}, ("answers",))
    assert lines(types)[-1].startswith("Relations: answers, contains, depends_on")
    assert "Relations" not in "\n".join(lines(types, can_link=False))


def test_built_in_types_have_lines_only_where_the_pack_has_no_types() -> None:
    assert any(line.startswith("- task: description, state (open |") for line in lines(KnownTypes()))
    own = "\n".join(lines(KnownTypes({"case": TASK})))
    assert "- task:" not in own
    assert "risk, task" in own
    assert "conversation" not in own


def test_many_types_and_properties_stay_short() -> None:
    wide: JsonObject = {f"p{number}": {"type": "text"} for number in range(40)}
    wide["last"] = {"type": "choice", "choices": [f"c{number}" for number in range(30)], "required": True}
    found = lines(KnownTypes({f"t{number:02}": wide for number in range(40)}))
    described = [line for line in found if line.startswith("- t")]
    assert len(described) == 12
    assert all("last* (c0 | " in line and line.endswith("...") and len(line) < 300 for line in described)
    assert "t39" in "\n".join(found)


def test_the_rows_of_built_in_types_do_not_count_as_the_packs() -> None:
    rows = {"types": [{"key": "task", "properties": TASK, "is_built_in": True}], "relations": None}
    assert KnownTypes.parse(json.dumps(rows)) == KnownTypes()
    assert KnownTypes.parse("") == KnownTypes()
