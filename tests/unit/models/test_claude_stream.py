import copy

import pytest

from parlour.infra.errors import ProviderUnavailable
from parlour.infra.json_values import JsonObject
from parlour.models.claude_stream import is_content_event, stream_parts
from parlour.models.model import Completion, TextDelta, TokenUsage


def start(**usage: int) -> JsonObject:
    return {"type": "message_start", "message": {"id": "msg_1", "content": [], "usage": {**usage}}}


def block(index: int, content: JsonObject, *deltas: JsonObject) -> list[JsonObject]:
    grown: list[JsonObject] = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *grown,
        {"type": "content_block_stop", "index": index},
    ]


def stop(reason: str = "end_turn", **usage: int | None) -> list[JsonObject]:
    return [
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {**usage}},
        {"type": "message_stop"},
    ]


def text(*pieces: str) -> list[JsonObject]:
    deltas: list[JsonObject] = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(0, {"type": "text", "text": ""}, *deltas)


def call(name: str) -> JsonObject:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}


def piece(text: str) -> JsonObject:
    return {"type": "input_json_delta", "partial_json": text}


def completed(*events: JsonObject) -> Completion:
    *_, last = stream_parts(copy.deepcopy(events))
    assert isinstance(last, Completion)
    return last


def test_text_comes_as_it_is_written_and_then_as_a_whole() -> None:
    events = [start(input_tokens=12, output_tokens=1), *text("The answer", " is 42."), *stop(output_tokens=9)]

    assert list(stream_parts(events)) == [
        TextDelta("The answer"),
        TextDelta(" is 42."),
        Completion(({"type": "text", "text": "The answer is 42."},), "end_turn", TokenUsage(12, 9)),
    ]


def test_a_tool_call_is_put_together_from_its_pieces() -> None:
    pieces = map(piece, ("", '{"query": "reten', 'tion 5%"}'))

    answer = completed(start(), *block(0, call("search_knowledge"), *pieces), *stop("tool_use"))

    assert answer.stop_reason == "tool_use"
    assert answer.blocks == ({**call("search_knowledge"), "input": {"query": "retention 5%"}},)


def test_a_tool_call_without_arguments_has_an_empty_input() -> None:
    assert completed(start(), *block(0, call("list")), *stop("tool_use")).blocks == (call("list"),)


def test_thinking_is_kept_as_it_came() -> None:
    thinking = block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "First, "},
        {"type": "thinking_delta", "thinking": "look."},
        {"type": "signature_delta", "signature": "c2ln"},
    )
    redacted = block(1, {"type": "redacted_thinking", "data": "b3BhcXVl"})

    answer = completed(start(), *thinking, *redacted, *stop())

    assert answer.blocks == (
        {"type": "thinking", "thinking": "First, look.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
    )


def test_citations_are_kept() -> None:
    cited = block(
        0,
        {"type": "text", "text": "", "citations": None},
        {"type": "text_delta", "text": "5%"},
        {"type": "citations_delta", "citation": {"cited_text": "retention of 5%"}},
    )

    assert completed(start(), *cited, *stop()).blocks == (
        {"type": "text", "text": "5%", "citations": [{"cited_text": "retention of 5%"}]},
    )


def test_what_is_not_known_yet_does_no_harm() -> None:
    news = block(0, {"type": "hologram", "beam": 7}, {"type": "hologram_delta", "beam": 8})

    answer = completed(start(), {"type": "weather_report"}, *news, *stop("new_reason"))

    assert answer.blocks == ({"type": "hologram", "beam": 7},)
    assert answer.stop_reason == "new_reason"


def test_later_counts_replace_earlier_ones_and_missing_ones_do_not() -> None:
    begun = start(input_tokens=3, output_tokens=1, cache_read_input_tokens=900, cache_creation_input_tokens=80)

    usage = completed(begun, *text("x"), *stop(output_tokens=7, cache_creation_input_tokens=None, input_tokens=4)).usage

    assert usage == TokenUsage(input_tokens=4, output_tokens=7, cache_read_tokens=900, cache_write_tokens=80)


@pytest.mark.parametrize("kept", range(1, 6))
def test_a_stream_that_is_cut_anywhere_is_unavailable(kept: int) -> None:
    events = [start(), *text("a", "b"), *stop()]

    with pytest.raises(ProviderUnavailable, match="broke off"):
        list(stream_parts(events[:kept]))


def test_an_input_that_the_length_limit_cut_is_empty() -> None:
    cut = piece('{"text": "and th')

    assert completed(start(), *block(0, call("note"), cut), *stop("max_tokens")).blocks == (call("note"),)


@pytest.mark.parametrize("garbled", ['{"a": ', '{"a": NaN}', "not json"])
def test_an_input_that_cannot_be_read_is_not_passed_on(garbled: str) -> None:
    with pytest.raises(ProviderUnavailable) as caught:
        completed(start(), *block(0, call("note"), piece(garbled)), *stop("tool_use"))
    assert garbled not in str(caught.value)


def test_text_that_no_database_takes_is_cleaned() -> None:
    answer = list(stream_parts([start(), *text("a\0b", "\ud83d", "\ude00"), *stop()]))

    assert answer[0] == TextDelta("ab")
    assert answer[-1] == Completion(({"type": "text", "text": "ab😀"},), "end_turn", TokenUsage(0, 0))
    assert all(part.text.encode() for part in answer if isinstance(part, TextDelta))


def test_the_first_token_is_the_first_content() -> None:
    events = [start(), *text("x"), *stop()]

    assert [is_content_event(event) for event in events] == [False, True, True, True, False, False]
