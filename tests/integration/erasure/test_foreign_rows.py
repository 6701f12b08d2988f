"""Whoever is forgotten takes along what is theirs: what others did since, and said, stays theirs."""

import json
from uuid import UUID

import pytest

from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_json
from tests.conversation_harness import ConversationHarness, text_answer, tool_call
from tests.integration.erasure.erasure_fixture import ErasureFixture, tables, unreported_rows
from tests.integration.web_conversation import WebConversation

OWNER, RESPONSE = "CANARY-31X", "CANARY-32X"


def note(web_conversation: WebConversation) -> str:
    """A risk that somebody has made by chat; its handle."""
    risk: JsonObject = {"severity": "high", "state": "open", "owner": OWNER, "response": f"Ask {RESPONSE} first."}
    made = tool_call("create_entity", kind="risk", name="Crane at gate", project="project/NRS", properties=risk)
    web_conversation.say("Please note a risk.", made, text_answer("Done."))
    ((key,),) = web_conversation.desk.query("SELECT key FROM entities WHERE name = 'Crane at gate'")
    return f"risk/{key}"


def read(handle: str, call: str) -> list[JsonObject]:
    return tool_call("get_entity", call, entities=[handle])


def properties(conversation: ConversationHarness, handle: str) -> JsonObject:
    ((found, deleted),) = conversation.query(
        f"SELECT properties, deleted_at FROM entities WHERE key = '{handle.partition('/')[2]}'"
    )
    assert deleted is None
    assert isinstance(found, dict)
    return found


def summary_key_details(web_conversation: WebConversation, message: UUID, value: str, text: str) -> None:
    """What the agent said, kept word for word beside a summary."""
    web_conversation.desk.query(
        "INSERT INTO summary_key_details (tenant_id, id, session_id, message_id, first_turn, last_turn, kind,"
        " value, text, from_agent,"
        f" missing_from_summary, created_at) VALUES (current_tenant(), '{uuid7(web_conversation.desk.clock())}',"
        f" '{web_conversation.session}', '{message}',"
        f" 1, 1, 'promise', '{value}', '{text}', true, true, now()) RETURNING 1"
    )


def said(conversation: ConversationHarness) -> str:
    return "\n".join(str(one) for (one,) in conversation.query("SELECT body FROM messages"))


def test_a_record_that_somebody_else_changed_since_stays_with_what_they_wrote(erasure_fixture: ErasureFixture) -> None:
    desk, talk, other = (
        erasure_fixture.desk,
        WebConversation(erasure_fixture.desk),
        WebConversation(erasure_fixture.desk),
    )
    handle = note(talk)
    change = tool_call("update_entity", "c2", entity=handle, properties={"owner": "HERON-11"})
    other.say("The owner is HERON-11.", change, text_answer("Done: HERON-11 owns it."))
    report = erasure_fixture.forget("user", talk.user)
    left = properties(desk, handle)
    assert left["owner"] == "HERON-11"
    assert "response" not in left
    assert "HERON-11" in tables(erasure_fixture.cluster, erasure_fixture.name)["context_rows"]
    assert "Done: HERON-11 owns it." in said(desk)
    assert RESPONSE not in "".join(tables(erasure_fixture.cluster, erasure_fixture.name).values())
    assert "rename it" in canonical_json(report)


@pytest.mark.parametrize("how", ["links", "fills", "member"])
def test_so_does_one_that_somebody_else_linked_or_filled(erasure_fixture: ErasureFixture, how: str) -> None:
    desk, talk, other = (
        erasure_fixture.desk,
        WebConversation(erasure_fixture.desk),
        WebConversation(erasure_fixture.desk),
    )
    handle = note(talk)
    if how == "links":
        desk.query(
            "INSERT INTO edges (tenant_id, id, source_id, target_id, relation, created_by, created_at)"
            f" SELECT a.tenant_id, '{uuid7(desk.clock())}', a.id, b.id, 'depends_on', 'user:{other.user}', now()"
            " FROM entities a, entities b WHERE a.name = 'Crane at gate' AND b.key = 'R-03' RETURNING 1"
        )
    elif how == "fills":
        desk.query(
            "UPDATE entities SET project_id = (SELECT id FROM entities WHERE name = 'Crane at gate')"
            " WHERE key = 'R-05' RETURNING 1"
        )
    else:
        desk.query("UPDATE entities SET version = 2, updated_by = 'member:x' WHERE name = 'Crane at gate' RETURNING 1")
    erasure_fixture.forget("user", talk.user)
    assert "response" not in properties(desk, handle)


def test_what_others_were_told_of_it_goes_and_what_else_was_said_to_them_stays(erasure_fixture: ErasureFixture) -> None:
    desk, talk, other = (
        erasure_fixture.desk,
        WebConversation(erasure_fixture.desk),
        WebConversation(erasure_fixture.desk),
    )
    handle = note(talk)
    other.say("And my own matter, EGRET-22?", read(handle, "c3"), text_answer("Your own matter EGRET-22 is noted."))
    other.say("Who owns the crane?", read(handle, "c4"), text_answer(f"It is owned by {OWNER}."))
    erasure_fixture.embed()
    erasure_fixture.forget("user", talk.user)
    assert erasure_fixture.canaries_by_table() == {}
    assert "Your own matter EGRET-22 is noted." in said(desk)
    prompt = other.next_prompt("And now?")
    assert "EGRET-22 is noted" in prompt
    assert "CANARY" not in prompt
    assert erasure_fixture.canaries_by_table() == {}


def test_what_a_colleagues_memory_has_of_it_goes_only_where_it_says_it(erasure_fixture: ErasureFixture) -> None:
    desk, talk, other = (
        erasure_fixture.desk,
        WebConversation(erasure_fixture.desk),
        WebConversation(erasure_fixture.desk),
    )
    handle = note(talk)
    asked = other.say("And my own matter?", read(handle, "c3"), text_answer("It is noted."))
    other.add_summary("They have a matter of their own.", 1, 1)
    other.add_summary(f"They asked about what {OWNER} owns.", 1, 2)
    mine = other.add_episode("They asked after their own matter.", asked)
    gone = other.add_episode(f"They heard of {OWNER}.", asked)
    desk.query(f"UPDATE sessions SET consolidated_turn = 1 WHERE id = '{other.session}' RETURNING 1")
    for place, word in enumerate(("their own matter", OWNER), 1):
        other.add_context_row("summary_anchor", f"Up to {word}.")
        desk.query(f"UPDATE context_rows SET ordinal = {place} WHERE content = 'Up to {word}.' RETURNING 1")
        summary_key_details(other, asked, word, f"They are told of {word}.")
    desk.query(
        "INSERT INTO session_memory_state (tenant_id, session_id, anchor_count, anchored_message_count) VALUES"
        f" (current_tenant(), '{other.session}', 2, 100) ON CONFLICT (tenant_id, session_id) DO UPDATE SET"
        " anchor_count = 2,"
        " anchored_message_count = 100 RETURNING 1"
    )
    state = json.dumps({"notes": [OWNER]})
    desk.query(
        "INSERT INTO agent_states (tenant_id, session_id, state, updated_at) VALUES"
        f" (current_tenant(), '{other.session}', '{state}', now()) ON CONFLICT (tenant_id, session_id)"
        " DO UPDATE SET state = EXCLUDED.state RETURNING 1"
    )
    before = erasure_fixture.rows()
    told = erasure_fixture.forget("user", talk.user)
    assert unreported_rows(before, erasure_fixture.rows(), told) == []
    assert desk.query("SELECT value FROM summary_key_details") == [("their own matter",)]
    assert desk.query("SELECT content FROM context_rows WHERE kind = 'summary_anchor'") == [
        ("Up to their own matter.",)
    ]
    assert desk.query("SELECT anchor_count, anchored_message_count FROM session_memory_state") == [(1, 50)]
    assert desk.query(f"SELECT 1 FROM work_due WHERE kind = 'summary' AND id = '{other.session}'")
    assert desk.query("SELECT version FROM summaries") == [(1,)]
    assert desk.query("SELECT id FROM episodes") == [(mine,)]
    assert desk.query(f"SELECT FROM context_rows WHERE id = '{gone}'") == []
    assert desk.query(f"SELECT consolidated_turn FROM sessions WHERE id = '{other.session}'") == [(1,)]
    assert erasure_fixture.canaries_by_table() == {}
