import base64

import pytest

from parlour.infra.json_values import JsonObject
from tests.unit.models.demo_request import GAUGE, SEARCH, called, found, play, user

SCENES: JsonObject = {"gauge": GAUGE}


def text(block: JsonObject) -> str:
    return str(block["text"])


def test_a_scene_calls_its_tool_then_quotes_and_cites_the_result() -> None:
    call = play(SCENES, user("How wide is the CRACK?"))
    assert (call["name"], call["input"]) == ("search_knowledge", {"query": "crack width"})
    assert text(play(SCENES, user("The crack?"), *found("The\nwidth **0.45 mm**"))) == "It is 0.45 mm wide [7]."


@pytest.mark.parametrize("document", [("no figure", "Site report no. 19"), ("width 0.45 mm", "A letter")])
def test_a_quote_that_the_result_lacks_leaves_the_offline_model_to_answer(document: tuple[str, str]) -> None:
    reply = text(play(SCENES, user("The crack?"), *found(*document)))
    assert "wide [7]" not in reply
    assert "Offline model" not in reply


def test_what_no_scene_matches_is_answered_by_the_offline_model() -> None:
    assert play(SCENES, user("Who is the arbitrator?"))["input"] == {"query": "Who is the arbitrator?"}


def test_the_offline_model_goes_on_with_what_it_began() -> None:
    messages = [user("The crack?"), *called("search_knowledge", {"documents": []}, "toolu_offline_1")]
    assert text(play(SCENES, *messages)).startswith("I found nothing")


def test_a_scene_whose_tool_the_agent_lacks_is_not_played() -> None:
    ordering: JsonObject = {"ask": ["order"], "calls": [{"tool": "order"}], "replies": [{"text": "Ordered."}]}
    assert play({"o": ordering}, user("order it"))["name"] == "order"
    assert play({"o": ordering}, user("order it"), tools=(SEARCH,))["name"] == "search_knowledge"


def test_slots_come_from_the_pattern_and_from_earlier_results() -> None:
    ordering: JsonObject = {
        "ask": [r"order (?P<thing>\w+)"],
        "calls": [
            {"tool": "order", "arguments": {"what": "{thing}", "urgent": True}},
            {"tool": "order", "arguments": {"again": ["{order.entities.0.id}"]}},
        ],
        "replies": [{"text": "{thing}: {order.number}"}],
    }
    asked = user("Please order sand")
    first = called("order", {"entities": [{"id": "o/1"}], "number": 5})
    assert play({"o": ordering}, asked)["input"] == {"what": "sand", "urgent": True}
    assert play({"o": ordering}, asked, *first)["input"] == {"again": ["o/1"]}
    assert text(play({"o": ordering}, asked, *first, *called("order", {"number": 6}, "toolu_demo_2"))) == "sand: 6"


def test_a_slot_of_a_call_has_the_type_of_the_tools_schema() -> None:
    properties: JsonObject = {
        "amount": {"type": "number"},
        "days": {"type": "integer"},
        "is_urgent": {"type": "boolean"},
        "code": {"type": "string"},
    }
    refund: JsonObject = {"name": "refund", "input_schema": {"type": "object", "properties": properties}}
    arguments: JsonObject = {"amount": "{amount}", "days": "{days}", "is_urgent": "true", "code": "{days}"}
    scene: JsonObject = {
        "ask": [r"refund (?P<amount>\S+) in (?P<days>\S+)"],
        "calls": [{"tool": "refund", "arguments": arguments}],
        "replies": [{"text": "Done."}],
    }
    for asked, amount, days in (("50 in 3", 50, 3), ("12.5 in 3", 12.5, 3), ("12,5 in three", "12,5", "three")):
        given = play({"r": scene}, user(f"refund {asked}"), tools=(refund,))["input"]
        assert given == {"amount": amount, "days": days, "is_urgent": True, "code": str(days)}


def test_a_reply_with_a_condition_needs_a_result_that_has_it() -> None:
    ordering: JsonObject = {
        "ask": ["order"],
        "calls": [{"tool": "order"}],
        "replies": [{"text": "Unsure.", "result_has": "nobody knows"}, {"text": "Ordered."}],
    }
    assert text(play({"o": ordering}, user("order"), *called("order", {"message": "Nobody knows"}))) == "Unsure."
    assert text(play({"o": ordering}, user("order"), *called("order", {"number": 1}))) == "Ordered."


def test_of_two_scenes_the_one_with_the_longer_match_is_played() -> None:
    scenes: JsonObject = {
        "a": {"ask": ["crack"], "replies": [{"text": "short"}]},
        "b": {"ask": ["raise .*crack"], "replies": [{"text": "long"}]},
    }
    assert text(play(scenes, user("Raise an RFI about the crack"))) == "long"
    assert text(play(scenes, user("the crack"))) == "short"


def test_a_scene_may_follow_another() -> None:
    scenes: JsonObject = {
        "first": {"ask": ["crane"], "replies": [{"text": "In April."}]},
        "more": {"ask": ["why"], "after": "first", "replies": [{"text": "The stop."}]},
    }
    reply: JsonObject = {"role": "assistant", "content": [{"type": "text", "text": "In April."}]}
    assert text(play(scenes, user("The crane?"), reply, user("And why?"))) == "The stop."
    assert "stop" not in str(play(scenes, user("And why?")))


def test_what_is_remembered_of_the_user_fills_a_slot() -> None:
    scenes: JsonObject = {
        "who": {
            "ask": ["my name"],
            "quotes": {"name": {"source": "facts", "pattern": "^- name: (.+)$"}},
            "replies": [{"text": "You are {name}."}],
        }
    }
    assert text(play(scenes, user("What is my name?"))) == "You are Rosa."


def test_a_picture_is_told_by_format_and_size() -> None:
    scenes: JsonObject = {"p": {"attachment": "image", "replies": [{"text": "{attachment.format}, {attachment.size}"}]}}
    data = base64.b64encode(bytes(3 * 1024)).decode()
    image: JsonObject = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    assert text(play(scenes, user("", image))) == "PNG, 3 kB"
    assert "PNG" not in str(play(scenes, user("Look at this crane")))


def test_a_late_result_is_reported() -> None:
    scenes: JsonObject = {
        "r": {"result_of": "order", "replies": [{"text": "Here: {order.number}.", "result_has": "REP"}]}
    }
    late = '[What became of a tool call of an earlier turn. It is data: {"tool":"order","result":{"number":"REP-1"}}]'
    assert text(play(scenes, user(late))) == "Here: REP-1."


def test_dates_are_worked_out_and_a_negative_span_is_not_told() -> None:
    scene: JsonObject = {
        "ask": ["in time"],
        "calls": [{"tool": "search_knowledge"}],
        "quotes": {
            "told": {"pattern": "told on (.+?);"},
            "period": {"pattern": r"within (\d+) days"},
            "given": {"pattern": "given on (.+?);"},
        },
        "calculations": {
            "end": {"add_days": ["told", "period"]},
            "spare": {"days_between": ["given", "end"]},
            "late": {"days_between": ["end", "given"]},
        },
        "replies": [{"text": "{spare} to spare before {end}"}, {"text": "{late} late"}],
    }
    early = found("told on 12 February 2026; within 14 days; given on 25 Feb 2026;")
    assert text(play({"n": scene}, user("in time?"), *early)) == "1 to spare before 26 February 2026"
    late = found("told on 12 February 2026; within 14 days; given on 2026-03-01;")
    assert text(play({"n": scene}, user("in time?"), *late)) == "3 late"


def test_a_reply_that_does_not_cite_what_it_quotes_is_not_given() -> None:
    silent: JsonObject = {**GAUGE, "replies": [{"text": "It is {width} wide."}]}
    assert "It is" not in text(play({"gauge": silent}, user("The crack?"), *found("width 0.45 mm")))
