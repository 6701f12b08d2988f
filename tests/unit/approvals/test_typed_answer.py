"""Only a clear word, about exactly one question, is an answer."""

import time
from uuid import UUID

import pytest

from parlour.approvals.typed_answer import TypedAnswer, button_id, parse_button_id, read_typed_answer


@pytest.mark.parametrize("text", ["yes", "Yes!", "  YES please ", "do it", "ja", "हाँ", "haan", "oui", "sí"])
def test_a_clear_yes_to_one_question_approves(text: str) -> None:
    assert read_typed_answer(text, 1) == TypedAnswer(0, "approve")


@pytest.mark.parametrize(
    ("text", "reason"), [("no", ""), ("No.", ""), ("No, tomorrow is better", "tomorrow is better"), ("नहीं", "")]
)
def test_a_clear_no_refuses_with_its_reason(text: str, reason: str) -> None:
    assert read_typed_answer(text, 1) == TypedAnswer(0, "refuse", reason)


@pytest.mark.parametrize("text", ["ok", "okay", "👍", "sure", "yes but later", "yesterday", "note 4", "", "1", "1 ok"])
def test_anything_else_is_no_answer(text: str) -> None:
    assert read_typed_answer(text, 1) is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("2 yes", TypedAnswer(1, "approve")),
        ("yes 2", TypedAnswer(1, "approve")),
        ("1. no", TypedAnswer(0, "refuse")),
        ("yes", None),
        ("3 yes", None),
        ("0 yes", None),
    ],
)
def test_of_several_questions_one_is_named_by_its_number(text: str, answer: TypedAnswer | None) -> None:
    assert read_typed_answer(text, 2) == answer


def test_a_button_stands_for_its_question_and_answer() -> None:
    approval_id = UUID(int=7)
    assert parse_button_id(button_id(approval_id, "approve")) == (approval_id, "approve")
    assert parse_button_id(button_id(approval_id, "refuse")) == (approval_id, "refuse")
    assert parse_button_id("approval:nothing:yes") is None
    assert parse_button_id("") is None


@pytest.mark.parametrize(
    "text",
    [
        "a" + " " * 60_000 + "b",
        "no" + " \n" * 30_000 + "1 x",
        "no," + "\t" * 60_000 + "2",
        "yes " * 60,
        "no, " + "a" * 200,
    ],
)
@pytest.mark.parametrize("open_count", [1, 3])
def test_a_long_text_is_no_answer_and_costs_nothing(text: str, open_count: int) -> None:
    begun = time.process_time()
    assert read_typed_answer(text, open_count) is None
    assert time.process_time() - begun < 0.05


def test_an_answer_of_200_characters_with_its_reason_is_read() -> None:
    reason = "because " * 24 + "ok"
    assert len(f"no, {reason}") <= 200
    assert read_typed_answer(f"no, {reason}", 1) == TypedAnswer(0, "refuse", reason)
    assert read_typed_answer(f"no, {reason} 2", 2) == TypedAnswer(1, "refuse", reason)
