import pytest

from parlour.text.quotable_sentences import quotable_sentences


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in quotable_sentences(text)]


def test_a_mails_header_is_not_among_its_sentences() -> None:
    mail = "From: Ann <ann@a.example>\nTo: Bob <bob@b.example>\nDate: Fri, 20 Feb 2026 17:25:00 +0000\n\nIt is done."

    assert texts(mail) == ["It is done."]
    assert texts("Date: 20 February 2026") == ["Date: 20 February 2026"]


def test_emphasis_may_run_over_a_line_end() -> None:
    assert texts("The tenant of the second floor pays the owner **£40 for each\nday** until the key is back.") == [
        "The tenant of the second floor pays the owner £40 for each day until the key is back."
    ]


def test_a_sentence_does_not_end_within_an_abbreviation_a_number_or_a_name() -> None:
    assert texts("Rs. 2.5 lakh is due to Mr. K. Nair of M/s Orbit, see cl. 4. Payment follows by cheque.") == [
        "Rs. 2.5 lakh is due to Mr. K. Nair of M/s Orbit, see cl. 4.",
        "Payment follows by cheque.",
    ]


def test_sentences_end_in_questions_quotes_and_dandas_too() -> None:
    assert texts('Is it done? "It is." He left! काम पूरा हुआ। कल मिलेंगे।') == [
        "Is it done?",
        '"It is."',
        "He left!",
        "काम पूरा हुआ।",
        "कल मिलेंगे।",
    ]


def test_wrapped_lines_are_one_sentence_and_short_lines_are_not() -> None:
    wrapped = "The contractor shall keep the works insured against fire and\ntheft until taking over."

    assert texts(wrapped) == ["The contractor shall keep the works insured against fire and theft until taking over."]
    assert texts("Weather: dry, 31 C\nLabour: 42") == ["Weather: dry, 31 C", "Labour: 42"]


def test_list_items_lose_their_marks_and_keep_their_heading() -> None:
    found = quotable_sentences(
        "# Contract\n\n## Delay\n\n1. Damages are 1% a week.\n- The cap is 10%.\n\n## Tax\nGST extra."
    )

    assert [(sentence.text, sentence.heading) for sentence in found] == [
        ("Damages are 1% a week.", "Delay"),
        ("The cap is 10%.", "Delay"),
        ("GST extra.", "Tax"),
    ]


def test_table_rows_carry_their_column_names() -> None:
    table = (
        "| Milestone | Date | Note |\n|:---|---:|---|\n| Roof slab | 2026-04-30 | |\n| Handover | 2026-09-01 | wet |"
    )

    assert texts(table) == [
        "Milestone: Roof slab; Date: 2026-04-30",
        "Milestone: Handover; Date: 2026-09-01; Note: wet",
    ]


def test_emphasis_is_taken_off_and_a_subject_line_is_a_heading() -> None:
    mail = "Subject: Crack at C4\n\n**Limit:** *at most* 2 * 3 mm, **£2,430,000**."

    assert [(found.text, found.heading) for found in quotable_sentences(mail)] == [
        ("Limit: at most 2 * 3 mm, £2,430,000.", "Crack at C4"),
    ]


@pytest.mark.parametrize("text", ["", "   \n\n", "---", "|---|---|", "# Only a heading", "…!?"])
def test_a_text_without_words_has_no_sentences(text: str) -> None:
    assert quotable_sentences(text) == []
