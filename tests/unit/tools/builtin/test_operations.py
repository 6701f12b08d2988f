"""What the result of a tool says was done to records."""

from dataclasses import replace

import pytest

from parlour.infra.json_values import JsonObject
from parlour.tools.builtin.definitions import CREATE_ENTITY, LINK_ENTITIES, LIST_ENTITIES, UPDATE_ENTITY
from parlour.tools.builtin.operations import ALREADY_DONE_NOTE, RecordOperation, read_operations
from parlour.tools.tool_definition import Tool

EDGE: JsonObject = {"from": "risk/R-1", "relation": "references", "to": "contract/C-1"}
LINK = RecordOperation("link", "risk/R-1", "references", "contract/C-1")


@pytest.mark.parametrize(
    ("tool", "result", "done"),
    [
        (
            CREATE_ENTITY,
            {"entities_created": [{"handle": "risk/R-1", "name": "Wind"}], "edges_created": [EDGE]},
            [RecordOperation("create", "risk/R-1"), LINK],
        ),
        (CREATE_ENTITY, {"entities_created": [{"handle": "risk/R-1"}, "..."]}, [RecordOperation("create", "risk/R-1")]),
        (UPDATE_ENTITY, {"handle": "task/T", "changed": {"state": {}}}, [RecordOperation("update", "task/T")]),
        (UPDATE_ENTITY, {"handle": "task/T", "changed": {"text": "written"}}, [RecordOperation("update", "task/T")]),
        (UPDATE_ENTITY, {"handle": "task/T", "note": ALREADY_DONE_NOTE}, [RecordOperation("update", "task/T")]),
        (UPDATE_ENTITY, {"handle": "task/T", "changed": {}, "note": "It was so already."}, []),
        (LINK_ENTITIES, {"edges_created": [EDGE]}, [LINK]),
        (LINK_ENTITIES, {"edges_removed": [EDGE], "not_there": [EDGE]}, [replace(LINK, action="unlink")]),
        (LIST_ENTITIES, {"entities_created": [{"handle": "risk/R-1"}]}, []),
        (replace(CREATE_ENTITY, endpoint="https://example.com"), {"entities_created": [{"handle": "risk/R-1"}]}, []),
    ],
)
def test_what_was_done_is_read_from_the_result(tool: Tool, result: JsonObject, done: list[RecordOperation]) -> None:
    assert read_operations(tool, result) == done
