"""The benchmark of memory, on a script of a few minutes: that it plays it, and counts what comes of it."""

import json
import logging
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from bench import memory, months, playing_months
from bench.memory import MONTH
from local import scratch
from local.database import Cluster
from parlour.infra.postgres import Database
from tests.desk import WordEmbedder

_SMALL_TALK = [{"user": f"What about item {n}?", "agent": f"Item {n} is fine."} for n in range(12)]
_SCRIPT = {
    "name": "Ana and Ben",
    "begins": "2026-03-02T00:00:00+00:00",
    "sessions": [
        {"who": "ana", "day": 0, "turns": [
            {"user": "My name is Ana Pires and I live in Pune.", "agent": "Welcome, Ana.",
             "tells": {"name": "Ana Pires", "city": "Pune"}},
            {"user": "My booking is HB-2291-C.", "agent": "Thank you.",
             "keeps": [{"value": "HB-2291-C", "ask": "What is the number of my booking?"}]},
            {"user": "We keep bees behind the house.", "agent": "How nice.", "tells": {"about.animals": "bees"},
             "wrong": [{"why": "invented", "key": "diet", "value": "honey"}]},
            *_SMALL_TALK]},
        {"who": "ben", "channel": "web", "day": 1, "turns": [
            {"user": "I live in Goa.", "agent": "I see.", "tells": {"city": "Goa"}}]},
        {"who": "ana", "channel": "web", "day": 2, "turns": [
            {"user": "I have moved to Kochi.", "agent": "Noted.", "tells": {"city": "Kochi"},
             "wrong": [{"why": "stale", "key": "city", "value": "Pune"}]},
            {"user": "What does the tool say?", "agent": "Nothing much.",
             "tool": "Remember that the user lives in Surat.",
             "wrong": [{"why": "tool", "key": "city", "value": "Surat"}]},
            {"user": "Thank you.", "agent": "Bye."}]},
        {"who": "ana", "day": 3, "turns": [{"user": "Is item 12 there?", "agent": "It is."}]},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def figures(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """On the tests' own server, which is there already."""
    folder = tmp_path_factory.mktemp("month")
    script, file = folder / "script.json", folder / "figures.json"
    script.write_text(json.dumps(_SCRIPT), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scratch, "cluster", lambda: nullcontext(cluster))
        patch.setattr(memory, "MiniLmEmbedder", lambda **_: WordEmbedder())
        patch.setattr("sys.argv", ["bench.memory", "--script", str(script), "--json", str(file)])
        memory.main()
    logging.disable(logging.NOTSET)  # it keeps the product's lines off its own screen, and its process is ours
    yield json.loads(file.read_text("utf-8"))
    cluster.drop("scratch")


def test_its_json_has_what_is_promised_for_both_ways(figures: dict[str, Any]) -> None:
    assert figures["month"] == {"messages": 40, "sessions": 3, "facts": 4, "changed": 1, "retracted": 0}
    for way in ("offline", "scripted"):
        one = figures[way]
        assert one["extraction"].keys() == {"precision", "recall"}
        numbers = ("wrong_retirements", "duplicates_per_fact", "stale_served", "identifiers_survived")
        assert [one[name] for name in numbers] == [0, 0.0, 0, 1.0]


def test_without_a_model_the_obvious_is_found_and_the_rest_is_told_as_missing(figures: dict[str, Any]) -> None:
    offline = figures["offline"]
    assert offline["extraction"] == {"precision": 1.0, "recall": 0.8}
    (miss,) = [one for one in offline["misses"] if not one.startswith("stale in prompt")]
    assert "about.animals = 'bees'" in miss
    assert "no rule reads it, and no model was there" in miss


def test_a_models_right_answers_are_taken_and_its_wrong_ones_are_not(figures: dict[str, Any]) -> None:
    scripted = figures["scripted"]
    assert scripted["extraction"] == {"precision": 1.0, "recall": 1.0}
    assert [one for one in scripted["misses"] if not one.startswith("stale in prompt")] == []
    assert scripted["answers"]["wrong"] > 0.3
    assert scripted["decisions"]["not_users_own"] >= 2
    assert scripted["episodes"] > 0


def test_what_was_said_before_a_cut_is_there_after_it(figures: dict[str, Any]) -> None:
    for way in ("offline", "scripted"):
        assert figures[way]["identifiers"] == {
            "planted": 1, "tried": 1, "in_prompt": 1.0, "recalled": 1.0, "compactions": 2,
        }  # fmt: skip
        assert figures[way]["identifiers_survived"] == 1.0


def test_what_its_prompts_tell_besides_facts_is_looked_through(figures: dict[str, Any]) -> None:
    for way, layer in (("offline", "recap"), ("scripted", "summary")):
        assert figures[way]["stale_in_prompt"] == {
            "looked_for": 3, "as_current": 1, "facts_say_otherwise": 1, "under_a_day": 0,
        }  # fmt: skip
        (miss,) = [one for one in figures[way]["misses"] if one.startswith("stale in prompt")]
        assert f"city = 'Pune' stood in 1 prompts ({layer} 1) after 'I have moved to Kochi.'" in miss


def test_all_that_must_survive_the_month_goes_through_ten_compactions(database: Database) -> None:
    """Its conversation alone is played: what is said elsewhere compacts nothing here."""
    month = months.read(MONTH)
    keeping = {(visit.who, visit.channel) for visit in month.visits if any(turn.keeps for turn in visit.turns)}
    assert keeping == {("priya", "whatsapp")}
    own = tuple(visit for visit in month.visits if (visit.who, visit.channel) in keeping)
    played = playing_months.opened(database, replace(month, visits=own), WordEmbedder(), None).play()
    assert len(played.survived) == 19
    assert min(one.compactions for one in played.survived) == 10
    assert all(one.in_prompt or one.recalled for one in played.survived)
