"""The part of the working day in which conversations are looked after: listed, pinned, renamed, put away, brought back;
and in which what is remembered is read and put right."""

from uuid import UUID

from parlour.conversations.sessions import session_lists, session_update
from parlour.conversations.sessions.session_update import SessionUpdate
from parlour.memory.inspection import fact_edit, user_memory
from tests.conversation_harness import ConversationHarness
from tests.integration.memory.memory_rows import add_episode, add_fact


def manage_sessions(conversation: ConversationHarness) -> None:
    """By the visitor they belong to, and as those of the tenant see them."""
    visitor = conversation.create_visitor()
    session = conversation.find_session(visitor)
    conversation.send_web(visitor, session, "Hello! When does the crane come?")
    ((binding_id,),) = conversation.query(f"SELECT binding_id FROM sessions WHERE id = '{session}'")
    of = UUID(str(binding_id))
    with conversation.database.transaction(visitor) as tx:
        assert session_lists.find_latest_session(visitor, tx, of, None) == session
        assert session_lists.list_own_sessions(visitor, tx, of).rows
        session_update.update_session(
            visitor, tx, session, SessionUpdate("The crane", pinned=True, archived=True), conversation.clock()
        )
        assert session_lists.list_own_sessions(visitor, tx, of, is_archived=True).rows
        for visibility in ("shared", "private"):
            session_update.update_session(
                visitor, tx, session, SessionUpdate(visibility=visibility), conversation.clock()
            )
    conversation.send_web(visitor, session, "And the hoist?")
    with conversation.database.transaction(conversation.admin) as tx:
        assert session_lists.list_readable_sessions(conversation.admin, tx, user_id=visitor.id).rows
        assert session_lists.get_conversation(conversation.admin, tx, session).person_name is None
    _remembered(conversation, session, of)


def _remembered(conversation: ConversationHarness, session: UUID, binding_id: UUID) -> None:
    """A fact is put right twice, by the one it is about; an operator looks at everybody's."""
    admin, now = conversation.admin, conversation.clock()
    ((user_id,),) = conversation.query(f"SELECT user_id FROM sessions WHERE id = '{session}'")
    add_fact(conversation, session, "language", "Kannada", scope="team")
    first = add_fact(conversation, session, "city", "Pune")
    add_episode(conversation, session, "They asked for the crane.")
    with conversation.database.transaction(admin) as tx:
        changed = fact_edit.edit_fact(admin, tx, first, "Goa", None, now)
        assert fact_edit.fact_with_history(admin, tx, changed, None) == [changed, first]
        assert user_memory.list_shared_facts(admin, tx)
        assert [one.fact_count for one in user_memory.list_users(admin, tx).rows if one.id == user_id] == [1]
        assert user_memory.read_user_memory(admin, tx, UUID(str(user_id))).facts[0].previous_values
