"""The part of the working day in which something is remembered: a fact and an episode are told and counted, and an
agent's notes are written by a tool and by a summariser."""

from parlour.infra.json_values import JsonObject
from parlour.memory.agent_state import state_writer
from parlour.memory.recall import recall
from tests.conversation_harness import ConversationHarness, search_call, text_answer, tool_call
from tests.integration.memory.memory_rows import add_episode, add_fact, add_session

_RISK: JsonObject = {"severity": "high", "state": "open", "owner": "Joanna Pryce"}
_ASKED = "Is the crane permit there? Note the water in the cellar as a risk."


def recall_memory(conversation: ConversationHarness) -> None:
    """A visitor comes back."""
    visitor = conversation.create_visitor()
    session = conversation.find_session(visitor)
    add_fact(conversation, session, "permit", "KX-4471")
    add_episode(conversation, add_session(conversation, session), "They asked for the crane permit.")
    conversation.send_web(visitor, session, _ASKED)
    note = tool_call("create_entity", kind="risk", name="Water in the cellar", properties=_RISK)
    conversation.model.script = [search_call("crane permit"), note, text_answer("KX-4471 [1].")]
    conversation.run_turn()
    ((record,),) = conversation.query("SELECT key FROM entities WHERE name = 'Water in the cellar'")
    item: JsonObject = {"kind": "task", "title": "Pump it out", "relatedEntityIds": [f"risk/{record}"]}
    conversation.query(
        "INSERT INTO summaries (tenant_id, session_id, version, until_turn, text, created_at)"
        f" VALUES (current_tenant(), '{session}', 1, 1, 'So far.', now()) RETURNING 1"
    )
    with conversation.database.transaction(conversation.tenant_id) as tx:
        applied = state_writer.apply_summary_updates(
            tx, session, 1, [{"op": "add", "item": item}], conversation.clock()
        )
        assert applied.applied_count == 1
        assert recall.read_agent_state(tx, session, conversation.clock())
