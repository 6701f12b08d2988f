"""A long conversation that fell silent becomes facts and one episode, in the place of those noted on the way."""

import json
from datetime import timedelta

import pytest

from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.memory.consolidation import silence_rules
from tests.conversation_harness import ConversationHarness
from tests.integration.memory.silent_conversation import SilentConversation

NOTHING: JsonObject = {"facts": [], "episodes": []}


@pytest.fixture
def talk(desk: ConversationHarness) -> SilentConversation:
    return SilentConversation(desk, silence_rules.MIN_TURNS)


def mark(talk: SilentConversation) -> None:
    with talk.desk.database.transaction(talk.desk.tenant_id) as tx:
        silence_rules.schedule_consolidation(tx, talk.session)


def test_one_of_more_than_twenty_turns_is_looked_at_a_day_after_its_last_word(talk: SilentConversation) -> None:
    mark(talk)
    assert talk.due_rows("consolidation") == []
    talk.say("One more.")
    mark(talk)
    ((at,),) = talk.due_rows("consolidation")
    ((last,),) = talk.desk.query(f"SELECT last_active_at FROM sessions WHERE id = '{talk.session}'")
    assert at == last + timedelta(hours=24)  # type: ignore[operator]


def test_it_becomes_facts_and_one_episode_in_the_place_of_those_noted_on_the_way(talk: SilentConversation) -> None:
    desk = talk.desk
    said = talk.say("By the way, I live in Pune and work as a surveyor.")
    noted = talk.add_episode("They live in Pune.", said)
    talk.fall_silent()
    fact: JsonObject = {"key": "city", "value": "Pune", "confidence": 0.9, "messages": [21]}
    talk.run_consolidation(
        {"facts": [fact], "episodes": [{"text": "They told that they live in Pune.", "messages": [21]}]}
    )
    assert "They live in Pune." in str(desk.model.requests[0].messages)
    assert desk.query("SELECT key, value, message_ids FROM facts WHERE valid_until IS NULL AND key = 'city'") == [
        ("city", "Pune", [said])
    ]
    ((text, origin, folded, recalled),) = desk.query("SELECT text, origin, merged_count, recall_count FROM episodes")
    assert (text, origin, folded, recalled) == ("They told that they live in Pune.", "consolidated", 1, 3)
    assert desk.query(f"SELECT FROM context_rows WHERE id = '{noted}'") == []
    assert desk.query("SELECT consolidated_turn FROM sessions WHERE consolidated_at IS NOT NULL") == [(21,)]
    assert talk.due_rows("consolidation") == []


def test_the_better_model_is_asked(talk: SilentConversation) -> None:
    quality = json.dumps({"quality": {"provider": "anthropic", "model": "best"}})
    talk.desk.query(f"UPDATE agents SET model_routing = model_routing || '{quality}' RETURNING 1")
    talk.say("One more.")
    talk.fall_silent()
    talk.run_consolidation(NOTHING)
    assert [one.model for one in talk.desk.model.requests] == ["best"]


def test_one_that_talks_again_waits_until_it_is_silent_again(talk: SilentConversation) -> None:
    talk.say("One more.")
    talk.fall_silent(hours=23)
    talk.run_consolidation()
    assert talk.desk.model.requests == []
    assert len(talk.due_rows("consolidation")) == 1


def test_it_is_done_once(talk: SilentConversation) -> None:
    talk.say("One more.")
    talk.fall_silent()
    talk.run_consolidation(NOTHING)
    assert len(talk.desk.model.requests) == 1
    talk.run_consolidation(NOTHING)
    assert talk.desk.model.requests == []


def test_a_conversation_that_others_read_is_nobodys_private_memory(talk: SilentConversation) -> None:
    talk.say("One more.")
    talk.desk.query(f"UPDATE sessions SET visibility = 'shared' WHERE id = '{talk.session}' RETURNING 1")
    talk.fall_silent()
    mark(talk)
    talk.run_consolidation(NOTHING)
    assert talk.desk.model.requests == []
    assert talk.due_rows("consolidation") == []


def test_what_somebody_had_forgotten_is_not_found_again(talk: SilentConversation) -> None:
    desk = talk.desk
    said = talk.say("I live in Pune, by the way.")
    desk.query("DELETE FROM facts WHERE true RETURNING 1")
    desk.query(
        "INSERT INTO fact_decisions (tenant_id, id, user_id, binding_id, session_id, key, origin, decision, message_ids,"
        f" decided_at) SELECT tenant_id, '{uuid7(desk.clock())}', user_id, binding_id, id, 'city', 'stated', 'erased',"
        f" ARRAY['{said}'::uuid], now() FROM sessions WHERE id = '{talk.session}' RETURNING 1"
    )
    talk.fall_silent()
    fact: JsonObject = {"key": "city", "value": "Pune", "confidence": 0.9, "messages": [21]}
    talk.run_consolidation({"facts": [fact], "episodes": []})
    assert desk.query("SELECT key FROM facts WHERE key = 'city'") == []
    assert desk.query("SELECT reason FROM fact_decisions WHERE reason = 'erased'") == [("erased",)]


def test_an_answer_that_does_not_come_leaves_everything_for_the_next_night(talk: SilentConversation) -> None:
    talk.say("One more.")
    talk.fall_silent()
    talk.desk.query("UPDATE tenants SET daily_cap_usd = 0 RETURNING 1")
    talk.run_consolidation(json.dumps(NOTHING))
    assert talk.desk.query("SELECT FROM sessions WHERE consolidated_at IS NOT NULL") == []
    ((at,),) = talk.due_rows("consolidation")
    assert at > talk.desk.clock() + timedelta(hours=20)  # type: ignore[operator]
