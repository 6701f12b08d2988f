"""Only clear words are answers, and what is not understood is left to the model. Add a phrasing as a line of CASES."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest

from parlour.approvals.rows import Decision
from parlour.approvals.typed_answer import TypedAnswer, TypedReading, button_id, parse_button_id, read_typed_answers

BLIND_ANSWERS = Path(__file__).with_name("typed_answers.json")


@dataclass(frozen=True)
class Case:
    """What people write to open questions, and what it means.

    answers   by the number of the question: "yes", or "no" with its reason; None: nothing, the model answers it.
    has_rest  the model reads the message, too.
    """

    text: str
    open_count: int
    answers: Mapping[int, str] | None
    has_rest: bool = False


CASES = (
    # One question.
    *(Case(text, 1, {1: "yes"}) for text in ("yes", "Yes!", "  YES please ", "do it", "Go ahead.", "1 yes", "1. Yes")),
    *(
        Case(text, 1, {1: "yes"})
        for text in ("ja", "Ja, bitte", "sí", "Sí, por favor", "oui merci", "हाँ", "जी हाँ", "हो")
    ),
    *(
        Case(text, 1, {1: "no"})
        for text in ("no", "No.", "no thanks", "nein danke", "no gracias", "non", "नहीं", "नाही")
    ),
    Case("No, tomorrow is better", 1, {1: "no tomorrow is better"}, has_rest=True),
    Case("Nein. Erst morgen.", 1, {1: "no Erst morgen."}, has_rest=True),
    Case("No. What does it cost?", 1, {1: "no"}, has_rest=True),
    Case("Nein, wer hat das gesagt", 1, {1: "no"}, has_rest=True),
    Case("नहीं। क्रेन किसके पास है?", 1, {1: "no"}, has_rest=True),
    Case("no, no, stop", 1, {1: "no no, stop"}, has_rest=True),
    *(
        Case(text, 1, None)
        for text in ("ok", "okay", "👍", "sure", "yesterday", "note 4", "", "1", "1 ok", "yes?", "no?")
    ),
    *(Case(text, 1, None) for text in ("yes but later", "yes but make it 10:30, not 10", "Yes, if Tom agrees.")),
    *(Case(text, 1, None) for text in ("ja, aber erst um 10:30", "sí, pero a las 10:30", "oui, mais demain")),
    *(Case(text, 1, None) for text in ("No, go ahead", "Yes. No.", "yes no", "don't do it", "2 yes", "no problem")),
    *(Case(text, 1, None) for text in ("Yes. And is the crane free?", "yes, 10:30", "the first one", "sí o no")),
    *(Case(text, 1, {1: "yes"}) for text in ("Yes please, do that", "Ja bitte, mach das", "Sí, hágalo", "oui, vas-y")),
    *(Case(text, 1, {1: "yes"}) for text in ("oui oui oui !!", "हाँ, कर दो", "haan, kar do", "हो, करा")),
    *(
        Case(text, 1, {1: "yes"}, has_rest=True)
        for text in (
            "Yes. And who looks after the crane booking?",
            "yes and who has the key?",
            "Ja. Wann kommt der Kran?",
            "Ja, und um wie viel Uhr kommt er?",
            "sí, ¿y a qué hora llega la grúa?",
            "Oui, et qui s'occupe de la grue ?",
            "हाँ। और क्रेन कौन देखेगा?",
            "haan, aur crane kab aayegi?",
            "हो. क्रेन कधी येईल?",
        )
    ),
    *(Case(text, 1, None) for text in ("yes, when Tom agrees?", "yes, who pays?", "Yes, but who pays?", "yes. when")),
    *(
        Case(text, 1, None)
        for text in ("Yes. Can we make it 10:30?", "Yes. And when, at 10:30?", "Yes. How about noon?")
    ),
    *(
        Case(text, 1, None)
        for text in ("Yes. Who is there? Make it north.", "Yes. What if Tom disagrees?", "yes no. who?")
    ),
    *(Case(text, 1, None) for text in ("Ja, und wer außer Tom?", "Sí. ¿Qué tal el martes?", "हाँ, क्या अब करें?")),
    *(Case(text, 1, None) for text in ("No, do that", "do not do that", "Yes. And who, only Tom?")),
    # Two questions.
    *(Case(text, 2, {2: "yes"}) for text in ("2 yes", "yes 2", "Yes, 2.", "2: yes", "yes to number 2", "approve 2")),
    *(Case(text, 2, {2: "yes"}) for text in ("the second one", "The second one, please.", "yes, the second")),
    *(
        Case(text, 2, {2: "yes"})
        for text in ("ja, das zweite", "Ja, die zweite bitte", "sí, la segunda", "oui, le deuxième")
    ),
    *(Case(text, 2, {2: "yes"}) for text in ("हाँ, दूसरा", "haan, doosra wala", "हो, दुसरे", "२ हाँ")),
    *(Case(text, 2, {1: "no", 2: "yes"}) for text in ("2 yes 1 no", "1 no, 2 yes", "no 1 yes 2", "1) no 2) yes")),
    Case("the second one, forget the first", 2, {1: "no", 2: "yes"}),
    Case("das zweite, vergiss das erste", 2, {1: "no", 2: "yes"}),
    Case("2 हाँ 1 नहीं", 2, {1: "no", 2: "yes"}),
    *(
        Case(text, 2, {1: "yes", 2: "yes"})
        for text in ("yes to both", "1 and 2 yes", "ja, beide", "oui, les deux", "दोनों हाँ")
    ),
    *(Case(text, 2, {1: "no", 2: "no"}) for text in ("no to both", "1 no 2 no", "beide nein", "no 1 and 2")),
    Case("1 no. And what was RFI-101 about again, and who has that task?", 2, {1: "no"}, has_rest=True),
    Case("1 no, 2 no. Only tomorrow.", 2, {1: "no Only tomorrow.", 2: "no Only tomorrow."}, has_rest=True),
    Case("1 no, 2 yes - and when does the crane come?", 2, {1: "no", 2: "yes"}, has_rest=True),
    Case("1 ja, 2 nein. Und wann kommt der Kran?", 2, {1: "yes", 2: "no"}, has_rest=True),
    *(Case(text, 2, None) for text in ("1 yes. And the second?", "1 yes. And what about 2?", "yes. and who?")),
    *(Case(text, 2, None) for text in ("yes", "no", "3 yes", "0 yes", "2", "both", "second", "the second one?")),
    *(Case(text, 2, None) for text in ("No, the second one", "yes, one second", "one second please", "ja nein")),
    *(Case(text, 2, None) for text in ("2 yes, but make it 10:30", "2 yes, 1 no. Or shall we wait?", "1 no, 2 maybe")),
    *(Case(text, 2, None) for text in ("1 no. Yes.", "1 no: 2 is better", "1 yes 2", "yes 1 no", "the third one")),
    Case("1 yes 2 no " * 6, 2, None),
    # Three questions.
    Case("yes to all", 3, {1: "yes", 2: "yes", 3: "yes"}),
    Case("1 yes, 2 and 3 no", 3, {1: "yes", 2: "no", 3: "no"}),
    *(Case(text, 3, None) for text in ("yes to both", "1 yes 2 yes 1 no", "yes")),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.open_count} open, {case.text.strip()[:40]}")
def test_what_people_write_to_open_questions_is_read_or_left(case: Case) -> None:
    reading = read_typed_answers(case.text, case.open_count)
    if case.answers is None:
        assert reading is None
        return
    assert reading is not None
    words: Mapping[Decision, str] = {"approve": "yes", "refuse": "no"}
    found = {answer.index + 1: f"{words[answer.decision]} {answer.reason}".strip() for answer in reading.answers}
    assert (found, reading.has_rest) == (case.answers, case.has_rest)


def test_an_unseen_answer_is_never_read_as_the_opposite() -> None:
    """The answers were written without a look at the rules, which are not tuned on them."""
    misread = []
    for case in json.loads(BLIND_ANSWERS.read_text("utf-8")):
        reading = read_typed_answers(case["text"], case["open"])
        words: Mapping[Decision, str] = {"approve": "yes", "refuse": "no"}
        answers = [f"{answer.index + 1} {words[answer.decision]}" for answer in reading.answers] if reading else []
        misread += [(case["text"], answer) for answer in answers if answer in case["wrong"]]
    assert misread == []


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
    assert read_typed_answers(text, open_count) is None
    assert time.process_time() - begun < 0.05


@pytest.mark.parametrize("text", ["yes " * 49, "1 no, " * 33, "no, no, " * 25, "the second one, " * 12])
def test_a_text_of_many_answers_costs_nothing(text: str) -> None:
    begun = time.process_time()
    read_typed_answers(text, 3)
    assert time.process_time() - begun < 0.05


def test_an_answer_of_200_characters_with_its_reason_is_read() -> None:
    reason = "because " * 24 + "ok"
    assert len(f"no, {reason}") <= 200
    refusal = TypedReading((TypedAnswer(0, "refuse", reason),), has_rest=True)
    assert read_typed_answers(f"no, {reason}", 1) == refusal
