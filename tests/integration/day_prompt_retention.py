"""The part of the working day in which prompts stand on earlier ones, are looked into, and are let go of in the end."""

from datetime import timedelta

from parlour.conversations import store as turn_store
from parlour.prompts.ledger import retention, store
from parlour.prompts.ledger.explanation import explain_turn
from parlour.search.recall import recall_messages
from parlour.tenancy import store as visitor_store
from tests.conversation_harness import ConversationHarness, text_answer


def reuse_and_expire_prompts(conversation: ConversationHarness) -> None:
    """Two turns about a project; the second stands on the first, an operator looks into it, what was said long ago is
    found, and last year's go."""
    visitor = conversation.create_visitor()
    session = conversation.find_session(visitor)
    about = "(SELECT id FROM entities WHERE key = 'NRS')"
    conversation.query(f"UPDATE sessions SET entity_id = {about} WHERE id = '{session}' RETURNING id")
    for question in ("Where do we stand?", "And the crane?"):
        conversation.send_web(visitor, session, question)
        conversation.model.script = [text_answer("Two weeks late.")]
        conversation.run_turn()
    ((turn,),) = conversation.query(f"SELECT id FROM turns WHERE session_id = '{session}' AND number = 2")
    with conversation.database.transaction(conversation.admin) as tx:
        assert explain_turn(conversation.admin, tx, turn)["steps"]  # type: ignore[arg-type]
        store.update_token_factor(tx, "anthropic/claude-sonnet-5-5", "latin", 1.2)
    ((long_talk, said),) = conversation.query(
        "SELECT session_id, content FROM context_rows WHERE session_id IS NOT NULL AND content ~ 'crack' LIMIT 1"
    )
    with conversation.database.transaction(conversation.admin) as tx:
        assert recall_messages(conversation.admin, tx, long_talk, query=str(said), vector=None, before_turn=99)  # type: ignore[arg-type]
    ((oldest, words),) = conversation.query("SELECT min(turn_id::text), min(hash) FROM ledgers, ledger_texts")
    conversation.query(f"UPDATE ledgers SET month = '2025-11-01' WHERE turn_id = '{oldest}' RETURNING 1")
    conversation.query("UPDATE pulse_ledgers SET month = '2025-11-01' WHERE level = 3 RETURNING 1")
    conversation.query(
        "INSERT INTO ledger_texts (tenant_id, month, hash, text)"
        f" SELECT tenant_id, '2025-11-01', hash, text FROM ledger_texts WHERE hash = '{words}' RETURNING 1"
    )
    before_visit = conversation.clock()
    conversation.create_visitor()
    with conversation.database.transaction(conversation.admin) as tx:
        assert turn_store.find_oldest_passing_event(tx)
        assert turn_store.delete_passing_events(tx, conversation.clock(), 1) == 1
        assert visitor_store.has_visitors_since(tx, before_visit)
        assert visitor_store.delete_silent_visitors(tx, before_visit, conversation.clock() + timedelta(days=1), 1) == 1
        retention.delete_expired_batch(tx, conversation.clock() - timedelta(days=30))
        assert retention.next_expiry(tx)
