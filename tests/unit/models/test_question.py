import pytest

from parlour.models.question import fit, parts, wording


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("How wide is the gate, and who looks after it?", ["How wide is the gate", "who looks after it?"]),
        ("Is it open? When does it close?", ["Is it open?", "When does it close?"]),
        ("When does it come and until when can we move it?", ["When does it come", "until when can we move it?"]),
        ("What do bread and butter cost?", ["What do bread and butter cost?"]),
        ("The van is late. Who drives it?", ["The van is late. Who drives it?"]),
        ("", []),
    ],
)  # fmt: skip
def test_what_is_asked_in_one_breath_is_taken_apart(asked: str, expected: list[str]) -> None:
    assert parts(asked) == expected


def test_no_more_than_three_things_are_looked_up() -> None:
    assert len(parts("Who? " * 20)) == 3


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("How wide is the gate?", "It measures 3.2 m.", "It was painted green in 2024."),
        ("How much is a loaf?", "A loaf is £2.40.", "A loaf is fresh."),
        ("What do we owe per day?", "The tenant pays EUR 40 for each day.", "The tenant pays."),
        ("When do you open?", "On Monday we begin early.", "We begin early."),
        ("When is it due?", "By 4 March.", "It may come soon."),
        ("How long does it take?", "It takes six weeks.", "It takes patience."),
        ("Who leads it?", "Noor Aziz.", "A new hand."),
        ("Where does the order stand?", "It was signed.", "It is about flour."),
        ("May we park here?", "Nobody parks before noon.", "The yard was paved."),
        ("What is the phone number?", "01632 960 441", "in the office"),
    ],
)
def test_an_answer_has_the_form_that_was_asked_for(question: str, answer: str, other: str) -> None:
    assert (fit(question, answer) or 0) > (fit(question, other) or 0)


def test_some_questions_expect_no_form() -> None:
    assert fit("Why is the yard wet?", "It rained.") is None
    assert fit("क्या दुकान खुली है?", "हाँ।") is None


def test_the_words_that_ask_for_a_form_are_known() -> None:
    assert wording("How wide is the gate?").split() == ["how", "wide"]
    assert wording("Why is the yard wet?") == ""
