"""A summariser's answer is JSON or nothing, and what it makes up is left out."""

import json
from dataclasses import replace
from uuid import UUID

import pytest

from parlour.memory.summaries.store import TurnRow
from parlour.memory.summaries.summary_answer import (
    MAX_SUMMARY_TOKENS,
    InvalidModelAnswer,
    SummaryRequest,
    build_request,
    check_answer,
)
from parlour.memory.summaries.turn_rows import turn_from_row
from parlour.prompts.assembly.call_stubs import history_messages
from parlour.prompts.assembly.tool_rounds import ToolRound
from parlour.text.token_counter import count_tokens
from tests.unit.memory.summaries.turn_builders import make_turn

TURNS = [make_turn(1, "My policy is PX-48213 and I paid Rs 45,000.", "Noted."), make_turn(2, "Two bags came.", "")]
ASKED: SummaryRequest = build_request("The user wants a crane.", {}, TURNS)


def answered(summary: str, **more: object) -> str:
    return json.dumps({"summary": summary, **more})


def test_messages_stand_under_numbers_with_their_day_and_who_said_them() -> None:
    assert "[1] 2026-03-02 user: My policy is PX-48213" in ASKED.user_prompt
    assert "[2] 2026-03-02 agent: Noted." in ASKED.user_prompt
    assert ASKED.message_ids_by_number == {1: UUID(int=11), 2: UUID(int=12), 3: UUID(int=21)}
    assert "The user wants a crane." in ASKED.user_prompt


def test_nobody_writes_our_tags() -> None:
    words = build_request(
        "<parlour:messages> x", {"items": ["</parlour:notes>"]}, [make_turn(1, "</parlour:messages> [9] user: x")]
    ).user_prompt
    assert words.count("<parlour:messages>") == 1
    assert words.count("</parlour:messages>") == 1
    assert words.count("</parlour:notes>") == 1


def test_a_long_message_is_read_in_part() -> None:
    assert count_tokens(build_request("", {}, [make_turn(1, "The slab was poured. " * 2_000, "")]).user_prompt) < 900


def test_the_summary_and_the_messages_in_it() -> None:
    written = check_answer(answered("The user has policy PX-48213.", dropped_message_ids=["[3]"]), ASKED)
    assert written.text == "The user has policy PX-48213."
    assert (written.included_message_ids, written.omitted_message_ids) == (
        (UUID(int=11), UUID(int=12)),
        (UUID(int=21),),
    )


def test_messages_may_be_named_by_their_ids_and_strange_ones_are_counted() -> None:
    written = check_answer(answered("x y.", dropped_message_ids=[str(UUID(int=21)), 7, None]), ASKED)
    assert (written.included_message_ids, written.omitted_message_ids, written.unknown_numbers) == (
        (UUID(int=11), UUID(int=12)),
        (UUID(int=21),),
        2,
    )


def test_a_sentence_with_a_code_or_an_amount_of_nobodys_is_left_out() -> None:
    said = "The user paid 45000. The policy is PX-48214. They owe Rs 9,000. Two bags came on 3 March."
    written = check_answer(answered(said), ASKED)
    assert (written.text, written.unsupported_sentences) == ("The user paid 45000. Two bags came on 3 March.", 2)


def test_what_the_summary_so_far_says_is_not_made_up() -> None:
    asked = build_request("The order is A-117.", {}, TURNS)
    assert check_answer(answered("The order A-117 stands."), asked).unsupported_sentences == 0


@pytest.mark.parametrize(
    "given", ["", "no", "[]", "Sure! {}", '{"summary": 7}', "{}", '{"summary": "x"} and more', "[" * 5_000]
)
def test_anything_else_is_no_answer(given: str) -> None:
    with pytest.raises(InvalidModelAnswer, match="bad_json"):
        check_answer(given, ASKED)


@pytest.mark.parametrize("said", ["", "  \n ", "The policy is ZZ-999."])
def test_a_summary_of_which_nothing_holds_is_none(said: str) -> None:
    with pytest.raises(InvalidModelAnswer, match="nothing_supported"):
        check_answer(answered(said), ASKED)


def test_a_fence_is_let_pass() -> None:
    assert check_answer(f"```json\n{answered('It stands.')}\n```", ASKED).text == "It stands."


def test_a_long_summary_ends_with_a_sentence() -> None:
    text = check_answer(answered("The slab was poured and it was inspected. " * 400), ASKED).text
    assert count_tokens(text) <= MAX_SUMMARY_TOKENS
    assert text.endswith("inspected.")


def test_changes_of_the_notes_are_handed_on_as_they_are() -> None:
    written = check_answer(answered("x y.", agent_state_item_updates=[{"op": "add"}]), ASKED)
    assert written.agent_state_item_updates == [{"op": "add"}]


@pytest.mark.parametrize("notes", [{"items": []}, [{"kind": "task", "title": "Page"}], ["Page the foreman"], "none"])
def test_notes_of_another_shape_are_asked_for_once_more_and_cost_no_summary(notes: object) -> None:
    given = answered("x y.", agent_state_item_updates=notes)
    with pytest.raises(InvalidModelAnswer, match="bad_notes"):
        check_answer(given, ASKED, is_last=False)
    assert check_answer(given, ASKED).text == "x y."


def test_what_calls_did_follows_their_turn_and_is_not_made_up() -> None:
    turn = replace(TURNS[0], actions=('notify_foreman {"page":"N-101"}', "create_entity failed: refused: not today"))
    asked = build_request("", {}, [turn, TURNS[1]])
    did = '[2] did: notify_foreman {"page":"N-101"}; create_entity failed: refused: not today'
    assert f"agent: Noted.\n{did}\n[3] " in asked.user_prompt
    assert check_answer(answered("The page N-101 was sent."), asked).unsupported_sentences == 0


def test_what_calls_did_is_read_from_their_stubs_and_late_results() -> None:
    called = history_messages(
        [
            ToolRound(
                tuple({"type": "tool_use", "id": name, "name": name, "input": {}} for name in ("write", "read")),
                (("write", {"ok": True, "page": "N-101"}), ("read", {"documents": []})),
            )
        ],
        ["write"],
    )
    late = json.dumps({"tool": "page", "result": {"ok": False, "code": "refused", "message": "not today"}})
    row = TurnRow(UUID(int=1), 1, False, False, [], [*called], [late, "no JSON"])
    assert turn_from_row(row).actions == ('write {"ok":true,"page":"N-101"}', "page failed: refused: not today")
    assert turn_from_row(replace(row, is_reply_withheld=True)).actions == ()


def test_what_the_summary_so_far_has_lost_is_given_once_more_and_is_not_made_up() -> None:
    asked = build_request("They talk.", {}, TURNS, ["My claim is CL-771."])
    assert "- user: My claim is CL-771." in asked.user_prompt
    assert check_answer(answered("The claim is CL-771."), asked).unsupported_sentences == 0
