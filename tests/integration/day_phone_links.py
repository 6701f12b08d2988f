"""The part of the working day in which visitors say that a number is theirs: one is joined with somebody who wrote, one
with a number that nobody wrote from, and a third never gives the code back."""

from uuid import UUID

import pytest

from parlour.conversations import store
from parlour.conversations.linking import expired_codes, link_codes
from parlour.infra.errors import InvalidRequest
from parlour.infra.ids import uuid7
from parlour.jobs.work_due import DueWork
from parlour.principal import Principal
from tests.conversation_harness import ConversationHarness
from tests.integration.conversations.phone_link_steps import (
    add_member,
    configure_template,
    enter_code,
    link_members_phone,
    request_phone_code,
    start_web_session,
)
from tests.integration.memory.memory_rows import add_episode, add_fact

_PHONES = ("+919800000301", "+919800000302")


def link_phone_numbers(conversation: ConversationHarness) -> None:
    """Facts that both have are told apart by when they were said last."""
    _flood(conversation)
    main = _written(conversation)
    visitor, session = start_web_session(conversation)
    add_fact(conversation, main, "city", "Pune")
    add_fact(conversation, session, "city", "Goa")
    add_episode(conversation, session, "They spoke of the crane.")
    _decided(conversation, session)
    conversation.query(f"UPDATE entities SET created_by = '{visitor.name}' WHERE key = 'R-05' RETURNING id")
    link = request_phone_code(conversation, visitor, session, _PHONES[0])
    _mistyped(conversation, visitor, link.link_id)
    assert enter_code(conversation, visitor, link.link_id) == enter_code(conversation, visitor, link.link_id)
    visitor, session = start_web_session(conversation)  # another browser of theirs
    enter_code(conversation, visitor, request_phone_code(conversation, visitor, session, _PHONES[0]).link_id)
    configure_template(conversation)
    visitor, session = start_web_session(conversation)
    assert (
        enter_code(
            conversation, visitor, request_phone_code(conversation, visitor, session, _PHONES[1]).link_id
        ).session_id
        == session
    )
    rosa = add_member(conversation, "rosa")
    for number in ("+919800000304", "+919800000305"):  # the second one replaces the first
        link_members_phone(conversation, rosa, number)
    visitor, session = start_web_session(conversation)
    late = request_phone_code(conversation, visitor, session, "+919800000303").link_id
    with conversation.database.transaction(conversation.tenant_id) as tx:
        due = DueWork(conversation.tenant_id, "phone_link", late, conversation.clock())
        assert expired_codes.find_expired_code(tx, due, conversation.clock())
        conversation.clock.now += link_codes.CODE_LIFETIME
        assert expired_codes.find_expired_code(tx, due, conversation.clock()) is None


def _written(conversation: ConversationHarness) -> UUID:
    conversation.send_whatsapp("It is me.", "joined", sender=_PHONES[0])
    ((session,),) = conversation.query("SELECT session_id FROM messages WHERE provider_message_id = 'gupshup:joined'")
    return UUID(str(session))


def _flood(conversation: ConversationHarness) -> None:
    """Somebody writes more than their binding takes, and is told so."""
    conversation.query("""UPDATE bindings SET limits = '{"visitor_per_minute": 1}' RETURNING id""")
    for number in range(2):
        conversation.send_whatsapp("Hello?", f"flood{number}", sender="+919800000309")
    conversation.query("UPDATE bindings SET limits = '{}' RETURNING id")
    conversation.query('UPDATE sessions SET worker_deadlines = \'{"hangs": "2999-01-01T00:00:00Z"}\' RETURNING id')
    with conversation.database.transaction(conversation.tenant_id) as tx:
        assert store.count_running_turns(tx, uuid7(conversation.clock()), conversation.clock()) > 0
    conversation.query("UPDATE sessions SET worker_deadlines = '{}' RETURNING id")


def _mistyped(conversation: ConversationHarness, visitor: Principal, link_id: UUID) -> None:
    with pytest.raises(InvalidRequest):
        enter_code(conversation, visitor, link_id, "000000")


def _decided(conversation: ConversationHarness, session: UUID) -> None:
    conversation.query(
        "INSERT INTO fact_decisions (tenant_id, id, user_id, binding_id, session_id, origin, decision, decided_at)"
        f" SELECT tenant_id, '{uuid7(conversation.clock())}', user_id, binding_id, id, 'stated', 'new', now() FROM"
        " sessions"
        f" WHERE id = '{session}' RETURNING id"
    )
