"""The part of the working day in which visitors say that a number is theirs: one is joined with somebody who wrote, one
with a number that nobody wrote from, and a third never gives the code back."""

from uuid import UUID

import pytest

from parlour.conversations.linking import expired_codes, link_codes
from parlour.infra.errors import InvalidRequest
from parlour.infra.ids import uuid7
from parlour.jobs.work_due import DueWork
from parlour.principal import Principal
from tests.conversation_harness import ConversationHarness
from tests.integration.conversations.phone_link_steps import (
    configure_template,
    enter_code,
    request_phone_code,
    start_web_session,
)
from tests.integration.memory.memory_rows import add_episode, add_fact

_PHONES = ("+919800000301", "+919800000302")


def link_phone_numbers(desk: ConversationHarness) -> None:
    """Facts that both have are told apart by when they were said last."""
    main = _written(desk)
    visitor, session = start_web_session(desk)
    add_fact(desk, main, "city", "Pune")
    add_fact(desk, session, "city", "Goa")
    add_episode(desk, session, "They spoke of the crane.")
    _decided(desk, session)
    link = request_phone_code(desk, visitor, session, _PHONES[0])
    _mistyped(desk, visitor, link.link_id)
    assert enter_code(desk, visitor, link.link_id) == enter_code(desk, visitor, link.link_id)
    visitor, session = start_web_session(desk)  # another browser of theirs
    enter_code(desk, visitor, request_phone_code(desk, visitor, session, _PHONES[0]).link_id)
    configure_template(desk)
    visitor, session = start_web_session(desk)
    assert (
        enter_code(desk, visitor, request_phone_code(desk, visitor, session, _PHONES[1]).link_id).session_id == session
    )
    visitor, session = start_web_session(desk)
    late = request_phone_code(desk, visitor, session, "+919800000303").link_id
    with desk.database.transaction(desk.tenant_id) as tx:
        due = DueWork(desk.tenant_id, "phone_link", late, desk.clock())
        assert expired_codes.find_expired_code(tx, due, desk.clock())
        desk.clock.now += link_codes.CODE_LIFETIME
        assert expired_codes.find_expired_code(tx, due, desk.clock()) is None


def _written(desk: ConversationHarness) -> UUID:
    desk.send_whatsapp("It is me.", "joined", sender=_PHONES[0])
    ((session,),) = desk.query("SELECT session_id FROM messages WHERE provider_message_id = 'gupshup:joined'")
    return UUID(str(session))


def _mistyped(desk: ConversationHarness, visitor: Principal, link_id: UUID) -> None:
    with pytest.raises(InvalidRequest):
        enter_code(desk, visitor, link_id, "000000")


def _decided(desk: ConversationHarness, session: UUID) -> None:
    desk.query(
        "INSERT INTO fact_decisions (tenant_id, id, user_id, binding_id, session_id, origin, decision, decided_at)"
        f" SELECT tenant_id, '{uuid7(desk.clock())}', user_id, binding_id, id, 'stated', 'new', now() FROM sessions"
        f" WHERE id = '{session}' RETURNING id"
    )
