"""A long conversation that fell silent becomes facts and one episode, in the place of those noted on the way."""

import json
from datetime import timedelta

import pytest

from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.memory.extraction import consolidation_job
from tests.conversation_harness import ConversationHarness
from tests.integration.memory.extraction_harness import proposed_fact
from tests.integration.memory.silent_conversation import SilentConversation

NOTHING: JsonObject = {"facts": [], "episodes": []}


@pytest.fixture
def web_conversation(conversation: ConversationHarness) -> SilentConversation:
    return SilentConversation(conversation, consolidation_job.MIN_TURNS)


def mark(web_conversation: SilentConversation) -> None:
    with web_conversation.desk.database.transaction(web_conversation.desk.tenant_id) as tx:
        consolidation_job.schedule_consolidation(tx, web_conversation.session)


def test_one_of_more_than_twenty_turns_is_looked_at_a_day_after_its_last_word(
    web_conversation: SilentConversation,
) -> None:
    mark(web_conversation)
    assert web_conversation.due_rows("consolidation") == []
    web_conversation.say("One more.")
    mark(web_conversation)
    ((at,),) = web_conversation.due_rows("consolidation")
    ((last,),) = web_conversation.desk.query(
        f"SELECT last_active_at FROM sessions WHERE id = '{web_conversation.session}'"
    )
    assert at == last + timedelta(hours=24)  # type: ignore[operator]


def test_it_becomes_facts_and_one_episode_in_the_place_of_those_noted_on_the_way(
    web_conversation: SilentConversation,
) -> None:
    desk = web_conversation.desk
    said = web_conversation.say("By the way, I live in Pune and work as a surveyor.")
    noted = web_conversation.add_episode("They live in Pune.", said)
    web_conversation.fall_silent()
    fact = proposed_fact("city", "Pune", 21, "I live in Pune")
    web_conversation.run_consolidation(
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
    assert web_conversation.due_rows("consolidation") == []


def test_the_better_model_is_asked(web_conversation: SilentConversation) -> None:
    quality = json.dumps({"quality": {"provider": "anthropic", "model": "best"}})
    web_conversation.desk.query(f"UPDATE agents SET model_routing = model_routing || '{quality}' RETURNING 1")
    web_conversation.say("One more.")
    web_conversation.fall_silent()
    web_conversation.run_consolidation(NOTHING)
    assert [one.model for one in web_conversation.desk.model.requests] == ["best"]


def test_one_that_talks_again_waits_until_it_is_silent_again(web_conversation: SilentConversation) -> None:
    web_conversation.say("One more.")
    web_conversation.fall_silent(hours=23)
    web_conversation.run_consolidation()
    assert web_conversation.desk.model.requests == []
    assert len(web_conversation.due_rows("consolidation")) == 1


def test_it_is_done_once(web_conversation: SilentConversation) -> None:
    web_conversation.say("One more.")
    web_conversation.fall_silent()
    web_conversation.run_consolidation(NOTHING)
    assert len(web_conversation.desk.model.requests) == 1
    web_conversation.run_consolidation(NOTHING)
    assert web_conversation.desk.model.requests == []


def test_a_conversation_that_others_read_is_nobodys_private_memory(web_conversation: SilentConversation) -> None:
    web_conversation.say("One more.")
    web_conversation.desk.query(
        f"UPDATE sessions SET visibility = 'shared' WHERE id = '{web_conversation.session}' RETURNING 1"
    )
    web_conversation.fall_silent()
    mark(web_conversation)
    web_conversation.run_consolidation(NOTHING)
    assert web_conversation.desk.model.requests == []
    assert web_conversation.due_rows("consolidation") == []


def test_what_somebody_had_forgotten_is_not_found_again(web_conversation: SilentConversation) -> None:
    desk = web_conversation.desk
    said = web_conversation.say("I live in Pune, by the way.")
    desk.query("DELETE FROM facts WHERE true RETURNING 1")
    desk.query(
        "INSERT INTO fact_decisions (tenant_id, id, user_id, binding_id, session_id, key, origin, decision,"
        " message_ids,"
        f" decided_at) SELECT tenant_id, '{uuid7(desk.clock())}', user_id, binding_id, id, 'city', 'stated', 'erased',"
        f" ARRAY['{said}'::uuid], now() FROM sessions WHERE id = '{web_conversation.session}' RETURNING 1"
    )
    web_conversation.fall_silent()
    fact = proposed_fact("city", "Pune", 21, "I live in Pune")
    web_conversation.run_consolidation({"facts": [fact], "episodes": []})
    assert desk.query("SELECT key FROM facts WHERE key = 'city'") == []
    assert desk.query("SELECT reason FROM fact_decisions WHERE reason = 'erased'") == [("erased",)]


def test_an_answer_that_does_not_come_leaves_everything_for_the_next_night(
    web_conversation: SilentConversation,
) -> None:
    web_conversation.say("One more.")
    web_conversation.fall_silent()
    web_conversation.desk.query("UPDATE tenants SET daily_cap_usd = 0 RETURNING 1")
    web_conversation.run_consolidation(json.dumps(NOTHING))
    assert web_conversation.desk.query("SELECT FROM sessions WHERE consolidated_at IS NOT NULL") == []
    ((at,),) = web_conversation.due_rows("consolidation")
    assert at > web_conversation.desk.clock() + timedelta(hours=20)  # type: ignore[operator]
