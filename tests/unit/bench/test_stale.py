"""How the benchmark of memory finds what prompts go on telling besides facts: old values, told as current."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bench.memory_score import score
from bench.months import Month, read
from bench.planted import planted
from bench.stale import Layer, Prompt, Stale, figures, looked_at, misses

BEGINS = datetime(2026, 3, 2, 9, tzinfo=UTC)
HOME, MOVED = "I live in New Delhi, near the gate.", "We have moved to Goa, so write to us there from now on."
OLD = "The user said: I live in New Delhi, near the gate."


@pytest.fixture
def month(tmp_path: Path) -> Month:
    """Ana lives in New Delhi, then in Goa; she keeps bees, and then none; of Ben nothing is planted."""
    turns = [
        {"user": HOME, "agent": "Ok.", "tells": {"city": "New Delhi"}},
        {"user": "I keep bees.", "agent": "Ok.", "tells": {"about.animals": "bees"}},
        {"user": MOVED, "agent": "Ok.", "tells": {"city": "Goa"}},
        {"user": "No bees any more, they flew away with the summer.", "agent": "Ok.", "retracts": ["about.animals"]},
        {"user": "Still in Goa.", "agent": "Ok.", "tells": {"city": "Goa"}},
    ]
    file = tmp_path / "month.json"
    sessions = [
        {"who": "ana", "channel": "web", "turns": turns},
        {"who": "ben", "channel": "web", "turns": [{"user": "Hi.", "agent": "Hello."}]},
    ]
    file.write_text(json.dumps({"begins": "2026-03-02T00:00:00+00:00", "sessions": sessions}), "utf-8")
    return read(file)


def prompt(minutes: float, *parts: tuple[Layer, str], who: str = "ana") -> Prompt:
    return Prompt(who, BEGINS + timedelta(minutes=minutes), parts)


def found(month: Month, *prompts: Prompt) -> list[Stale]:
    return [one for one in looked_at(month, planted(month), prompts) if one.layers]


def test_an_old_value_without_what_ended_it_is_told_as_current(month: Month) -> None:
    layers: tuple[Layer, ...] = ("summary", "kept", "recap", "notes")
    for layer in layers:
        (one,) = found(month, prompt(3, (layer, OLD)))
        assert (one.one.spellings, one.layers, one.is_current) == (("New Delhi",), (layer,), True)


def test_it_is_looked_for_from_the_turn_after_the_one_that_ends_it(month: Month) -> None:
    assert looked_at(month, planted(month), [prompt(2.5, ("summary", OLD))]) == []
    assert len(looked_at(month, planted(month), [prompt(3.5, ("summary", ""))])) == 1
    assert len(looked_at(month, planted(month), [prompt(4.5, ("summary", ""))])) == 2


def test_what_is_so_again_is_not_looked_for(month: Month) -> None:
    back = replace(month.turns[0], at=BEGINS + timedelta(minutes=10))
    moved = replace(month, visits=(*month.visits, replace(month.visits[0], turns=(back,))))
    assert len(looked_at(moved, planted(moved), [prompt(9, ("summary", ""))])) == 2
    (bees,) = looked_at(moved, planted(moved), [prompt(11, ("summary", OLD))])
    assert (bees.one.name, bees.layers) == ("about.animals", ())


def test_others_prompts_are_others(month: Month) -> None:
    assert looked_at(month, planted(month), [prompt(3, ("summary", OLD), who="ben")]) == []


def test_a_value_is_there_by_all_its_words_one_after_another(month: Month) -> None:
    assert not found(month, prompt(3, ("summary", "The new gate of Delhi, New York's or Newer Delhi.")))
    assert found(month, prompt(3, ("summary", "the flat in NEW DELHI.")))


def test_what_stands_before_the_words_that_ended_it_is_told_as_over(month: Month) -> None:
    ends = "The user said: We have moved to Goa, so write to us."
    assert not found(month, prompt(3, ("summary", f"{OLD} {ends}")))
    assert not found(month, prompt(3, ("summary", OLD), ("recap", f"- user: {MOVED}")))
    assert not found(month, prompt(3, ("messages", MOVED), ("summary", OLD)))
    assert not found(month, prompt(4, ("summary", OLD), ("messages", "Still in Goa.")))


def test_what_stands_after_them_is_told_as_current_again(month: Month) -> None:
    assert found(month, prompt(3, ("summary", f"The user said: {MOVED} {OLD}")))
    assert found(month, prompt(3, ("kept", f"- user: {HOME}"), ("summary", MOVED)))
    assert found(month, prompt(3, ("messages", MOVED), ("notes", "- assumed a1, 80%: lives in New Delhi")))


def test_the_words_that_end_it_are_not_the_old_value_though_they_have_it(month: Month) -> None:
    told = "No bees any more, they flew away with the summer."
    assert not found(month, prompt(4, ("summary", f"The user said: {told}")))
    assert not found(month, prompt(4, ("summary", told)))
    assert found(month, prompt(4, ("summary", f"{told} The user has bees.")))
    assert found(month, prompt(4, ("summary", "The user has bees.")))


def test_messages_are_not_looked_into_for_old_values(month: Month) -> None:
    assert not found(month, prompt(3, ("messages", HOME)))


def test_under_a_day_it_is_no_current_value(month: Month) -> None:
    looked = looked_at(month, planted(month), [prompt(3, ("episodes", "- [2026-03-02] The user is from New Delhi"))])
    assert [(one.layers, one.is_current) for one in looked] == [(("episodes",), False)]
    assert figures(looked) == {"looked_for": 1, "as_current": 0, "facts_say_otherwise": 0, "under_a_day": 1}
    assert list(misses(month, looked)) == []


def test_a_fact_that_says_otherwise_is_counted_beside_it(month: Month) -> None:
    bees = "The user keeps bees."
    told = prompt(4, ("summary", f"{OLD} {bees}"), ("facts", "- city: Goa"))
    assert [one.corrected for one in found(month, told)] == [True, False]
    untold = prompt(4, ("summary", f"{OLD} {bees}"), ("facts", "- city: New Delhi"))
    assert [one.corrected for one in found(month, untold)] == [False, False]


def test_the_figures_count_prompts_and_each_value_is_one_miss(month: Month) -> None:
    prompts = [
        prompt(3, ("summary", OLD), ("facts", "- city: Goa")),
        prompt(3.2, ("summary", OLD), ("recap", f"- user: {HOME}")),
        prompt(3.4, ("episodes", "- [2026-03-02] New Delhi")),
        prompt(3.6),
    ]
    scored = score(month, [], [], [], prompts)
    assert scored.figures["stale_in_prompt"] == {
        "looked_for": 4, "as_current": 2, "facts_say_otherwise": 1, "under_a_day": 1,
    }  # fmt: skip
    assert [what for kind, what in scored.misses if kind == "stale in prompt"] == [
        f"ana: city = 'New Delhi' stood in 2 prompts (summary 2, recap 1) after {MOVED!r}; a fact said otherwise in 1"
    ]
