"""The benchmark of memory, on a script of a few minutes: that it plays it, and counts what comes of it."""

import json
import logging
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from bench import memory, month_player
from bench.conversation_scripts import Malformed
from bench.memory import MONTH, score
from bench.month_player import Fact, Played
from bench.month_script import Month, read
from local import temporary_database
from local.database import Cluster
from parlour.infra.postgres import Database
from tests.conversation_harness import WordEmbedder

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
        patch.setattr(temporary_database, "temporary_cluster", lambda: nullcontext(cluster))
        patch.setattr(memory, "MiniLmEmbedder", lambda **_: WordEmbedder())
        patch.setattr("sys.argv", ["bench.memory", "--script", str(script), "--json", str(file)])
        memory.main()
    logging.disable(logging.NOTSET)  # it keeps the product's lines off its own screen, and its process is ours
    yield json.loads(file.read_text("utf-8"))
    cluster.drop("scratch")


def test_its_json_has_what_is_promised_for_both_ways(figures: dict[str, Any]) -> None:
    assert figures["month"] == {"messages": 40, "facts": 4, "changed": 1, "retracted": 0}
    for way, stale in (("offline", 0), ("scripted", 2)):
        one = figures[way]
        assert one["extraction"].keys() == {"precision", "recall"}
        numbers = ("wrong_retirements", "duplicates_per_fact", "stale_served", "identifiers_survived")
        assert [one[name] for name in numbers] == [0, 0.0, stale, 1.0]


def test_without_a_model_the_obvious_is_found_and_the_rest_is_told_as_missing(figures: dict[str, Any]) -> None:
    offline = figures["offline"]
    assert offline["extraction"] == {"precision": 1.0, "recall": 0.2}
    assert len(offline["misses"]) == 4
    assert "not found: ana: about.animals in 'We keep bees behind the house.'" in offline["misses"]


def test_a_models_right_answers_are_taken_and_its_wrong_ones_are_not(figures: dict[str, Any]) -> None:
    scripted = figures["scripted"]
    assert scripted["extraction"] == {"precision": 1.0, "recall": 1.0}
    assert scripted["misses"] == ["stale: ana: city = 'Pune' was told 2 times after it was over"]
    assert scripted["wrong_answers"] > 0.3
    assert scripted["decisions"]["not_users_own"] >= 2
    assert scripted["episodes"] > 0


def test_what_was_said_before_a_cut_is_there_after_it(figures: dict[str, Any]) -> None:
    for way in ("offline", "scripted"):
        assert figures[way]["identifiers"] == {
            "planted": 1, "tried": 1, "in_prompt": 1.0, "recalled": 1.0, "compactions": 2,
        }  # fmt: skip
        assert figures[way]["identifiers_survived"] == 1.0


def test_what_went_wrong_is_counted_and_told() -> None:
    month = Month.model_validate(_SCRIPT)
    pune, kochi = month.sessions[0].turns[0].at, month.sessions[2].turns[0].at

    def fact(key: str, value: str, since: datetime, until: datetime | None = None, *served: datetime) -> Fact:
        return Fact(uuid4(), "ana", key, value, "extracted", since, until, "contradicted" if until else "", served)

    after = kochi + timedelta(minutes=1)
    facts = [
        fact("city", "Pune", pune, None, after),
        fact("name", "Ana Pires", pune, kochi),
        fact("diet", "honey", pune),
        fact("city", "Kochi", kochi),
        fact("about.town", "Kochi", kochi),
    ]
    found = score(month, Played(facts, {}, [], 0, 0))
    assert found["extraction"] == {"precision": 0.8, "recall": 0.6}
    numbers = ("wrong_retirements", "duplicates_per_fact", "stale_served", "identifiers_survived")
    assert [found[name] for name in numbers] == [1, 2.0, 1, None]
    assert found["misses"] == [
        "not found: ana: about.animals in 'We keep bees behind the house.'",
        "not found: ben: city in 'I live in Goa.'",
        "not so: ana: diet = 'honey' was kept (extracted)",
        "wrongly retired: ana: name = 'Ana Pires' was contradicted",
        "stale: ana: city = 'Pune' was told 1 times after it was over",
    ]


def test_script_that_cannot_be_played_says_why(tmp_path: Path) -> None:
    file = tmp_path / "month.json"
    file.write_text(json.dumps({**_SCRIPT, "begins": "2026-03-02"}), "utf-8")
    with pytest.raises(Malformed, match="begins"):
        read(file)


def test_all_that_must_survive_the_month_goes_through_ten_compactions(database: Database) -> None:
    """Its conversation alone is played: what is said elsewhere compacts nothing here."""
    month = read(MONTH)
    keeping = {(one.who, one.channel) for one in month.sessions if any(turn.keeps for turn in one.turns)}
    assert keeping == {("priya", "whatsapp")}
    month.sessions = [one for one in month.sessions if (one.who, one.channel) in keeping]
    played = month_player.opened(database, month, WordEmbedder(), None).play()
    assert len(played.survived) == 19
    assert min(one.compactions for one in played.survived) == 10
    assert all(one.in_prompt or one.recalled for one in played.survived)
