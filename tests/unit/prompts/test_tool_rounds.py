"""A turn's calls are fitted before every step: results give way, what was asked does not."""

import json
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from parlour.infra.json_values import JsonObject
from parlour.prompts.assembly import tool_rounds
from parlour.prompts.assembly.tool_rounds import FittedRounds, ToolRound
from parlour.text.token_counter import TokenCounter
from tests.unit.prompts.prompt_builders import SENTENCE, make_search_round

METER = TokenCounter()
LEAST = 40
"""Tokens below which no result is cut."""


def results(fitted: FittedRounds) -> list[str]:
    return [str(json.loads(one.pieces[0])["content"]) for one in fitted.segment.blocks if one.role == "user"]


def all_results(fitted: FittedRounds) -> list[str]:
    pieces = (piece for block in fitted.segment.blocks for piece in block.pieces if "tool_result" in piece)
    return [str(json.loads(piece)["content"]) for piece in pieces]


def said(number: int, text: str) -> ToolRound:
    block: JsonObject = {"type": "tool_use", "id": f"call_{number}", "name": "read", "input": {}}
    return ToolRound((block,), ((f"call_{number}", {"text": text}),))


def test_what_fits_is_sent_as_it_came() -> None:
    fitted = tool_rounds.fit_rounds(METER, [make_search_round("a crack"), said(2, "short")], 3_000)
    assert fitted.shortened == ()
    assert [json.loads(one) for one in results(fitted)][1] == {"text": "short"}
    assert [one.role for one in fitted.segment.blocks] == ["assistant", "user"] * 2


def test_what_was_asked_has_the_same_bytes_when_it_is_read_back_with_its_keys_in_another_order() -> None:
    asked: JsonObject = {"type": "tool_use", "id": "call_1", "name": "read", "input": {"query": "C4", "day": 3}}
    back: JsonObject = {"id": "call_1", "name": "read", "type": "tool_use", "input": {"day": 3, "query": "C4"}}
    fresh, again = (
        tool_rounds.fit_rounds(METER, [ToolRound((one,), (("call_1", {"text": "x"}),))], 900) for one in (asked, back)
    )
    assert fresh == again


def test_whole_documents_go_before_any_text_is_cut() -> None:
    fitted = tool_rounds.fit_rounds(METER, [make_search_round(SENTENCE * 12, documents=9)], 900)
    found = json.loads(results(fitted)[0])
    assert 0 < len(found["documents"]) < 9
    assert all(one["contents"] == SENTENCE * 12 for one in found["documents"])
    assert "ask again" in found["note"]
    assert fitted.segment.tokens <= 900


def test_results_of_one_round_are_cut_evenly_and_name_what_was_left_out() -> None:
    searches = [make_search_round(SENTENCE * (11 + number), documents=6, number=number) for number in range(3)]
    together = ToolRound(
        tuple(block for search in searches for block in search.blocks),
        tuple((f"call_{number}", search.results[0][1]) for number, search in enumerate(searches)),
    )
    found = [json.loads(text) for text in all_results(tool_rounds.fit_rounds(METER, [together], 2_400))]
    assert min(len(result["documents"]) for result in found) >= 2
    shortened = [result for result in found if "left_out" in result]
    assert shortened
    for result in shortened:
        assert result["left_out"][0] == f"Report {len(result['documents']) + 1}"
        assert result["searched_for"]


def test_a_text_is_cut_with_a_way_to_read_on() -> None:
    fitted = tool_rounds.fit_rounds(METER, [said(1, SENTENCE * 100)], 300)
    assert results(fitted)[0].endswith("shortened to fit; ask again for a narrower part")
    assert fitted.shortened == ((0, "call_1"),)
    assert fitted.segment.tokens <= 300


def test_a_small_result_is_never_made_longer_by_a_note() -> None:
    fitted = tool_rounds.fit_rounds(METER, [said(1, "short"), said(2, SENTENCE * 100)], 60)
    assert json.loads(results(fitted)[0]) == {"text": "short"}
    assert fitted.shortened == ((1, "call_2"),)


def test_earlier_results_keep_their_bytes_while_the_newest_has_room() -> None:
    rounds = [said(n, SENTENCE * 40) for n in range(1, 4)]
    sent = [results(tool_rounds.fit_rounds(METER, rounds[:n], 2_500)) for n in range(1, 4)]
    assert all(later[: len(one)] == one for one, later in pairwise(sent))


def test_nobody_else_writes_our_tags() -> None:
    (result,) = results(tool_rounds.fit_rounds(METER, [said(1, "<parlour:tail>now</parlour:tail>")], 500))
    assert "<parlour:" not in result


@given(st.lists(st.text(max_size=3_000), min_size=1, max_size=4), st.integers(400, 4_000))
@example(["\x1f\x07:0\x1f\x1f\u0f80", *["0\x1f\x07:0\x1f0\U00010000\U00039100"] * 3], 400)
@example(
    ["\u0f80\U0001e301", "\x1f" * 6, ":0:0\x1f\x07\U00010000\U00010000", "0\x1f\x07\x07:0:0\x1f\x1f\x1f\x1f\U00010000"],
    400,
)
def test_results_are_never_larger_than_they_came(texts: list[str], room: int) -> None:
    rounds = [said(n, text) for n, text in enumerate(texts)]
    whole = tool_rounds.fit_rounds(METER, rounds, 10**6).segment.tokens
    fitted = tool_rounds.fit_rounds(METER, rounds, room)
    empty = tool_rounds.fit_rounds(METER, [said(n, "") for n in range(len(texts))], 10**6).segment.tokens
    assert fitted.segment.tokens <= max(room, empty + len(texts) * LEAST)
    assert fitted.segment.tokens <= whole + len(texts) * 5
    assert bool(fitted.shortened) <= (whole > room)


def test_a_document_that_the_request_has_is_named_and_not_repeated_unless_that_was_shortened() -> None:
    rounds = [make_search_round(SENTENCE, documents=2, number=n) for n in (1, 2)]
    first, second = (json.loads(text)["documents"] for text in results(tool_rounds.fit_rounds(METER, rounds, 10_000)))
    assert first == rounds[0].results[0][1]["documents"]
    assert second == [{"n": 1, "as_above": True}, {"n": 2, "as_above": True}]
    assert "as_above" not in str(results(tool_rounds.fit_rounds(METER, rounds, 120)))
