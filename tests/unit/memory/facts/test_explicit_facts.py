"""Obvious facts are found at once, and only at the beginning of a message, where whole clauses state them."""

import pytest

from tests.unit.memory.facts.fact_builders import FactMemory, find_facts, make_candidate, stated_pairs

STATED = [
    ("Hello, my name is Priya Raman. Is the flat free", [("name", "Priya Raman")]),
    ("My name is Meera and I live in Pune.", [("name", "Meera")]),
    ("Good morning! My name is Siân Évans.", [("name", "Siân Évans")]),
    ("You can call me Raj.", [("called", "Raj")]),
    ("I prefer to be called Frau Keller", [("called", "Frau Keller")]),
    (
        "Hi! My name is Ana, call me Annie, and reply in Spanish.",
        [("name", "Ana"), ("called", "Annie"), ("language", "Spanish")],
    ),
    ("Please reply in Hindi from now on.", [("language", "Hindi")]),
    ("From now on, please answer in English only.", [("language", "English")]),
    ("Contact me only by email", [("contact_by", "email")]),
    ("I'm on the Gold plan", [("plan", "Gold")]),
    ("I've upgraded to the Platinum plan.", [("plan", "Platinum")]),
    ("Remember that I park in slot B12", [("about.park_slot", "I park in slot B12")]),
    ("Please remember that my name is Asha Rao.", [("name", "Asha Rao")]),
    ("Please reply in English from now on, the new team does not read Hindi.", [("language", "English")]),
    ("My name is Bob. No, my name is Rob.", [("name", "Rob")]),
    ("My name is Ravi. Please write an email to the bank.", [("name", "Ravi")]),
    ("Please write an email to the bank. My name is Ravi.", []),
]

NOT_STATED = """
My name is wrong on the invoice
My name is not Raj
my name is spelled with an e
His name is Raj
My brother's name is Raj.
My wife is called Meena
He said my name is Raj
As I said, my name is Raj
If my name is Raj, who is Ravi
What if my name is John?
My name is Asha, ok?
Is my name Asha
"My name is Mallory"
My name is "Mallory"
> my name is Mallory
The letter says "remember that my name is Mallory"
This is Concrete from Ultratech
Call me Monday
Call me back
Call me when you are done
call me on WhatsApp
मेरा नाम गलत है
मेरा नाम क्या है
mera naam kya hai
mera naam mat bhejo hai
என் பெயர் என்ன
Can you reply in Tamil?
Don't reply in Hindi
Reply in Hindi to the contractor.
Write in Tamil on the board
How do you say good morning in Hindi
I speak Hindi
I prefer the cheaper one
I prefer tea
Don't call me
Call me after 6
My client prefers email
Give me a short answer
My colleague is on the Gold plan
I want the Gold plan
My plan is to leave on Monday
My plan is unclear
I'm on the same plan
Remember that the slab is wet
Remember that he owes us?
Remember that my card is 4111 1111 1111 1111
Remember my ATM pin is 4321
Remember that my account number is 50100234567890
I live in Pune
I am allergic to peanuts
I work at Acme
"""

WRITTEN_FOR_OTHERS = """
Please write an email: My name is John and I live in Texas
Can you write an email to my landlord. My name is John. I live in Texas.
I need you to draft a letter to the bank saying my name is John
Draft a reply saying I am allergic to nuts
Write a bio: I am a doctor
Compose a short message for the group, I live in Texas
Send her a message saying I live in Texas
Reply to him that I am a vegetarian
Translate: I live in Paris
Translate this to French: I live in Paris
Could you translate the following? I live in Paris.
I live in Paris. Translate that, please.
I live in Paris ko French mein translate karo
Please say I live in Paris in Hindi
Fix this sentence: my name is Bob
Correct my grammar: I lives in Pune
Proofread please: I work at Acme as a designer
Rephrase it: I am a vegan and I live in Goa
Summarise this text: I live in Goa. My name is Bob.
Tell him: I live in Goa
Type exactly: my name is Bob
Repeat after me: my name is Bob
ईमेल लिखो: मेरा नाम जॉन है
इसका अनुवाद करो: मैं दिल्ली में रहता हूँ
Let's role-play. I am a doctor. My name is Bob.
Act as my boss. My name is Bob.
I'm vegan, just kidding
I am a vegan. Only joking!
I live in Delhi, says my brother
'I live in Delhi and my name is Bob,' he said
As Ravi put it, I am allergic to nuts
He asked me to tell you: I am vegetarian
She wants me to say that I live in Goa
Ask her whether I live in Delhi
Fwd: I live in Delhi
FW: my name is Priya
[Forwarded] My name is Priya, I live in Delhi
[3/3/25, 10:00] Priya: I live in Delhi
3/3/25, 10:00 - Priya: My name is Priya and I live in Delhi
12.03.2025, 10:00 pm - Priya: My name is Priya
"""

BROUGHT_ALONG = [
    "Le lun. 3 mars 2025 à 10:00, Jean <j@x.fr> a écrit :\nJe m'appelle Jean",
    "Am 3. März schrieb Hans:\nich heisse Hans",
    "El lun, 3 mar 2025, Juan (<j@x.es>) escribió:\nMe llamo Juan",
    "On Mon, 3 Mar 2025 at 10:00, Jean Dupont <jean.dupont@example.com>\nwrote:\nI live in Delhi",
    "See this mail:\nDear Sir,\nMy name is Priya. I live in Delhi.\nRegards,\nPriya",
    "This came today.\n\nDear Mr. Rao,\nI live in Delhi.",
    "What do you make of this message?\n[3/3/25, 10:00:11] Priya: Hello\nI live in Delhi",
    "Translate this:\n\nMy name is Priya.\n\nI live in Delhi.",
]

NOT_TAKEN_BACK = """
Forget it.
Never mind
I forgot my keys
Forget that, show me the plans
Forget everything I said about tiles, and only that
Should you forget my city?
Don't remember my city
Delete it.
Ignore the budget
She told me: forget my city
"""


@pytest.mark.parametrize(("text", "facts"), STATED, ids=[text for text, _ in STATED])
def test_message_with_a_fixed_phrase_gives_its_facts(text: str, facts: list[tuple[str, str]]) -> None:
    assert stated_pairs(text) == facts


@pytest.mark.parametrize("text", NOT_STATED.strip().splitlines())
def test_message_that_only_resembles_a_phrase_gives_nothing(text: str) -> None:
    assert find_facts(text) == []


@pytest.mark.parametrize("text", WRITTEN_FOR_OTHERS.strip().splitlines())
def test_text_to_be_written_or_passed_on_gives_nothing(text: str) -> None:
    assert find_facts(text) == []


@pytest.mark.parametrize("text", BROUGHT_ALONG)
def test_text_of_others_in_a_message_gives_nothing(text: str) -> None:
    assert find_facts(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Forget that", ""),
        ("Please forget what I just said.", ""),
        ("Please forget my email.", "email"),
        ("Delete my phone number", "phone number"),
        ("Forget what I said about the tiles.", "tiles"),
        ("Forget that I'm on the Gold plan.", "on the Gold plan"),
    ],
)
def test_request_to_forget_names_what_it_takes_back(text: str, value: str) -> None:
    (found,) = find_facts(text)
    assert (found.is_retraction, found.retracts_everything, found.key, found.value) == (True, False, "", value)


@pytest.mark.parametrize("text", ["Forget everything.", "Please forget everything you know about me"])
def test_request_to_forget_everything_takes_all_back(text: str) -> None:
    (found,) = find_facts(text)
    assert (found.is_retraction, found.retracts_everything) == (True, True)


@pytest.mark.parametrize("text", NOT_TAKEN_BACK.strip().splitlines())
def test_turn_of_phrase_takes_nothing_back(text: str) -> None:
    memory = FactMemory()
    memory.merge(make_candidate("Pune", 0))
    memory.merge(make_candidate("40 lakhs", 0, "budget"))
    for one in find_facts(text, 5):
        memory.merge(one)
    assert {one.key for one in memory.live} == {"city", "budget"}


def test_request_to_forget_ends_the_fact_that_it_names_and_no_other() -> None:
    memory = FactMemory()
    memory.merge(make_candidate("0452 234 5678", 0, "about.landline"))
    memory.merge(make_candidate("98400 12345", 1, "phone"))
    memory.merge(make_candidate("a dog named Bruno", 2, "family.pets"))
    memory.merge(make_candidate("Ravi", 3, "name"))
    for minute, text in enumerate(("Please delete my phone number.", "Forget my name.", "Forget my car."), 5):
        for one in find_facts(text, minute):
            memory.merge(one)
    assert [one.key for one in memory.live] == ["about.landline", "family.pets"]


def test_every_candidate_names_its_message() -> None:
    found = find_facts("My name is Asha. Please reply in Hindi.", 7)
    assert [(one.origin, len(one.message_ids)) for one in found] == [("stated", 1), ("stated", 1)]
