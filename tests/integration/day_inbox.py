"""The part of the working day in which people answer."""

from datetime import timedelta

from parlour.conversations import inbox_messages
from parlour.inbox import events, threads
from parlour.infra.ids import uuid7
from parlour.principal import Principal
from parlour.tools.builtin.ask_a_person import ask_a_person
from tests.conversation_harness import ConversationHarness, text_answer, tool_call


def answer_in_the_inbox(conversation: ConversationHarness) -> None:
    """A model asks for a person; they answer, note, snooze, close, and hand back with an instruction."""
    conversation.add_tool("ask_a_person", ask_a_person, writes=False)
    visitor = conversation.create_visitor()
    session_id = conversation.find_session(visitor)
    conversation.send_web(visitor, session_id, "May I talk to somebody?")
    conversation.model.script = [tool_call("ask_a_person", reason="They want it."), text_answer("Of course.")]
    conversation.run_turn()
    person = _add_member(conversation)
    with conversation.database.transaction(person) as tx:
        now = conversation.clock()
        thread = threads.take(person, tx, session_id, now)
        inbox_messages.say(person, tx, session_id, "Hello, this is Asha.", thread.claim, "first", now)
        threads.add_note(person, tx, session_id, "Wants the crane.", conversation.clock())
        threads.snooze(person, tx, session_id, now + timedelta(hours=1), conversation.clock())
        assert threads.list_threads(person, tx, threads.ThreadFilter(), 10).rows
        assert threads.count_threads(person, tx).snoozed
        assert threads.read_context(person, tx, session_id).tried
        assert [member.display_name for member in threads.list_answerers(person, tx)] == ["Asha"]
        assert events.list_events_after(person, tx, 0, 10)
        inbox_messages.close(person, tx, session_id, conversation.clock())
        inbox_messages.open_thread(person, tx, session_id, "member", "", conversation.clock())
        assert inbox_messages.settle(tx, conversation.tenant_id, session_id, conversation.clock()) is None
        inbox_messages.hand_back(person, tx, session_id, "Offer them Tuesday.", conversation.clock())
    conversation.send_web(visitor, session_id, "When does it come?")
    conversation.model.script = [text_answer("On Tuesday.")]
    conversation.run_turn()
    with conversation.database.transaction(person) as tx:  # the same message once more
        thread = inbox_messages.open_thread(person, tx, session_id, "member", "", conversation.clock()).thread
        claim = threads.take(person, tx, session_id, conversation.clock()).claim
        again = inbox_messages.say(person, tx, session_id, "Hello, this is Asha.", claim, "first", conversation.clock())
        assert not again.jobs
        assert person.id
        threads.assign(person, tx, session_id, person.id, conversation.clock())


def _add_member(conversation: ConversationHarness) -> Principal:
    member_id = uuid7(conversation.clock())
    conversation.query(
        "INSERT INTO members (tenant_id, id, issuer, subject, display_name, roles, clearance, created_at) VALUES "
        f"(current_tenant(), '{member_id}', 'https://id.example.org', 'asha', 'Asha', '{{viewer,editor}}', 3, now()) "
        "RETURNING id"
    )
    return Principal(conversation.tenant_id, "member", member_id, frozenset({"viewer", "editor"}), 3)
