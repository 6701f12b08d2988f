"""What becomes of a candidate beside what is known: the same, fuller, another, none any more, or nothing at all."""

from hypothesis import given
from hypothesis import strategies as some

from parlour.memory.facts.fact import MIN_CONFIDENCE, FactCandidate, Origin
from parlour.memory.facts.merge_rules import combined_confidence, decide, resolve_keys
from tests.unit.memory.facts.fact_builders import FactMemory, at_minute, make_candidate, make_known_fact

CITIES = ("Pune", "Goa", "Chennai", "Delhi")
PLACES = some.sampled_from(CITIES)
ORIGINS: tuple[Origin, ...] = ("stated", "extracted")
MINUTES = some.lists(some.integers(0, 40), min_size=1, max_size=12, unique=True)


def test_a_first_value_is_new_and_one_below_the_floor_is_nothing() -> None:
    assert decide(make_candidate("Pune"), []).decision == "new"
    assert decide(make_candidate("Pune", confidence=MIN_CONFIDENCE), []).decision == "new"
    assert decide(make_candidate("Pune", confidence=MIN_CONFIDENCE - 0.01), []).decision == "low_confidence"


def test_the_same_value_in_other_letters_makes_it_surer() -> None:
    verdict = decide(make_candidate("PUNE.", 5), [make_known_fact("Pune", confidence=0.7)])
    assert (verdict.decision, verdict.value) == ("same", "Pune")
    assert 0.7 < verdict.confidence < 1


def test_the_same_message_read_twice_makes_nothing_surer() -> None:
    assert decide(make_candidate("Pune", 0), [make_known_fact("Pune", 0)]).decision == "duplicate"


def test_a_fuller_value_refines_and_a_shorter_one_is_the_same_of_what_has_degrees() -> None:
    assert decide(make_candidate("Pune, Maharashtra", 5), [make_known_fact("Pune")]).decision == "refines"
    assert decide(make_candidate("Pune", 5), [make_known_fact("Pune, Maharashtra")]).decision == "same"
    assert (
        decide(make_candidate("Gold", 5, key="plan"), [make_known_fact("Gold Plus", key="plan")]).decision
        == "contradicts"
    )


def test_what_the_user_says_later_takes_the_place_of_what_was_surer() -> None:
    assert (
        decide(make_candidate("Goa", 5, confidence=0.7), [make_known_fact("Pune", confidence=0.95)]).decision
        == "contradicts"
    )


def test_what_a_model_reads_later_replaces_what_was_surer() -> None:
    """It has had a second look by then."""
    read = make_candidate("Goa", 5, confidence=0.8, origin="extracted")
    assert decide(read, [make_known_fact("Pune", confidence=0.99)]).decision == "contradicts"


def test_what_a_person_has_put_right_is_changed_by_what_the_user_says_and_by_no_model() -> None:
    there = make_known_fact("Pune", confidence=1.0, origin="edited")
    assert decide(make_candidate("Goa", 5, origin="extracted", confidence=0.9), [there]).decision == "weaker"
    assert decide(make_candidate("Goa", 5), [there]).decision == "contradicts"


def test_what_was_said_before_changes_nothing() -> None:
    assert decide(make_candidate("Goa", 3), [make_known_fact("Pune", 5)]).decision == "older"
    assert decide(make_candidate("Goa", 3, is_retraction=True), [make_known_fact("Goa", 5)]).decision == "older"


def test_what_was_taken_back_does_not_come_back_of_what_was_said_before() -> None:
    memory = FactMemory()
    memory.merge(make_candidate("Pune", 1))
    memory.merge(make_candidate("Pune", 5, is_retraction=True))
    assert [one.decision for one in memory.merge(make_candidate("Pune", 3, origin="extracted"))] == ["older"]
    assert memory.live == []
    memory.merge(make_candidate("Pune", 8))
    assert memory.value() == "Pune"


def test_another_allergy_stands_beside_the_first_and_another_city_replaces() -> None:
    there = make_known_fact("peanuts", key="allergy", confidence=0.99)
    verdict = decide(make_candidate("shellfish", 5, key="allergy", confidence=0.7, origin="extracted"), [there])
    assert (verdict.decision, verdict.value, verdict.compared) == ("new", "shellfish", ())
    both = [there, make_known_fact("shellfish", 1, key="allergy")]
    assert decide(make_candidate("shellfish", 5, key="allergy"), both).decision == "same"
    assert decide(make_candidate("Goa", 5), [make_known_fact("Pune")]).decision == "contradicts"


def test_values_of_one_message_stand_beside_each_other_and_a_later_one_replaces_both() -> None:
    memory = FactMemory()
    for value in ("filter coffee", "idli"):
        memory.merge(make_candidate(value, 1, "preference.breakfast", origin="extracted"))
    assert memory.values("preference.breakfast") == {"filter coffee", "idli"}
    memory.merge(make_candidate("poha", 5, "preference.breakfast", origin="extracted"))
    assert memory.values("preference.breakfast") == {"poha"}


def test_a_models_reading_of_the_same_words_corrects_a_rules() -> None:
    rule = make_known_fact("Siân's", 3, key="name")
    verdict = decide(make_candidate("Siân", 3, "name", origin="extracted"), [rule])
    assert (verdict.decision, verdict.compared) == ("corrects", (rule,))
    assert decide(make_candidate("Rhys", 4, "name", origin="extracted"), [rule]).decision == "contradicts"


def test_a_value_with_an_end_stands_beside_the_lasting_one() -> None:
    there = make_known_fact("Cardiff")
    assert decide(make_candidate("Leeds", 5, holds_until=at_minute(900)), [there]).decision == "new"
    assert decide(make_candidate("Cardiff", 5, holds_until=at_minute(900)), [there]).decision == "refines"


def test_only_the_named_one_of_several_values_is_taken_back() -> None:
    memory = FactMemory()
    for minute, value in enumerate(("penicillin", "latex")):
        memory.merge(make_candidate(value, minute, "allergy", origin="extracted"))
    memory.merge(make_candidate("nuts", 5, "allergy", origin="extracted", is_retraction=True))
    assert memory.values("allergy") == {"penicillin", "latex"}
    memory.merge(make_candidate("latex", 6, "allergy", origin="extracted", is_retraction=True))
    assert memory.values("allergy") == {"penicillin"}


def test_what_is_over_may_have_other_words_where_the_key_has_one_value() -> None:
    memory = FactMemory()
    memory.merge(make_candidate("Voltara GmbH", 1, "company"))
    memory.merge(make_candidate("the old job", 5, "company", origin="extracted", is_retraction=True))
    assert memory.live == []


def test_words_that_a_fact_was_taken_from_end_it_for_no_model() -> None:
    there = make_known_fact("Pune", 5)
    read = make_candidate("Pune", 5, is_retraction=True, origin="extracted")
    assert decide(read, [there]).decision == "duplicate"
    assert decide(make_candidate("Pune", 6, is_retraction=True, origin="extracted"), [there]).decision == "retracted"


def test_key_of_a_models_own_confirms_the_fact_of_the_vocabulary() -> None:
    diet = make_known_fact("vegetarian", key="diet")
    for key, value, resolved in (
        ("preference.food", "vegetarian", "diet"),
        ("preference.food", "spicy", "preference.food"),
        ("family.dog", "vegetarian", "family.dog"),
    ):
        (found,) = resolve_keys(make_candidate(value, 5, key, origin="extracted"), [diet])
        assert found.key == resolved


def test_value_that_says_what_it_is_about_stands_under_one_preference() -> None:
    room = make_known_fact("high floor", key="preference.room")
    for key, value, resolved in (
        ("preference.floor", "high floor", "preference.room"),
        ("preference.curtains", "high floor", "preference.curtains"),
        ("preference.floor", "top floor", "preference.floor"),
        ("about.floor", "high floor", "about.floor"),
    ):
        (found,) = resolve_keys(make_candidate(value, 5, key, origin="extracted"), [room])
        assert found.key == resolved


def test_liking_is_not_disliking() -> None:
    there = make_known_fact("likes tea", key="preference.tea")
    assert decide(make_candidate("dislikes tea", 5, key="preference.tea"), [there]).decision == "contradicts"


def test_only_what_the_words_name_is_taken_back() -> None:
    live = [
        make_known_fact("Pune"),
        make_known_fact("Acme", 1, key="company"),
        make_known_fact("ravi@example.com", 2, key="email"),
    ]

    def ended(words: str, key: str = "") -> list[str]:
        return [
            one.key
            for one in resolve_keys(FactCandidate(key, words, 0.9, "stated", at_minute(9), is_retraction=True), live)
        ]

    assert ended("Pune") == ["city"]
    assert ended("", key="email") == ["email"]
    assert ended("Delhi") == []
    assert ended("Delhi", key="city") == []
    assert ended("my keys") == []
    assert ended("my car in Pune") == []
    assert ended("the city of Pune") == ["city"]
    live += [make_known_fact("Shaikh Studio", 3, key="about.studio"), make_known_fact("Studio", 4, key="plan")]
    assert ended("the Studio plan") == ["plan"]


def test_forget_that_means_what_was_said_last_and_not_long_ago() -> None:
    live = [make_known_fact("Pune", 1), make_known_fact("Acme", 4, key="company")]
    assert [
        one.key for one in resolve_keys(FactCandidate("", "", 0.9, "stated", at_minute(6), is_retraction=True), live)
    ] == ["company"]
    assert resolve_keys(FactCandidate("", "", 0.9, "stated", at_minute(60), is_retraction=True), live) == []


def test_everything_means_everything() -> None:
    live = [make_known_fact("Pune"), make_known_fact("Acme", key="company")]
    whole = resolve_keys(
        FactCandidate("", "", 0.9, "stated", at_minute(5), is_retraction=True, retracts_everything=True), live
    )
    assert [one.key for one in whole] == ["city", "company"]


@given(some.permutations(range(6)), some.lists(PLACES, min_size=6, max_size=6))
def test_the_last_that_the_user_said_is_live_in_whatever_order_it_is_read(order: list[int], places: list[str]) -> None:
    memory = FactMemory()
    for minute in order:
        memory.merge(make_candidate(places[minute], minute))
    assert memory.value() == places[5]
    assert len(memory.live) == 1


@given(MINUTES, some.data())
def test_a_key_has_one_live_row_at_most_and_intervals_that_do_not_run_backwards(
    minutes: list[int], data: some.DataObject
) -> None:
    memory = FactMemory()
    for minute in minutes:
        ends, place = data.draw(some.booleans()), data.draw(PLACES)
        origin = data.draw(some.sampled_from(ORIGINS))
        confidence = data.draw(some.floats(0, 1))
        memory.merge(make_candidate(place, minute, confidence=confidence, origin=origin, is_retraction=ends))
        assert len(memory.live) <= 1
    assert all(row.valid_until is None or row.valid_until >= row.valid_from for row in memory.rows)
    assert all(MIN_CONFIDENCE <= row.confidence <= 1 for row in memory.rows)


@given(MINUTES, some.data())
def test_reading_the_same_messages_again_changes_nothing(minutes: list[int], data: some.DataObject) -> None:
    read = [make_candidate(data.draw(PLACES), minute) for minute in sorted(minutes)]
    memory = FactMemory()
    for one in read:
        memory.merge(one)
    before = list(memory.rows)
    for one in read:
        memory.merge(one)
    assert [(row.value, row.valid_until) for row in memory.rows] == [(row.value, row.valid_until) for row in before]


@given(some.floats(MIN_CONFIDENCE, 1), some.floats(MIN_CONFIDENCE, 1))
def test_nothing_gets_less_sure_by_being_said_again(sure: float, again: float) -> None:
    assert sure <= combined_confidence(sure, again) <= max(sure, 0.99)
