"""A quote stands in the user's own words, and a value in its quote, in whatever script and spelling."""

import pytest

from parlour.memory.facts.grounding import is_grounded, is_quoted


@pytest.mark.parametrize(
    ("quote", "body"),
    [
        ("moved to Goa", "Well, I  moved to\nGOA last week"),
        ("it's Siân", "it\u2019s Siân here"),
        ("पुणे में", "मैं पुणे में रहता हूँ"),
    ],
)
def test_quote_that_stands_in_the_own_text_is_found(quote: str, body: str) -> None:
    assert is_quoted(quote, body)


@pytest.mark.parametrize(
    ("quote", "body"),
    [
        ("moved to Goa", "I moved from Goa"),
        ("I live in Goa", "See below\n> I live in Goa"),
        ("...", "Well ..."),
        ("", "Well"),
    ],
)
def test_quote_that_is_not_the_users_is_not_found(quote: str, body: str) -> None:
    assert not is_quoted(quote, body)


@pytest.mark.parametrize(
    ("value", "quote"),
    [
        ("Goa", "I moved to Goa last week."),
        ("dislikes tea", "I don't like tea."),
        ("vegetarian", "We are all vegetarians here"),
        ("சென்னை", "நான் சென்னையில் இருக்கிறேன்"),
        ("Chennai", "நான் சென்னையில் இருக்கிறேன்"),
        ("Delhi", "मैं दिल्ली में रहता हूँ"),
        ("東京", "私は東京に住んでいます"),
        ("Munoz", "soy Muñoz"),
        ("3 May", "my birthday is May 3rd"),
        ("98400-12345", "my number is 9840012345"),
        ("+44 7700 900464", "07700 900464 there you go"),
        ("07700 900464", "oh seven seven double-oh nine oh oh four six four"),
        ("0176 5551234", "null eins sieben sechs fünf fünf fünf eins zwei drei vier"),
        ("9840012345", "नौ आठ चार शून्य शून्य एक दो तीन चार पाँच"),
        ("sian.evans@gmail.com", "it's sian dot evans at gmail dot com"),
        ("12.03.1990", "I was born on 12/03/1990"),
        ("1500000", "mein budget ist 1.500.000"),
        ("2500", "my budget is ₹2,500"),
        ("2 kids", "two kids"),
    ],
)
def test_value_that_its_quote_says_is_grounded(value: str, quote: str) -> None:
    assert is_grounded(value, quote)


@pytest.mark.parametrize(
    ("value", "quote"),
    [
        ("Delhi", "I live in Goa."),
        ("Mumbai", "मैं दिल्ली में रहता हूँ"),
        ("ravi@example.org", "Write to ravi@example.com please"),
        ("9840012346", "my number is 9840012345"),
        ("15 lakhs", "my budget is 1.5 lakhs"),
        ("150 rupees", "my budget is 1.50 rupees"),
        ("45", "my budget is 4.5"),
        ("500", "my budget is 5000"),
        ("Goa, Pune", "I live in Goa"),
    ],
)
def test_value_that_its_quote_does_not_say_is_not_grounded(value: str, quote: str) -> None:
    assert not is_grounded(value, quote)
