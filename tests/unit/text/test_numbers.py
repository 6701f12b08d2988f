"""A figure is one that its sources have, however it is written; what would have to be reckoned is none."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.text.dates import extract_dates, parse_stored_value
from parlour.text.numbers import ascii_digits, find_digit_numbers, find_figures


def holds(text: str, *sources: str) -> bool:
    return not find_figures(text).has_unsupported(find_figures("\n".join(sources)))


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("The crack is 0.35 mm wide.", "crack width 0.35 mm"),
        ("It is 0,35 mm.", "0.35"),
        ("GBP 2,400,000 is agreed.", "contract sum: 2400000"),
        ("It costs 2.4M.", "amount: 2400000"),
        ("It costs 2.4 million.", "amount: 2,432,100"),
        ("Some 45K.", "remediation estimated at 45,000"),
        ("A sum of ₹2,40,000.", "240000"),
        ("1.234 pieces", "1,234 pieces"),
        ("12 m wide", "a gate of 12 metres"),
        ("Due on 6 March 2026.", "due: 2026-03-06"),
        ("Due on March 6.", "due: 2026-03-06"),
        ("Due on 2026-03-06.", "by 6th of March 2026"),
        ("By the end of 2026.", "on 2026-09-30"),
        ("CO-014 is open.", "Change order CO-014"),
        ("3 weeks more.", "three additional weeks"),
        ("Three weeks more.", "3 weeks"),
        ("Since 09:30.", "[2026-03-02 09:30] state: done"),
        ("No figure at all.", ""),
        ("On the 6th.", "due: 2026-03-06"),
        ("Due in April 2026.", "due: 2026-04-20"),
        ("Due in April.", "due: 2026-04-20"),
        ("Due on 2026-03-06.", "06.03.2026"),
        ("Due on 06/03/2026.", "due: 2026-03-06"),
        ("Due on 06/03/2026.", "due: 06/03/2026"),
        ("A claim of 2.4 Cr.", "2,40,00,000"),
        ("A claim of 24 lakhs.", "24,00,000"),
        ("A claim of 2.4 crore.", "2.4 crore"),
        ("A claim of 2,400,000.", "2.4M"),
        ("12 metres wide", "12m wide"),
        ("Three million.", "3,000,000"),
        ("Twenty-five tasks.", "25 tasks"),
        ("A dozen tasks.", "12 tasks"),
        ("Two hundred tasks.", "200 tasks"),
        ("The margin fell by 5%.", "margin: -5%"),
        ("The margin fell to -5%.", "margin: -5%"),
        ("The margin is -5%.", "margin: \u22125%"),
        ("Weeks 3-5.", "weeks 3 to 5"),
        ("It may 5 times.", "5"),
    ],
)
def test_what_a_source_says_in_another_spelling_holds(text: str, source: str) -> None:
    assert holds(text, source)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("The crack is 0.53 mm wide.", "crack width 0.35 mm"),
        ("The crack is 0.35 mm wide.", "35 cracks"),
        ("It costs 2.4M.", "amount: 2500000"),
        ("It costs 2.4M.", "amount: 24000000"),
        ("It costs 240,000.", "amount: 2400000"),
        ("Due on 7 March 2026.", "due: 2026-03-06"),
        ("Due on 6 March 2027.", "due: 2026-03-06"),
        ("It is 20 days late.", "planned 2026-03-06, forecast 2026-03-26"),
        ("Five risks are open.", "risk one, risk two, risk three"),
        ("7", ""),
        ("The claim is 2.4 crore.", "2.4 lakh"),
        ("3 million dollars are missing.", "3 risks are open"),
        ("Three million are missing.", "3 risks are open"),
        ("3 risks are open.", "3 million dollars"),
        ("Handover in April 2026.", "handover: 2026-03-20"),
        ("Handover in April.", "handover: 2026-03-20"),
        ("Handover on 03/06/2026.", "handover: 06/03/2026"),
        ("Handover on 07/03/2026.", "handover: 2026-03-06"),
        ("3 risks are open.", "due: 2026-03-06"),
        ("The margin is 5%.", "margin: -5%"),
        ("The margin is -5%.", "margin: 5%"),
        ("Fifteen tasks are blocked.", "nothing"),
        ("Twenty-five tasks are blocked.", "5 tasks"),
    ],
)
def test_what_no_source_says_does_not(text: str, source: str) -> None:
    assert not holds(text, source)


def test_every_source_counts() -> None:
    assert holds("3 open, due on 6 March.", "open 3", "due: 2026-03-06")
    assert not holds("3 open, due on 6 March.", "open 3")


@pytest.mark.parametrize("text", ["1.2,3,4", "2.5,10,20", "12,345.678,9", "1'2.3.4,5", "\u0967,\u0968.\u0969,4"])
def test_digits_that_are_no_number_of_anybodys_are_read_somehow(text: str) -> None:
    assert holds(text, text)


@given(st.text(alphabet="0123456789.,'\u2019\u00a0\u202f\u0967kmbthMay -/", max_size=24))
def test_every_text_has_its_own_figures(text: str) -> None:
    assert holds(text, text)


def amounts(text: str) -> list[tuple[Decimal, str]]:
    return [(max(one.exact_values), one.unit) for one in find_digit_numbers(ascii_digits(text)) if one.is_amount]


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("Rs. 1,00,000", ("100000", "inr")),
        ("₹1 lakh", ("100000", "inr")),
        ("INR 100,000", ("100000", "inr")),
        ("1 lakh rupees", ("100000", "inr")),
        ("Rs 1.25 cr.", ("12500000", "inr")),
        ("रु. १,५१,१११", ("151111", "inr")),
        ("१.५ लाख रुपये", ("150000", "inr")),
        ("2 करोड़ रुपये", ("20000000", "inr")),
        ("ரூ. 2 லட்சம்", ("200000", "inr")),
        ("ರೂ. 3 ಕೋಟಿ", ("30000000", "inr")),
        ("4,6 Mio. Euro", ("4600000", "eur")),
        ("1.500,50 €", ("1500.50", "eur")),
        ("45.000 EUR", ("45000", "eur")),
        ("3 millones USD", ("3000000", "usd")),
        ("18 %", ("18", "%")),
        ("18 per cent", ("18", "%")),
        ("3 hrs", ("3", "hour")),
        ("$5 m", ("5000000", "usd")),
        ("12 m", ("12", "m")),
    ],
)
def test_an_amount_is_read_with_its_unit_however_it_is_written(text: str, amount: tuple[str, str]) -> None:
    assert amounts(f"It is {text}.") == [(Decimal(amount[0]), amount[1])]


@pytest.mark.parametrize("text", ["45 folks", "gate C4 mm", "4711", "ordinary 3rd"])
def test_a_number_of_nothing_that_is_measured_is_no_amount(text: str) -> None:
    assert amounts(text) == []


@pytest.mark.parametrize(
    ("said", "source"),
    [
        ("Due on 6 March 2026.", "fällig am 6. März 2026"),
        ("Due on 2026-03-06.", "el 6 de marzo de 2026"),
        ("Due on March 6.", "6 मार्च 2026"),
        ("Due on 06.03.2026.", "மார்ச் 6, 2026"),
        ("Due on 6 March.", "ಮಾರ್ಚ್ 6, 2026"),
        ("Due on 06.03.26.", "2026-03-06"),
    ],
)
def test_a_date_is_one_in_six_languages(said: str, source: str) -> None:
    assert not find_figures(said).has_unsupported(find_figures(source))
    assert find_figures("Due on 7 March.").has_unsupported(find_figures(source))
    assert find_figures("Due on 6 April 2026.").has_unsupported(find_figures(source))


@pytest.mark.parametrize(
    ("text", "value"), [("14 March", "03-14"), ("26.02.2026", "2026-02-26"), ("3/4/2026", "03/04/2026")]
)
def test_a_dates_value_is_read_back_as_the_same_date(text: str, value: str) -> None:
    (found,), rest = extract_dates(f"on {text} ok")
    assert found.date.stored_value == value
    assert parse_stored_value(value) == found.date
    assert rest == f"on {' ' * len(text)} ok"


def test_two_kinds_of_group_marks_in_one_number_are_read() -> None:
    assert not find_figures("0'0,000").has_unsupported(find_figures("0"))
