import pytest

from parlour.infra.json_values import JsonObject
from parlour.models.offline_quotes import Quote, choose_quotes, find_listed_type, list_records, synonym_groups


def document(number: int, contents: str, **more: str) -> JsonObject:
    return {"n": number, "title": "Log", "metadata": "", "contents": contents, **more}


def test_a_sentence_with_what_is_asked_for_comes_first() -> None:
    pump = document(
        1,
        "Nobody may start the pump alone. The pump belongs to Rosa Diaz of the yard. The pump was bought on 3 March. "
        "The pump moves 40 litres.",
    )
    assert choose_quotes("Who has the pump?", [pump])[0].text == "The pump belongs to Rosa Diaz of the yard."
    assert choose_quotes("When did the pump come?", [pump])[0].text == "The pump was bought on 3 March."
    assert choose_quotes("How much does the pump move?", [pump])[0].text == "The pump moves 40 litres."


def test_the_first_passage_is_quoted_where_no_sentence_shares_enough() -> None:
    documents = [
        document(1, "6.3 The buyer pays within 21 days.\n\n6.4 The buyer retains 3 % of each sum."),
        document(2, "Keep the gate shut."),
    ]
    (passage,) = choose_quotes("What does the customer pay, and what is kept as retention?", documents)
    assert passage == Quote("6.3 The buyer pays within 21 days. 6.4 The buyer retains 3 % of each sum.", 1)


@pytest.mark.parametrize(
    "question", ["How much does a lost hammer from the workshop cost?", "What is the capital of France?"]
)
def test_nothing_is_quoted_that_is_about_something_else(question: str) -> None:
    table = "| bicycle | cost of a day |\n|---|---|\n| cargo | 59 EUR |\n| city | 19 EUR |"
    documents = [document(1, table), document(2, "The shop opens at nine. It is closed on Sunday.")]
    assert choose_quotes(question, documents) == []
    assert [quote.text for quote in choose_quotes("What does a cargo bicycle cost?", documents)][:1] == [
        "bicycle: cargo; cost of a day: 59 EUR"
    ]


def test_a_sentence_that_refers_back_is_quoted_with_the_one_before_it() -> None:
    found = document(3, "A lift needs a plan and a permit. Both hang in the office. The gate is open.")
    texts = [quote.text for quote in choose_quotes("What hangs in the office?", [found])]
    assert texts == ["A lift needs a plan and a permit. Both hang in the office."]


def test_records_of_the_type_that_is_asked_for_are_listed_once_each() -> None:
    documents = [
        document(1, "Task T-2, paint: due 2026-03-06.", handle="task/T-2"),
        document(2, "An e-mail about T-1.", about="task/T-1", handle="document/mail.eml"),
        document(3, "Task T-1, dig: due 2026-03-04.", handle="task/T-1"),
        document(4, "Task T-1, more of it.", handle="task/T-1"),
        document(5, "Change order CO-7: quoted.", handle="change_order/CO-7"),
    ]
    assert find_listed_type("Which tasks are due this week?", documents) == "task"
    assert find_listed_type("Please list all change orders.", documents) == "change_order"
    assert find_listed_type("What does the task ask for?", documents) is None
    assert find_listed_type("Change orders bore me", documents) is None
    assert find_listed_type("Which permits are there?", documents) is None
    assert list_records("task", documents) == [
        Quote("Task T-1, dig: due 2026-03-04.", 3),
        Quote("Task T-2, paint: due 2026-03-06.", 1),
    ]


@pytest.mark.parametrize(
    ("word", "related"),
    [
        ("payments", "payment"),
        ("certified", "certify"),
        ("defects-liability", "defect"),
        ("wide", "width"),
        ("owe", "pays"),
        ("late", "delay"),
        ("settled", "settlement"),
        ("injured", "injuries"),
    ],
)
def test_related_words_are_in_one_synonym_group(word: str, related: str) -> None:
    assert synonym_groups(word) & synonym_groups(related)


@pytest.mark.parametrize(("word", "unrelated"), [("steel", "steer"), ("crane", "crack"), ("2.5", "25")])
def test_words_that_only_look_alike_are_in_different_groups(word: str, unrelated: str) -> None:
    assert not synonym_groups(word) & synonym_groups(unrelated)
