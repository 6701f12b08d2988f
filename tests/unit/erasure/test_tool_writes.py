"""What a call wrote into a record and still stands there."""

from parlour.erasure import tool_writes
from parlour.infra.json_values import Json, JsonObject

RECORD: JsonObject = {"note": "by the gate", "state": "open", "cost": 40}
CHANGES: Json = [{"state": None}, {"cost": 40}]


def test_values_are_found_wherever_the_arguments_name_them_and_only_while_they_stand() -> None:
    arguments: JsonObject = {"properties": {"note": "by the gate", "other": "x", "state": "closed"}, "more": CHANGES}
    assert tool_writes.values_still_written(arguments, RECORD) == {"note": "by the gate", "cost": 40}
    assert tool_writes.values_still_written(arguments, {"note": "somewhere else"}) == {}


def test_only_texts_that_tell_anything_are_looked_for() -> None:
    assert tool_writes.searchable_values(["by the gate", "yes", 40, None, "  open  "]) == ["by the gate", "open"]


def test_every_text_among_the_arguments_is_known() -> None:
    assert tool_writes.argument_texts({"name": "Gate", "more": [{"name": "Door"}, 4]}) == {"Gate", "Door"}


def test_what_any_record_may_say_and_the_names_of_others_tell_of_nothing() -> None:
    values = ["open", "risk/R-03", "in_progress", "Asha", "by the gate", "wisteria-hall", "4711", "ok"]
    assert tool_writes.distinctive_values(values) == ["Asha", "by the gate", "wisteria-hall", "4711"]


def test_of_longer_values_their_telling_words_count_too() -> None:
    assert tool_writes.distinctive_values(["Call Asha at 5010-22 first."]) == [
        "Call Asha at 5010-22 first.",
        "Asha",
        "5010-22",
    ]
