"""How the benchmark of memory counts: what is right, what is missing, what was ended that held, what came too late."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bench.memory_score import Decided, Fact, Scored, Survival, holds, score
from bench.months import Month, read
from bench.planted import planted

BEGINS = datetime(2026, 3, 2, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
UNREAD = "no rule reads it, and no model was there or proposed anything"


def said(minutes: float) -> datetime:
    """When the script's turn of that minute was."""
    return BEGINS + timedelta(hours=9) + minutes * MINUTE


@pytest.fixture
def month(tmp_path: Path) -> Month:
    """Ana lives in Pune, then in Goa; her plan is Basic, until she cancels it; of her sister Divya nobody counts."""
    turns = [
        {"user": "I live in Pune.", "agent": "Ok.", "tells": {"city": "Pune"}, "may": {"family.sister": "Divya"}},
        {"user": "I have the Basic plan.", "agent": "Ok.", "tells": {"plan": ["Basic", "basique"]}},
        {"user": "I live in Goa now.", "agent": "Ok.", "tells": {"city": "Goa"}},
        {"user": "No plan any more.", "agent": "Ok.", "retracts": ["plan"]},
        {"user": "Bye from Goa.", "agent": "Ok.", "tells": {"city": "goa"}},
    ]
    file = tmp_path / "month.json"
    sessions = [{"who": "ana", "channel": "web", "turns": turns}]
    file.write_text(json.dumps({"begins": BEGINS.isoformat(), "sessions": sessions}), "utf-8")
    return read(file)


def fact(key: str, value: str, since: float, until: float | None = None, **changes: Any) -> Fact:
    ended = None if until is None else said(until)
    return Fact(f"{key}-{value}-{since}", "ana", key, value, "said", said(since), ended, **changes)


PUNE = fact("city", "Pune", 0, 2, ended="contradicted")
BASIC = fact("plan", "Basic", 1, 3, ended="retracted")
GOA = fact("city", "Goa", 2)


def figures(month: Month, *facts: Fact) -> dict[str, Any]:
    return score(month, facts, [], [], []).figures


def test_a_value_holds_until_another_takes_its_place_or_it_is_taken_back(month: Month) -> None:
    assert [(one.name, one.spellings, one.since, one.until, one.ended) for one in planted(month)] == [
        ("city", ("Pune",), said(0), said(2), "changed"),
        ("plan", ("Basic", "basique"), said(1), said(3), "retracted"),
        ("city", ("Goa",), said(2), None, ""),
    ]


def test_what_was_remembered_and_ended_in_time_has_no_fault(month: Month) -> None:
    scored = score(month, [PUNE, BASIC, GOA], [], [], [])
    assert scored.figures["extraction"] == {"precision": 1.0, "recall": 1.0}
    assert [scored.figures[name] for name in ("wrong_retirements", "duplicates_per_fact", "stale_served")] == [0, 0, 0]
    assert scored.misses == []


def test_what_nobody_said_is_not_so_and_what_nobody_counts_counts_neither_way(month: Month) -> None:
    strange, sister = fact("allergy", "nuts", 1), fact("family.sister", "Divya", 0)
    assert figures(month, PUNE, BASIC, GOA, sister)["extraction"] == {"precision": 1.0, "recall": 1.0}
    assert figures(month, PUNE, BASIC, GOA, strange)["extraction"]["precision"] == 0.75


def test_the_right_word_under_the_key_of_something_else_is_not_so(month: Month) -> None:
    assert figures(month, fact("home_town", "Pune", 0))["extraction"] == {"precision": 0.0, "recall": 0.0}
    assert figures(month, fact("about.place", "lives in Pune", 0))["extraction"] == {"precision": 1.0, "recall": 0.333}
    assert figures(month, fact("city", "not in Pune", 0))["extraction"]["precision"] == 0.0


def test_an_old_value_that_is_written_again_is_not_so(month: Month) -> None:
    assert figures(month, fact("city", "Pune", 4))["extraction"]["precision"] == 0.0


def test_a_value_that_ended_while_it_held_was_retired_wrongly_unless_another_row_goes_on_with_it(month: Month) -> None:
    early = fact("city", "Pune", 0, 1, ended="contradicted", superseded_by="x")
    assert figures(month, early)["wrong_retirements"] == 1
    assert figures(month, early, fact("city", "Pune, India", 1, 2))["wrong_retirements"] == 0
    assert figures(month, early, fact("city", "Pune", 1.5, 2))["wrong_retirements"] == 1  # it was away for a while


def test_further_live_rows_of_a_fact_are_duplicates(month: Month) -> None:
    assert figures(month, GOA, fact("about.home", "Goa", 4))["duplicates_per_fact"] == 1.0
    assert figures(month, GOA, PUNE)["duplicates_per_fact"] == 0.0
    stays = fact("city", "Pune", 0)
    assert figures(month, GOA, stays)["duplicates_per_fact"] == 1.0  # two values of which one is over


def test_a_turn_that_is_told_what_an_earlier_one_changed_is_told_something_stale(month: Month) -> None:
    told = fact("city", "Pune", 0, served=(said(1), said(2.1), said(3.1), said(4)))
    assert figures(month, told)["stale_served"] == 2  # the turn that changes it is none
    assert figures(month, fact("plan", "Basic", 1, served=(said(4),)))["stale_served"] == 1


def test_every_miss_is_told_with_what_became_of_it(month: Month) -> None:
    decided = [Decided("ana", "I live in Pune.", "city", "below_floor"), Decided("ben", "I live in Pune.", "x", "new")]
    scored: Scored = score(month, [GOA], [], decided, [])
    assert scored.misses == [
        ("not found", "ana: city = 'Pune' in 'I live in Pune.': decided city: below_floor"),
        ("not found", f"ana: plan = 'Basic' in 'I have the Basic plan.': {UNREAD}"),
    ]


def test_what_was_told_though_it_was_over_is_one_miss_with_the_words_that_ended_it(month: Month) -> None:
    told = fact("city", "Pune", 0, 2, ended="contradicted", served=(said(1), said(3), said(4)))
    (stale,) = [what for kind, what in score(month, [told, GOA], [], [], []).misses if kind == "stale"]
    assert stale.startswith("ana: city = 'Pune' was told 2 times after '")
    assert UNREAD in stale
    assert stale.endswith("minutes later; then it was contradicted")


def test_survival_is_in_the_prompt_or_by_a_question(month: Month) -> None:
    kinds = [(True, True), (False, True), (False, False)]
    survived = [Survival("ana", "amount", "12", "How much?", 11 - n, *both) for n, both in enumerate(kinds)]
    scored = score(month, [], survived, [], [])
    assert scored.figures["identifiers_survived"] == 0.667
    assert scored.figures["identifiers"] == {
        "planted": 3, "tried": 3, "in_prompt": 0.333, "recalled": 0.667, "compactions": 9,
    }  # fmt: skip
    assert [(kind, what) for kind, what in scored.misses if "amount" in what] == [
        ("when asked", "ana: amount '12' is in the prompt only with: How much?"),
        ("lost", "ana: amount '12', asked: How much?"),
    ]


def test_what_went_through_no_compaction_counts_neither_way_and_is_told(month: Month) -> None:
    there, gone = (Survival("ana", "date", "12", "When?", times, times == 0, False) for times in (0, 1))
    scored = score(month, [], [there, gone], [], [])
    assert scored.figures["identifiers_survived"] == 0.0
    assert scored.figures["identifiers"] == {
        "planted": 2, "tried": 1, "in_prompt": 0.0, "recalled": 0.0, "compactions": 1,
    }  # fmt: skip
    assert ("not tried", "ana: date '12' went through no compaction") in scored.misses


def test_a_share_of_nothing_is_no_share(month: Month) -> None:
    there = Survival("ana", "date", "12", "When?", 0, True, True)
    scored = score(month, [], [there], [], [])
    assert scored.figures["identifiers_survived"] is None
    assert scored.figures["identifiers"] == {
        "planted": 1, "tried": 0, "in_prompt": None, "recalled": None, "compactions": 0,
    }  # fmt: skip
    assert scored.figures["extraction"] == {"precision": None, "recall": 0.0}
    assert scored.figures["duplicates_per_fact"] is None
    empty = Month("nobody", BEGINS, ())
    assert figures(empty)["extraction"] == {"precision": None, "recall": None}


def test_a_prompt_has_a_value_whatever_stands_between_its_digits() -> None:
    assert holds("paid 250000 rupees", "2,50,000")
    assert holds("Ref: hb 2291-C.", "HB2291-c")
    assert not holds("paid 25,000", "2,50,000")
