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


OVEN = Document(
    7,
    "Oven log bakery record",
    """Good morning everybody, see you at the oven.
The oven is checked on Fridays. It was fine.

| check | date | heat |
|---|---|---|
| 1 | 6 March 2026 | 210 degrees |
| 2 | 13 March 2026 | 214 degrees |
""",
    "Oven log",
)


def test_a_row_is_led_by_the_title_and_of_a_log_the_last_one_counts() -> None:
    (quote,) = quotes("What heat has the oven?", [OVEN])

    assert quote.text == "Oven log: check: 2; date: 13 March 2026; heat: 214 degrees"


def test_a_record_answers_by_its_fields() -> None:
    record = Document(2, "Flour mill Record", "Mill M-2, flour mill: in use.\nowner: Ida Berg", "Flour mill")

    assert quotes("Who owns mill M-2?", [record])[0].text == "Flour mill: owner: Ida Berg"


def test_greetings_are_never_quoted() -> None:
    assert not any("morning" in quote.text for quote in quotes("What is at the oven every morning?", [OVEN]))


def test_a_figure_that_stands_beside_the_best_sentence_comes_with_it() -> None:
    lease = Document(1, "Lease", "Lease of the flour mill with Berg Ltd: four rooms. The sum is GBP 900, in force.")

    assert [quote.text for quote in quotes("How much is the lease of the flour mill with Berg?", [lease])] == [
        "Lease of the flour mill with Berg Ltd: four rooms.",
        "The sum is GBP 900, in force.",
    ]


def test_other_words_for_the_same_are_understood_where_the_form_fits() -> None:
    clause = "The tenant brings the key back. If it is overdue, the tenant pays £40 for each day."
    other = Document(2, "Keys", "A late key is a day of work for all of us.")

    assert quotes("What do we owe per day if the key is late?", [other, Document(1, "Lease", clause)])[0].number == 1


def test_the_order_of_the_search_decides_between_equals() -> None:
    one, two = Document(1, "A", "The key is under the red mat."), Document(2, "B", "The key is under the blue mat.")

    assert [quotes("Where is the key?", documents)[0].number for documents in ([one, two], [two, one])] == [1, 2]
