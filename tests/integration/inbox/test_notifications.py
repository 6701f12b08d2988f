"""Who is notified when a conversation comes to the inbox, and how soon."""

from uuid import UUID

from parlour.conversations.sessions import session_lists
from parlour.conversations.sessions.session_lists import ConversationFilter
from parlour.inbox import threads
from tests.conversation_harness import ConversationHarness, text_answer, tool_call
from tests.integration.inbox.test_threads import add_member, id_of, open_for_person, session_of

_SETTINGS = """UPDATE bindings SET notifications = '{"email": ["desk@example.com"]}' RETURNING id"""
_SENT = "SELECT event, recipient, reason FROM notifications ORDER BY created_at, event"


def test_a_turn_that_asks_for_a_person_wakes_its_notifications(conversation: ConversationHarness) -> None:
    words = """UPDATE bindings SET inbox = '{"words": {"en": ["real person"]}}' RETURNING id"""
    conversation.query(words)
    conversation.query(_SETTINGS)
    conversation.model.script = [text_answer("I will ask.")]
    conversation.send_whatsapp("May I speak to a real person?", "first")
    conversation.run_turn()

    assert conversation.query(_SENT) == [("opened", "desk@example.com", "The user asked for a person.")]
    ((work_id,),) = conversation.query("SELECT id FROM work_due WHERE kind = 'notification'")
    assert str(work_id) in [body["id"] for body, _ in conversation.wakeups.sent]


def test_a_transfer_tells_the_member_and_nobody_else(conversation: ConversationHarness) -> None:
    session_id = open_for_person(conversation)
    asha, ines = (add_member(conversation, name) for name in ("Asha", "Ines"))
    conversation.query(_SETTINGS)
    conversation.query("UPDATE members SET email = lower(display_name) || '@example.com' RETURNING id")
    with conversation.database.transaction(asha) as tx:
        threads.take(asha, tx, session_id, conversation.clock())
        threads.assign(asha, tx, session_id, id_of(ines), conversation.clock())

    assert session_of(conversation) == session_id
    assert conversation.query(_SENT) == [("taken", "ines@example.com", "")]


def ask_for_person(conversation: ConversationHarness) -> UUID:
    """A conversation on WhatsApp whose model asked for a person."""
    conversation.model.script = [tool_call("ask_a_person", reason="The user wants a person.")]
    conversation.model.script += [text_answer("I have asked a colleague.")]
    conversation.send_whatsapp("Let me talk to somebody.", "person")
    conversation.run_turn()
    return session_of(conversation)


def test_the_desk_that_answers_is_the_one_whose_people_are_notified(conversation: ConversationHarness) -> None:
    conversation.query(_SETTINGS)
    settings = """'{"email": ["contracts@example.com"]}'"""
    conversation.query(f"UPDATE bindings SET notifications = {settings} WHERE slug = 'contract-desk' RETURNING id")
    conversation.model.script = [tool_call("hand_off", to="contract-desk", reason="Contracts.", brief="A price.")]
    conversation.model.script += [text_answer("One moment."), text_answer("It has a price.")]
    conversation.send_whatsapp("What does a late finish cost?", "first")
    conversation.run_turn()
    ask_for_person(conversation)

    assert [recipient for _, recipient, _ in conversation.query(_SENT)] == ["contracts@example.com"]
    asha = add_member(conversation, "Asha")
    with conversation.database.transaction(asha) as tx:
        (listed,) = threads.list_threads(asha, tx, threads.ThreadFilter(binding="contract-desk"), 10).rows
        found = session_lists.list_conversations(asha, tx, ConversationFilter(agent="contract-desk")).conversations
        assert (listed.binding, [row.agent_slug for row in found]) == ("contract-desk", ["contract-desk"])
        assert not session_lists.list_conversations(asha, tx, ConversationFilter(agent="site-desk")).conversations


def test_a_conversation_of_which_nobody_hears_is_listed_until_a_person_takes_it(
    conversation: ConversationHarness,
) -> None:
    conversation.query("UPDATE bindings SET inbox = '{}', notifications = '{}' RETURNING id")
    session_id = ask_for_person(conversation)
    asha = add_member(conversation, "Asha")
    with conversation.database.transaction(asha) as tx:
        (unheard,) = threads.list_unheard_threads(asha, tx, 10)
        assert unheard.session_id == session_id
        threads.take(asha, tx, session_id, conversation.clock())
        assert threads.list_unheard_threads(asha, tx, 10) == []


def test_roles_that_nobody_with_an_address_has_notify_nobody(conversation: ConversationHarness) -> None:
    conversation.query("""UPDATE bindings SET inbox = '{}', notifications = '{"roles": ["admin"]}' RETURNING id""")
    ask_for_person(conversation)
    asha = add_member(conversation, "Asha")
    with conversation.database.transaction(asha) as tx:
        assert len(threads.list_unheard_threads(asha, tx, 10)) == 1


def test_a_desk_with_an_inbox_is_looked_at_without_notifications(conversation: ConversationHarness) -> None:
    words = """UPDATE bindings SET inbox = '{"words": {"en": ["real person"]}}', notifications = '{}' RETURNING id"""
    conversation.query(words)
    ask_for_person(conversation)
    asha = add_member(conversation, "Asha")
    with conversation.database.transaction(asha) as tx:
        assert threads.list_unheard_threads(asha, tx, 10) == []
