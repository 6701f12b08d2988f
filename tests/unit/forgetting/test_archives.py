"""Which lines of an archive stay, and which values of a record a call wrote."""

import json
from types import SimpleNamespace
from typing import cast

from parlour.forgetting.archives import kept_lines
from parlour.forgetting.records import written
from parlour.infra.jsonable import JsonObject
from parlour.knowledge.records.record import Entity


def test_lines_of_messages_that_go_are_left_out_and_so_is_what_cannot_be_read() -> None:
    lines = [json.dumps({"id": one, "body": "said"}).encode() for one in ("a", "b", "c")]
    assert kept_lines(b"\n".join([*lines, b"{broken", b"[]"]), {"b"}) == [lines[0], lines[2]]


def test_the_values_that_a_call_gave_a_records_properties_are_found_wherever_it_named_them() -> None:
    record = SimpleNamespace(properties={"note": "by the gate", "state": "open"})
    arguments: JsonObject = {
        "ref": "order/A-1",
        "properties": {"note": "by the gate", "other": "x"},
        "changes": [{"state": None}],
    }
    assert list(written(arguments, cast(Entity, record))) == [("note", "by the gate")]
