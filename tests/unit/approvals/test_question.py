from parlour.approvals.question import ArgumentRow, argument_rows
from parlour.infra.json_values import JsonObject


def test_each_value_of_an_argument_has_a_row_in_words() -> None:
    schema: JsonObject = {"properties": {"kind": {"type": "string", "title": "Type"}}}
    arguments: JsonObject = {
        "kind": "task",
        "properties": {"owner": "Rosa", "is_late": True},
        "tags": ["a"],
        "links": {},
    }
    assert argument_rows(arguments, schema) == [
        ArgumentRow("Type", "task"),
        ArgumentRow("Properties, owner", "Rosa"),
        ArgumentRow("Properties, is late", "yes"),
        ArgumentRow("Tags", '["a"]'),
        ArgumentRow("Links", "{}"),
    ]
