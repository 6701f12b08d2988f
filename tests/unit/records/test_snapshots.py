"""A record reads as a sentence, with everything that it says."""

import pytest

from parlour.infra.json_values import Json, JsonObject
from parlour.records.property_text import format_value, with_property_order
from parlour.records.snapshots import SnapshotTemplate, placeholders, snapshot_row

TASK = SnapshotTemplate(
    "task",
    "Task",
    {"status": {"type": "string"}, "due_on": {"label": "Due"}},
    {"semantic": "{{name}} ({{key}}) is a {{ type }}, status {{status}}, held by {{owner}}"},
)


def text(record_type: SnapshotTemplate, properties: JsonObject) -> str:
    return snapshot_row(record_type, "T-7", "Slab pour", properties, 2).content


def test_the_template_comes_first_and_then_what_it_does_not_name() -> None:
    said = text(TASK, {"status": "open", "owner": "Ravi", "due_on": "2026-03-09", "cost_head": "RCC"})
    assert said == "Slab pour (T-7) is a Task, status open, held by Ravi\nDue: 2026-03-09\ncost head: RCC"


def test_a_property_without_a_value_is_unknown() -> None:
    assert text(TASK, {"status": "open", "due_on": None}) == "Slab pour (T-7) is a Task, status open, held by unknown"


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"state": "in progress"}, "Slab pour is in progress. See the plan."),
        (
            {"state": "open", "due": "3 May", "note": "v1.2"},
            "Slab pour is open. Due 3 May for unknown. v1.2. See the plan.",
        ),
        ({"note": "wet", "who": "Ravi"}, "Slab pour is unknown. Due unknown for Ravi. wet. See the plan."),
    ],
)
def test_a_sentence_without_a_value_is_left_out(properties: JsonObject, expected: str) -> None:
    template: JsonObject = {"semantic": "{{name}} is {{state}}. Due {{due}} for {{who}}. {{note}}. See the plan."}
    assert text(SnapshotTemplate("task", "Task", {}, template), properties) == expected


def test_properties_are_in_the_order_of_their_types_file_and_numbers_have_their_unit() -> None:
    defined: JsonObject = {
        "price": {"type": "number", "unit": "GBP", "label": "possible cost"},
        "to": {"type": "text"},
        "year": {"type": "integer"},
        "is_wet": {"type": "boolean", "unit": "GBP"},
    }
    values: JsonObject = {"is_wet": True, "old": "x", "to": "Pune", "price": 46000, "year": 2026}
    rag = with_property_order(defined, {"semantic": "{{name}}"})
    assert text(SnapshotTemplate("t", "T", defined, rag), values).splitlines() == [
        "Slab pour",
        "possible cost: 46,000 GBP",
        "to: Pune",
        "year: 2026",
        "is wet: yes",
        "old: x",
    ]
    own = {**rag, "semantic": "{{name}} costs £{{price}}"}  # a template writes its units itself
    assert text(SnapshotTemplate("t", "T", defined, own), values).startswith("Slab pour costs £46000\nto:")


@pytest.mark.parametrize("rag", [{}, {"semantic": ""}, {"semantic": 3}])
def test_without_a_template_name_and_type_begin(rag: JsonObject) -> None:
    assert text(SnapshotTemplate("task", "Task", {}, rag), {"status": "open"}) == "Slab pour (Task)\nstatus: open"


def test_a_property_cannot_pass_for_the_records_own_name() -> None:
    assert text(SnapshotTemplate("t", "Task"), {"name": "other"}).startswith("Slab pour (Task)")


def test_values_are_not_read_as_templates() -> None:
    assert text(TASK, {"status": "{{owner}}", "owner": "Ravi"}).splitlines()[0].endswith("{{owner}}, held by Ravi")


def test_the_row_is_citable() -> None:
    row = snapshot_row(TASK, "T-7", "Slab pour", {}, 2)
    assert (row.kind, row.title, row.classification) == ("snapshot", "Slab pour", 2)
    assert row.metadata == {"kind": "Task", "heading": "record", "type": "task", "key": "T-7"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        (True, "yes"),
        (False, "no"),
        (0, "0"),
        (2.5, "2.5"),
        (" x ", "x"),
        (["a", None, 2], "a, 2"),
        ({"street_name": "MG Road", "flat": None}, "street name: MG Road"),
        ([], ""),
    ],
)
def test_values_are_said_as_people_write_them(value: Json, expected: str) -> None:
    assert format_value(value) == expected


def test_the_properties_a_template_names() -> None:
    assert placeholders("{{name}} {{ status }} {{key}} {{type}} {{due_on}} { status }") == {"status", "due_on"}
