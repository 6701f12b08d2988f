"""A long conversation that fell silent becomes facts and one episode, in the place of those noted on the way."""

import json
from datetime import timedelta

import pytest

from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.memory.consolidating import due
from tests.desk import Desk
from tests.integration.memory.silent import Silent

NOTHING: JsonObject = {"facts": [], "episodes": []}


@pytest.fixture
def talk(desk: Desk) -> Silent:
    return Silent(desk, due.TURNS)


def mark(talk: Silent) -> None:
    with talk.desk.database.transaction(talk.desk.tenant_id) as tx:
        due.note(tx, talk.session)


def test_one_of_more_than_twenty_turns_is_looked_at_a_day_after_its_last_word(talk: Silent) -> None:
    mark(talk)
    assert talk.due("consolidation") == []
    talk.say("One more.")
    mark(talk)
    ((at,),) = talk.due("consolidation")
    ((last,),) = talk.desk.rows(f"SELECT last_active_at FROM sessions WHERE id = '{talk.session}'")
    assert at == last + timedelta(hours=24)  # type: ignore[operator]


def test_it_becomes_facts_and_one_episode_in_the_place_of_those_noted_on_the_way(talk: Silent) -> None:
    desk = talk.desk
    said = talk.say("By the way, I live in Pune and work as a surveyor.")
    noted = talk.episode("They live in Pune.", said)
    talk.fall_silent()
    fact: JsonObject = {"key": "city", "value": "Pune", "confidence": 0.9, "messages": [21]}
    talk.consolidate(
        {"facts": [fact], "episodes": [{"text": "They told that they live in Pune.", "messages": [21]}]}
    )  # fmt: skip
    assert "They live in Pune." in str(desk.model.requests[0].messages)
    assert desk.rows("SELECT key, value, messages FROM facts WHERE valid_until IS NULL AND key = 'city'") == [
        ("city", "Pune", [said])
    ]
    ((text, origin, folded, recalled),) = desk.rows("SELECT text, origin, folded, recalled FROM episodes")
    assert (text, origin, folded, recalled) == ("They told that they live in Pune.", "consolidated", 1, 3)
    assert desk.rows(f"SELECT FROM context_rows WHERE id = '{noted}'") == []
    assert desk.rows("SELECT consolidated_turn FROM sessions WHERE consolidated_at IS NOT NULL") == [(21,)]
    assert talk.due("consolidation") == []


def test_the_better_model_is_asked(talk: Silent) -> None:
    quality = json.dumps({"quality": {"provider": "anthropic", "model": "best"}})
    talk.desk.rows(f"UPDATE agents SET model_routing = model_routing || '{quality}' RETURNING 1")
    talk.say("One more.")
    talk.fall_silent()
    talk.consolidate(NOTHING)
    assert [one.model for one in talk.desk.model.requests] == ["best"]


def test_one_that_talks_again_waits_until_it_is_silent_again(talk: Silent) -> None:
    talk.say("One more.")
    talk.fall_silent(hours=23)
    talk.consolidate()
    assert talk.desk.model.requests == []
    assert len(talk.due("consolidation")) == 1


def test_it_is_done_once(talk: Silent) -> None:
    talk.say("One more.")
    talk.fall_silent()
    talk.consolidate(NOTHING)
    assert len(talk.desk.model.requests) == 1
    talk.consolidate(NOTHING)
    assert talk.desk.model.requests == []


def test_a_conversation_that_others_read_is_nobodys_private_memory(talk: Silent) -> None:
    talk.say("One more.")
    talk.desk.rows(f"UPDATE sessions SET visibility = 'shared' WHERE id = '{talk.session}' RETURNING 1")
    talk.fall_silent()
    mark(talk)
    talk.consolidate(NOTHING)
    assert talk.desk.model.requests == []
    assert talk.due("consolidation") == []


def test_what_somebody_had_forgotten_is_not_found_again(talk: Silent) -> None:
    desk = talk.desk
    said = talk.say("I live in Pune, by the way.")
    desk.rows("DELETE FROM facts WHERE true RETURNING 1")
    desk.rows(
        "INSERT INTO fact_decisions (tenant_id, id, user_id, binding_id, session_id, key, origin, decision, messages,"
        f" at) SELECT tenant_id, '{uuid7(desk.clock())}', user_id, binding_id, id, 'city', 'said', 'forgotten',"
        f" ARRAY['{said}'::uuid], now() FROM sessions WHERE id = '{talk.session}' RETURNING 1"
    )
    talk.fall_silent()
    fact: JsonObject = {"key": "city", "value": "Pune", "confidence": 0.9, "messages": [21]}
    talk.consolidate({"facts": [fact], "episodes": []})
    assert desk.rows("SELECT key FROM facts WHERE key = 'city'") == []
    assert desk.rows("SELECT reason FROM fact_decisions WHERE reason = 'forgotten'") == [("forgotten",)]


def test_an_answer_that_does_not_come_leaves_everything_for_the_next_night(talk: Silent) -> None:
    talk.say("One more.")
    talk.fall_silent()
    talk.desk.rows("UPDATE tenants SET daily_cap_usd = 0 RETURNING 1")
    talk.consolidate(json.dumps(NOTHING))
    assert talk.desk.rows("SELECT FROM sessions WHERE consolidated_at IS NOT NULL") == []
    ((at,),) = talk.due("consolidation")
    assert at > talk.desk.clock() + timedelta(hours=20)  # type: ignore[operator]
