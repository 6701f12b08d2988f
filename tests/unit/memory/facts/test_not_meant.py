"""Sentences of everyday that read like something lasting, or like a wish to be forgotten, and are neither."""

import pytest

from parlour.memory.facts.evidence import evidence
from tests.unit.memory.facts.stating import Memory, candidate, pairs, told

NOTHING_KEPT = """
mera naam kya hai
मेरा नाम क्या है
என் பெயர் என்ன.
mera naam mat bhejo hai
main Pune mein rehta tha
main Pune mein kaam karta tha
मैं पुणे में रहता था
मुझे यह पसंद है
My daughter is allergic to peanuts.
Our son is vegetarian.
Write to accounts@acme.com about the invoice
Please write to supplier@acme.com
send it to boss@corp.com
The budget is now 40 lakhs for the Shah project
Set the budget to 4 lakhs for tower seven
make the budget 500
Raise the budget to 5 lakhs
I'm from accounting
My city is flooded
My company is closed today
My job is at risk
My job is boring
I work at night
I work with wood
We have moved to Monday
We've moved to WhatsApp
We moved to phase two
I work as a team
we are all vegan here except me
i'm vegetarian curious
reply in French to the supplier
Write in Tamil on the board
never do that again
Always attach the PDF to this mail
I used to live in Pune.
"""

STILL_KEPT = [
    ("I'm from Ludhiana", [("home_town", "Ludhiana")]),
    ("My city is Pune", [("city", "Pune")]),
    ("My company is Acme", [("company", "Acme")]),
    ("My company is called acme works", [("company", "acme works")]),
    ("I work at infosys", [("company", "infosys")]),
    ("I've moved to Goa", [("city", "Goa")]),
    ("I work as a barista", [("job", "barista")]),
    ("Please reply in French to me", [("language", "French")]),
    ("My budget is now 40 lakhs", [("budget", "40 lakhs")]),
    ("main Pune mein rehta hoon", [("city", "Pune")]),
]

NOTHING_ENDED = """
Delete it.
Please delete this.
Erase that, please.
I've just left Pune
I have left Pune for the weekend
Ignore the budget
Drop the city
"""


@pytest.mark.parametrize("text", NOTHING_KEPT.strip().splitlines())
def test_what_reads_like_a_fact_is_none(text: str) -> None:
    assert [one for one in told(text) if not one.ends] == []


@pytest.mark.parametrize(("text", "facts"), STILL_KEPT)
def test_what_is_said_in_so_many_words_is_still_found(text: str, facts: list[tuple[str, str]]) -> None:
    assert pairs(text) == facts


@pytest.mark.parametrize("text", NOTHING_ENDED.strip().splitlines())
def test_what_reads_like_a_wish_to_be_forgotten_is_none(text: str) -> None:
    memory = Memory()
    memory.take(candidate("Pune", 0))
    memory.take(candidate("40 lakhs", 0, "budget"))
    for one in told(text, 5):
        memory.take(one)
    assert {one.key for one in memory.live} == {"city", "budget"}


@pytest.mark.parametrize("text", ["I left Acme last week", "I quit my job", "I have resigned from Acme"])
def test_who_leaves_a_firm_or_a_job_has_left_it(text: str) -> None:
    memory = Memory()
    memory.take(candidate("Acme", 0, "company" if "Acme" in text else "job"))
    for one in told(text, 5):
        memory.take(one)
    assert memory.live == []


@pytest.mark.parametrize("text", ["I used to live in Pune.", "I lived in Pune until 2019.", "main Pune mein rehta tha"])
def test_what_was_once_is_not_so_now(text: str) -> None:
    assert evidence("city", "Pune", [text]).problem == "not_stated"


def test_who_has_left_a_place_for_a_while_lives_there_still() -> None:
    assert evidence("city", "Pune", ["I've just left Pune"], ends=True).problem == "not_stated"
    assert evidence("city", "Pune", ["I left Pune for good"], ends=True).problem is None
    assert evidence("company", "Acme", ["I left Acme"], ends=True).problem is None
