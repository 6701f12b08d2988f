"""A figure is told by a text that says as much of the same, and by no other one; a summary says none of its own."""

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest

from parlour.memory.summaries import summary_answer
from parlour.memory.summaries.key_details import is_in_text, key_details, parse_text
from parlour.memory.summaries.summary_window import WindowMessage, WindowTurn

NOT_TOLD = [
    ("We need 12 bags of cement.", "They meet on 12 May."),
    ("The advance is €45.000.", "There are 45 people."),
    ("It costs 500 USD.", "It costs 500 EUR."),
    ("The permit ends on 14 March 2027.", "The permit ends on 14 March 2025."),
    ("Pay 5 lakh now.", "We wait for 5 people."),
    ("Pay 1.5 million.", "It is 1.5 km away."),
    ("कीमत 500 रुपये है।", "500 दिन"),
    ("The gate code is 4471.", "They talk."),
    ("मैं कल भेज दूँगा।", "वे बात करते हैं।"),
]

TOLD = [
    ("We need 12 bags of cement.", "12 bags are needed."),
    ("We need twelve bags.", "Twelve bags."),
    ("The advance is €45.000.", "An advance of 45,000 euros."),
    ("It costs 500 USD.", "It costs $500."),
    ("The permit ends on 14 March 2027.", "The permit ends on March 14."),
    ("The permit ends on 14 March.", "It ends on 14 March 2027."),
    ("Invoice total is Rs 1,00,000.", "The total is 100000."),
    ("Pay 1.5 lakh.", "They pay ₹1,50,000."),
    ("Pay 5 lakh rupees.", "They pay 5 lakh."),
    ("It takes 3 hrs.", "It takes 3 hours."),
    ("कीमत 500 रुपये है।", "The price is Rs. 500."),
    ("The gate code is 4471.", "The code of the gate is 4471."),
]


@pytest.mark.parametrize(("text", "summary"), NOT_TOLD)
def test_another_figure_does_not_tell_it(text: str, summary: str) -> None:
    found = key_details(text)
    assert found
    assert not all(is_in_text(one, parse_text(summary)) for one in found)


@pytest.mark.parametrize(("text", "summary"), TOLD)
def test_the_same_figure_tells_it_however_it_is_written(text: str, summary: str) -> None:
    figures = [one for one in key_details(text) if one.kind in ("amount", "date", "identifier")]
    assert all(is_in_text(one, parse_text(summary)) for one in figures)


def test_the_numbers_and_days_of_the_lines_give_a_summary_no_figures() -> None:
    spoken = [
        WindowMessage(UUID(int=100 + n), "Hello there friend.", False, datetime(2026, 3, 1, tzinfo=UTC))
        for n in range(30)
    ]
    asked = summary_answer.build_request(
        "", {}, [WindowTurn(UUID(int=n), n, (one,), 1) for n, one in enumerate(spoken, start=1)]
    )
    said = "A refund of 20 percent. The price is Rs 26. It is INR 2,026. They greet."
    written = summary_answer.check_answer(json.dumps({"summary": said}), asked)
    assert (written.text, written.unsupported_sentences) == ("They greet.", 3)


@pytest.mark.parametrize(
    ("said", "kept", "made_up"),
    [
        ("The price is Rs. 26. They greet.", "They greet.", 1),
        ("The invoice of Rs. 46,000 was approved by Dr. Rao. It is due.", "It is due.", 1),
        ("The invoice of Rs. 45,000 was approved by Dr. Rao. It is due.", "same", 0),
        ("They agreed on Rs. 4.6 lakh for the work. It is due.", "It is due.", 1),
        ("The advance is Rs. 4,50,000 and was approved. It is due.", "It is due.", 1),
        ("डॉ. राव ने रु. 46,000 मंज़ूर किए। It is due.", "It is due.", 1),
        ("Es kostet z. B. 46.000 EUR. It is due.", "It is due.", 1),
    ],
)
def test_an_amount_after_an_abbreviation_that_nobody_said_goes_with_its_sentence(
    said: str, kept: str, made_up: int
) -> None:
    spoken = WindowMessage(UUID(int=1), "The invoice of Rs. 45,000 is here.", False, datetime(2026, 3, 1, tzinfo=UTC))
    asked = summary_answer.build_request("", {}, [WindowTurn(UUID(int=2), 1, (spoken,), 1)])
    written = summary_answer.check_answer(json.dumps({"summary": said}), asked)
    assert (written.text, written.unsupported_sentences) == (said if kept == "same" else kept, made_up)


@pytest.mark.parametrize(
    ("said", "made_up"),
    [
        ("वे १,५१,१११ रुपये देंगे।", 1),
        ("Sie zahlen 4,6 Mio. Euro.", 1),
        ("Pagan 46.000 €.", 1),
        ("வாடகை ரூ. 46,000.", 1),
        ("ಬಾಡಿಗೆ ರೂ. 46,000.", 1),
        ("वे ४५ हज़ार रुपये देंगे।", 0),
        ("Sie zahlen ₹45.000.", 0),
        ("They pay 0.45 lakh rupees.", 0),
    ],
)
def test_the_guard_against_invented_amounts_reads_six_languages(said: str, made_up: int) -> None:
    spoken = WindowMessage(UUID(int=1), "The invoice of Rs. 45,000 is here.", False, datetime(2026, 3, 1, tzinfo=UTC))
    asked = summary_answer.build_request("", {}, [WindowTurn(UUID(int=2), 1, (spoken,), 1)])
    assert (
        summary_answer.check_answer(json.dumps({"summary": f"{said} It is due."}), asked).unsupported_sentences
        == made_up
    )
