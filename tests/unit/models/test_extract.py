import pytest

from parlour.models.extract import Document, quotes

CONTRACT = Document(
    3,
    "Works contract",
    """# Works contract

## Payment

Each bill is payable within 30 days of certification. Retention of 5% is deducted from every bill, up to 2,50,000 INR.

## Delay

Liquidated damages are Rs. 25,000 per week, capped at 10% of the contract price. Mr. K. Nair is the arbitrator.

| Milestone | Date | Amount |
|---|---|---|
| Plinth | 2026-01-15 | 40,00,000 |
| Roof slab | 2026-04-30 | 65,00,000 |
""",
)
REPORT = Document(
    1,
    "Site report 12",
    "Weather: dry, 31 C\nThe crane was idle for 2 days.\nSteel delivery is expected on 4 March 2026.\nSteel: on hold.",
)


def test_the_sentence_that_answers_is_quoted_word_for_word() -> None:
    best = quotes("What is the retention percentage?", [REPORT, CONTRACT])[0]

    assert best.text == "Retention of 5% is deducted from every bill, up to 2,50,000 INR."
    assert best.number == 3


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("when is the roof slab due", "Milestone: Roof slab; Date: 2026-04-30; Amount: 65,00,000"),
        ("Who is the arbitrator?", "Mr. K. Nair is the arbitrator."),
        ("How long was the crane idle?", "The crane was idle for 2 days."),
        ("When does the steel come?", "Steel delivery is expected on 4 March 2026."),
        (
            "what are the liquidated damages for delay?",
            "Liquidated damages are Rs. 25,000 per week, capped at 10% of the contract price.",
        ),
    ],
)
def test_questions_find_their_answers(question: str, answer: str) -> None:
    assert quotes(question, [REPORT, CONTRACT])[0].text == answer


@pytest.mark.parametrize("question", ["What is the capital of France?", "Is there a swimming pool?", "", "is it?"])
def test_what_no_document_says_is_not_answered(question: str) -> None:
    assert quotes(question, [REPORT, CONTRACT]) == []


def test_no_documents_no_quotes() -> None:
    assert quotes("What is the retention?", []) == []
    assert quotes("What is the retention?", [Document(1, "Retention", "")]) == []


def test_a_sentence_that_only_repeats_the_question_is_not_the_answer() -> None:
    opinion = Document(5, "E-mail", "The crack moves. If the crack at C4 moves, underpinning costs 46,000 INR.")

    assert quotes("What happens if the crack moves?", [opinion])[0].text.endswith("46,000 INR.")


def test_a_title_alone_is_not_an_answer() -> None:
    assert quotes("Tell me about the lift", [Document(1, "Lift", "Nothing to report."), REPORT]) == []


def test_two_questions_get_two_quotes() -> None:
    found = quotes("What is the retention? And who is the arbitrator?", [REPORT, CONTRACT])

    assert {quote.text for quote in found} >= {
        "Retention of 5% is deducted from every bill, up to 2,50,000 INR.",
        "Mr. K. Nair is the arbitrator.",
    }
    assert len(found) <= 3


def test_the_same_sentence_in_two_documents_is_quoted_once() -> None:
    copy = Document(9, "Works contract, copy", CONTRACT.contents)

    found = quotes("What is the retention?", [CONTRACT, copy])

    assert [quote.number for quote in found if quote.text.startswith("Retention")] == [3]


def test_a_leaning_question_takes_its_subject_from_the_one_before() -> None:
    found = quotes("and when is it expected?", [CONTRACT, REPORT], context="Has the steel arrived?")

    assert found[0].text == "Steel delivery is expected on 4 March 2026."


def test_the_question_before_does_not_drown_a_new_one() -> None:
    found = quotes("Who is the arbitrator?", [CONTRACT, REPORT], context="What retention is deducted from every bill?")

    assert [quote.text for quote in found] == ["Mr. K. Nair is the arbitrator."]


def test_what_has_no_end_is_cut_after_a_word() -> None:
    endless = Document(1, "Log", "retention " + "word " * 500)

    (quote,) = quotes("retention", [endless])

    assert len(quote.text) < 500
    assert quote.text.endswith("word …")
