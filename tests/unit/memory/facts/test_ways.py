"""Ways in which people say things of themselves, beside those that read like something else."""

import pytest

from parlour.memory.facts import rules
from parlour.memory.facts.evidence import evidence
from tests.unit.memory.facts.stating import Memory, candidate, known, pairs, told


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("I work as a data analyst at Quantify Labs.", {("job", "data analyst"), ("company", "Quantify Labs")}),
        ("I'm a structural consultant with Arvo Partners.",
         {("job", "structural consultant"), ("company", "Arvo Partners")}),
        ("My new job is at Brightside.", {("company", "Brightside")}),
        ("Hey! I'm Nisha Verma, 29, based out of Jaipur.",
         {("name", "Nisha Verma"), ("age", "29 years"), ("city", "Jaipur")}),
        ("I'd rather get texts than calls.", {("contact_by", "texts")}),
        ("Please use my work email instead: nisha@example.org", {("email", "nisha@example.org")}),
        ("Change of plan: budget is now 3,500 euros.", {("budget", "3,500 euros")}),
        ("Our anniversary is on 12 June.", {("about.anniversary", "12 June")}),
        ("My new assistant is Suman.", {("contact.assistant", "Suman")}),
        ("From now on write in English.", {("language", "English")}),
        ("hi there, karan malhotra this side", {("name", "karan malhotra")}),
        ("Please address me as Frau Keller.", {("called", "Frau Keller")}),
        ("My number has changed, it's 98140 77889 now.", {("phone", "98140 77889")}),
        ("Switched to the Solo plan btw.", {("plan", "Solo")}),
        ("I've been on the Starter plan for a year.", {("plan", "Starter")}),
        ("My budget has gone up to 450 euros.", {("budget", "450 euros")}),
        ("Let's raise the budget to 1,500 francs.", {("budget", "1,500 francs")}),
        ("I work nights at Lakeside.", {("about.shift", "nights"), ("company", "Lakeside")}),
        ("I'd like invoices in Urdu.", {("language", "Urdu")}),
        ("Don't write in the evenings any more, before 9 am works better now.", {("contact_time", "before 9 am")}),
        ("Text me any day, after 7 pm suits me better.", {("contact_time", "after 7 pm")}),
        ("My landline is 0452 234 5678.", {("about.landline", "0452 234 5678")}),
        ("We have a son, Veer.", {("family.son", "Veer")}),
        ("I teach maths at Hillview School.", {("company", "Hillview School")}),
        ("I'm from Ludhiana but staying in Gurgaon these days.", {("home_town", "Ludhiana"), ("city", "Gurgaon")}),
        ("I don't eat onion or garlic.", {("preference.onion_garlic", "does not have onion or garlic")}),
    ],
)  # fmt: skip
def test_what_is_said_stands_where_it_belongs_and_nowhere_else(text: str, facts: set[tuple[str, str]]) -> None:
    assert set(pairs(text)) == facts


@pytest.mark.parametrize("what", ["pure vegetarian", "tenant", "Canadian", "light sleeper", "perfectionist"])
def test_not_everything_that_somebody_is_is_a_job(what: str) -> None:
    assert "job" not in dict(pairs(f"I'm a {what}."))


def test_a_new_employer_does_not_end_the_job() -> None:
    memory = Memory()
    for minute, text in enumerate(("I work as a baker at Rossi.", "My new job is at Bianchi.")):
        for one in told(text, minute):
            memory.take(one)
    assert (memory.value("job"), memory.value("company")) == ("baker", "Bianchi")


@pytest.mark.parametrize("text", ["Scrap the Thai thing.", "Ignore the Thai rule, please.", "Forget that Thai part."])
def test_a_rule_or_a_thing_is_taken_back_by_its_words(text: str) -> None:
    memory = Memory()
    memory.take(candidate("Thai", 0, "preference.cuisine"))
    for one in told(text, 5):
        memory.take(one)
    assert memory.live == []


def test_a_name_is_ones_own_only_where_one_says_so() -> None:
    assert evidence("name", "Kamala", ["Kamala says thank you too."]).problem == "not_stated"
    assert evidence("called", "Ravi", ["Ravi will pick it up."]).problem == "not_stated"
    for said in ("I am Kamala.", "Kamala", "Kamala here.", "Regards, Kamala", "என் பெயர் Kamala"):
        assert evidence("name", "Kamala", [said]).problem is None


def test_where_somebody_is_for_some_days_is_not_where_they_live() -> None:
    for said in ("I'm in Rome until Friday.", "This week I am in Rome for a fair.", "I'm in Rome on a business trip."):
        assert evidence("city", "Rome", [said]).problem == "not_stated"
    for said in ("I moved to Rome this week.", "I live in Rome until my son is grown.", "I'm in Rome now."):
        assert evidence("city", "Rome", [said]).problem is None


def test_what_a_model_calls_by_a_name_of_its_own_confirms_what_is_known_by_the_vocabularys() -> None:
    diet = known("vegetarian", key="diet")
    (resolved,) = rules.resolve(candidate("vegetarian", 5, "preference.food", origin="extracted"), [diet])
    assert resolved.key == "diet"
    (another,) = rules.resolve(candidate("spicy", 5, "preference.food", origin="extracted"), [diet])
    assert another.key == "preference.food"
    (own,) = rules.resolve(candidate("vegetarian", 5, "family.dog", origin="extracted"), [diet])
    assert own.key == "family.dog"


def test_somebody_else_in_a_sentence_takes_nothing_from_its_speaker_who_is_named_first() -> None:
    assert evidence("city", "Rome", ["I live in Rome with my wife."]).problem is None
    assert evidence("city", "Rome", ["My wife lives in Rome."]).problem == "not_stated"
    assert evidence("city", "Rome", ["Rome is where my brother lives."]).problem == "not_stated"
    assert evidence("city", "Rome", ["I think that my wife lives in Rome."]).problem == "not_stated"


def test_what_was_taken_back_once_takes_nothing_else_back_when_it_is_read_again() -> None:
    memory = Memory()
    memory.take(candidate("Shaikh Studio", 0, "company"))
    memory.take(candidate("Studio", 1, "plan"))
    for minute in (5, 6):
        for one in told("And we cancelled the Studio plan, please take it off.", minute):
            memory.take(one)
    assert [one.key for one in memory.live] == ["company"]


NOTHING_LASTING = """
I like the second option better.
I'd prefer tomorrow if possible.
I prefer the cheaper one.
I have a question about my plan.
My plan is to leave on Monday.
I always get an error when I log in.
Always the same story.
I don't have time for this.
I don't drink and drive.
I am from the accounts department.
I come from a meeting, sorry.
I drive a hard bargain.
I run the report every Monday.
My favourite part is the end.
From now on it should be easy.
In future we might need more.
We are engaged in a dispute.
I'm single-handedly doing this.
My budget is tight.
Our budget is not 50 lakh.
I pay by the end of the week.
The client says I live in Delhi.
You think I am a vegetarian.
My flight was delayed by two hours.
Call me when you are done.
This is urgent.
I'm back.
My order is late again.
I wish I lived in Goa.
My friend Anil works at Google.
My colleague Rohan is on the Gold plan.
My client's address is 5 Hill Road.
Call the plumber, before 9 am works better for him.
Write on Monday, after 5 pm is better for my colleague.
Please call, before 9 am works better for the crane.
"""


@pytest.mark.parametrize("text", NOTHING_LASTING.strip().splitlines())
def test_most_of_what_people_say_is_no_fact_about_them(text: str) -> None:
    assert [one for one in told(text) if not one.ends] == []


def test_never_mind_is_no_wish_to_be_forgotten() -> None:
    memory = Memory()
    memory.take(candidate("Pune", 0))
    for one in told("Forget it.", 5):
        memory.take(one)
    assert memory.value() == "Pune"
    for one in told("Please forget that.", 6):
        memory.take(one)
    assert memory.live == []


def test_who_no_longer_cares_wants_nothing_any_more() -> None:
    memory = Memory()
    memory.take(candidate("high floor", 0, "preference.room"))
    for one in told("And I no longer care which floor my parents get, any will do.", 5):
        memory.take(one)
    assert memory.live == []


def test_who_no_longer_cares_about_one_thing_wants_the_others_still() -> None:
    memory = Memory()
    memory.take(candidate("high floor", 0, "preference.room"))
    memory.take(candidate("aisle seat", 1, "preference.seat"))
    for one in told("I no longer mind which floor, thanks. I no longer care.", 5):
        memory.take(one)
    assert [one.key for one in memory.live] == ["preference.seat"]


def test_who_has_no_phone_number_but_a_landline_means_that_one() -> None:
    memory = Memory()
    for minute, text in enumerate(("My landline is 0452 234 5678.", "My locker number is 1234 5678.")):
        for one in told(text, minute):
            memory.take(one)
    assert len(memory.live) == 2
    for one in told("The landline is dead. Please delete my phone number.", 5):
        memory.take(one)
    assert [one.value for one in memory.live] == ["1234 5678"]


def test_a_landline_stays_when_a_phone_number_is_there_to_be_deleted() -> None:
    memory = Memory()
    for minute, text in enumerate(("My landline is 0452 234 5678.", "My number is 98400 12345.")):
        for one in told(text, minute):
            memory.take(one)
    for one in told("Please delete my phone number.", 5):
        memory.take(one)
    assert [one.key for one in memory.live] == ["about.landline"]


def test_what_says_itself_what_it_is_about_stands_under_one_preference() -> None:
    """A high floor is one wish, whether a rule puts it under the room or a model under the floor."""
    room = known("high floor", key="preference.room")
    for key in ("preference.floor", "preference.room"):
        (one,) = rules.resolve(candidate("high floor", 5, key, origin="extracted"), [room])
        assert one.key == "preference.room"
    for key, value in (("preference.curtains", "high floor"), ("preference.floor", "top floor"),
                       ("about.floor", "high floor")):  # fmt: skip
        (one,) = rules.resolve(candidate(value, 5, key, origin="extracted"), [room])
        assert one.key == key
