"""How facts and episodes are told, and when a reply used one."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from parlour.memory.recall import recall_rendering, recall_usage
from parlour.memory.recall.recall_rendering import RecalledEpisode, RecalledFact
from parlour.prompts.assembly.ledger_entries import LedgerEntry
from parlour.prompts.assembly.segment import Item, Source, SourceKind
from tests.conftest import NOW

DIET = RecalledFact(UUID(int=1), "user", "preference.food", "vegetarian, no onions", 0.9, 0.0)
EPISODE = RecalledEpisode(
    UUID(int=2), "Priya asked for the crane permit KX-4471 and was promised it by Friday.", NOW, UUID(int=3), 1, 0.6
)


def of(value: str, **changes: object) -> Item:
    (item,) = recall_rendering.render_facts([replace(DIET, value=value, **changes)])  # type: ignore[arg-type]
    return item


def is_used(item: Item, said: str, asked: str = "") -> bool:
    (one,) = recall_usage.measure_usage([item], said, asked)
    return one.is_used


def test_a_fact_is_a_line_with_its_key() -> None:
    item = of("vegetarian,\n no onions")
    assert item.text == "- preference.food: vegetarian, no onions"
    assert (item.kind, item.source, item.title) == (
        SourceKind.FACTS,
        Source("facts", str(UUID(int=1))),
        "preference.food",
    )


def test_whose_fact_it_is_and_whether_it_is_sure_is_told() -> None:
    lines = [of("x", scope="team").text, of("x", scope="human").text, of("x", confidence=0.6).text]
    assert lines == ["- (team) preference.food: x", "- (you) preference.food: x", "- (not sure) preference.food: x"]


def test_where_there_is_little_room_what_is_asked_about_stays_and_then_what_is_sure() -> None:
    asked, sure, unsure = of("a", relevance=0.5), of("b"), of("c", confidence=0.6)
    assert asked.score > sure.score > unsure.score


def test_facts_are_told_in_one_order_whatever_is_asked() -> None:
    facts = [replace(DIET, key=key, relevance=worth) for key, worth in (("b", 0.9), ("a", 0.1), ("c", 0.5))]
    assert [one.title for one in recall_rendering.render_facts(facts)] == ["a", "b", "c"]


def test_episodes_have_their_day_and_are_closed_with_their_row() -> None:
    earlier = replace(EPISODE, id=UUID(int=4), until_at=NOW - timedelta(days=2))
    first, second = recall_rendering.render_episodes([EPISODE, earlier])
    assert first.source.id == str(earlier.id)
    assert second.text.startswith(f"- [{NOW.date().isoformat()}] Priya asked")
    assert (second.classification, second.further_sources) == (1, (Source("context_rows", str(UUID(int=3))),))


@pytest.mark.parametrize(
    ("said", "asked", "is_it"),
    [
        ("I left out the onions: it is a vegetarian dish.", "", True),
        ("Here is a dish with beef.", "", False),
        ("A vegetarian dish without onions, as you say.", "I am vegetarian and eat no onions", False),
        ("", "", False),
    ],
)
def test_a_fact_was_used_where_the_reply_has_its_words_and_the_user_had_not_just_said_them(
    said: str, asked: str, is_it: bool
) -> None:
    assert is_used(of("vegetarian, no onions"), said, asked) is is_it


def test_words_of_any_script_tell() -> None:
    assert is_used(of("மதுரை"), "உங்கள் மதுரை முகவரிக்கு அனுப்புகிறேன்")
    assert not is_used(of("மதுரை"), "உங்கள் சென்னை முகவரிக்கு அனுப்புகிறேன்")


def test_the_key_alone_is_no_use_of_a_fact() -> None:
    assert not is_used(of("vegetarian"), "What food is your preference?")


def test_an_episode_was_used_where_enough_of_it_is_said() -> None:
    (item,) = recall_rendering.render_episodes([EPISODE])
    assert is_used(item, "The crane permit KX-4471 will be there by Friday.")
    assert not is_used(item, "The crane comes tomorrow.")
    (short,) = recall_rendering.render_episodes([replace(EPISODE, text="The crane permit was promised by Friday.")])
    assert not is_used(short, "The crane needs its permit.")


def test_only_what_stood_in_the_prompt_counts() -> None:
    kept, dropped, other = of("a"), of("b"), replace(of("c"), kind=SourceKind.STATE)
    entries = [LedgerEntry(kept, 5), LedgerEntry(dropped, 5, "over_budget"), LedgerEntry(other, 5)]
    assert recall_usage.recalled_items(entries) == [kept]
