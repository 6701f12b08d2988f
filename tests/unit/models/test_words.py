import pytest

from parlour.models.words import content_words, family, sentences, stems, words


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in sentences(text)]


def test_codes_amounts_and_dates_stay_whole() -> None:
    assert words("Bill RA-07 of 2026-03-02: Rs 4,50,000.50, 5% at M/s Orbit's.") == [
        "Bill",
        "RA-07",
        "of",
        "2026-03-02",
        "Rs",
        "4,50,000.50",
        "5",
        "at",
        "M/s",
        "Orbit's",
    ]


def test_words_of_other_scripts_stay_whole() -> None:
    assert words("ठेका कब समाप्त होगा? தாமதம்।") == ["ठेका", "कब", "समाप्त", "होगा", "தாமதம்"]


def test_only_words_with_content_are_kept_once_each_as_written() -> None:
    assert content_words("What is the retention on RA-07, and is the Retention released?") == [
        "retention",
        "RA-07",
        "released",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("payments", "payment"),
        ("penalties", "penalty"),
        ("delayed", "delays"),
        ("certified", "certify"),
        ("defects-liability", "defect"),
        ("WC-2025-014", "wc-2025-014"),
        ("contractor's", "contractor"),
        ("referred", "refer"),
        ("order CO-007", "order 7"),
    ],
)
def test_forms_of_a_word_meet(one: str, other: str) -> None:
    assert stems(one) & stems(other)


@pytest.mark.parametrize(("one", "other"), [("RA-07", "RA-08x"), ("status", "stat"), ("steel", "steer")])
def test_different_words_do_not(one: str, other: str) -> None:
    assert not (stems(one) - {"ra"}) & (stems(other) - {"ra"})


def test_a_possessive_s_is_no_word_and_digits_of_an_amount_are_none_either() -> None:
    assert stems("Rex's dog") == {"rex", "dog"}
    assert "7" not in stems("7,400 of 2026-07-07")


@pytest.mark.parametrize(
    ("one", "other"),
    [("wide", "width"), ("owe", "pays"), ("late", "delay"), ("settled", "settlement"), ("injured", "injuries")],
)
def test_related_words_are_one_family(one: str, other: str) -> None:
    assert not stems(one) & stems(other)
    assert {family(stem) for stem in stems(one)} == {family(stem) for stem in stems(other)}


@pytest.mark.parametrize(("one", "other"), [("steel", "steer"), ("crane", "crack"), ("2.5", "25")])
def test_words_that_only_look_alike_are_not(one: str, other: str) -> None:
    assert {family(stem) for stem in stems(one)}.isdisjoint(family(stem) for stem in stems(other))


def test_a_mails_header_is_not_among_its_sentences() -> None:
    mail = "From: Ann <ann@a.example>\nTo: Bob <bob@b.example>\nDate: Fri, 20 Feb 2026 17:25:00 +0000\n\nIt is done."

    assert texts(mail) == ["It is done."]
    assert texts("Date: 20 February 2026") == ["Date: 20 February 2026"]


def test_emphasis_may_run_over_a_line_end() -> None:
    assert texts("The tenant of the second floor pays the owner **£40 for each\nday** until the key is back.") == [
        "The tenant of the second floor pays the owner £40 for each day until the key is back."
    ]


def test_a_sentence_does_not_end_within_an_abbreviation_a_number_or_a_name() -> None:
    assert texts("Rs. 2.5 lakh is due to Mr. K. Nair of M/s Orbit, see cl. 4. Payment follows. e.g. by cheque.") == [
        "Rs. 2.5 lakh is due to Mr. K. Nair of M/s Orbit, see cl. 4.",
        "Payment follows. e.g. by cheque.",
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
    found = sentences("# Contract\n\n## Delay\n\n1. Damages are 1% a week.\n- The cap is 10%.\n\n## Tax\nGST extra.")

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

    assert [(found.text, found.heading) for found in sentences(mail)] == [
        ("Limit: at most 2 * 3 mm, £2,430,000.", "Crack at C4"),
    ]


@pytest.mark.parametrize("text", ["", "   \n\n", "---", "|---|---|", "# Only a heading", "…!?"])
def test_nothing_said_is_no_sentence(text: str) -> None:
    assert sentences(text) == []
