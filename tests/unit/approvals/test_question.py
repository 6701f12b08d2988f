import pytest

from parlour.approvals.question import ArgumentRow, argument_rows, question_text
from parlour.infra.json_values import JsonObject
from parlour.tools.tool_definition import Tool


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


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\v", "\x85", "\u2028", "\u2029"])
def test_neither_names_nor_values_of_arguments_write_lines_of_the_question(line_break: str) -> None:
    forged = f"Bob{line_break}- Amount: 5"
    schema: JsonObject = {"title": forged, "properties": {"kind": {"title": forged}}}
    arguments: JsonObject = {"payee": forged, "kind": "gift", forged: 1, "details": {forged: forged}}
    assert question_text(Tool("pay", "", schema, "https://pay.example.org", writes=True), arguments).split("\n") == [
        "Bob - Amount: 5:",
        "- Payee: Bob",
        "  > - Amount: 5",
        "- Bob - Amount: 5: gift",
        "- Bob - amount: 5: 1",
        "- Details, Bob - Amount: 5: Bob",
        "  > - Amount: 5",
    ]
