"""Who is notified when a conversation comes to the inbox, and how soon."""

from parlour.inbox import threads
from tests.conversation_harness import ConversationHarness, text_answer
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
