"""The part of the working day in which visitors say that a number is theirs: one is joined with somebody who wrote, one
with a number that nobody wrote from, and a third never gives the code back."""

from uuid import UUID

import pytest

from parlour.infra.errors import InvalidRequest
from parlour.infra.ids import uuid7
from parlour.jobs.work_due import DueWork
from parlour.principal import Principal
from parlour.turns.linking import codes, over
from tests.desk import Desk
from tests.integration.memory.planted import episode, fact
from tests.integration.turns.linked import asked, joined, on_the_web, with_template

_PHONES = ("+919800000301", "+919800000302")


def numbers_joined(desk: Desk) -> None:
    """Facts that both have are told apart by when they were said last."""
    main = _written(desk)
    visitor, session = on_the_web(desk)
    fact(desk, main, "city", "Pune")
    fact(desk, session, "city", "Goa")
    episode(desk, session, "They spoke of the crane.")
    _decided(desk, session)
    link = asked(desk, visitor, session, _PHONES[0])
    _mistyped(desk, visitor, link.link_id)
    assert joined(desk, visitor, link.link_id) == joined(desk, visitor, link.link_id)
    visitor, session = on_the_web(desk)  # another browser of theirs
    joined(desk, visitor, asked(desk, visitor, session, _PHONES[0]).link_id)
    with_template(desk)
    visitor, session = on_the_web(desk)
    assert joined(desk, visitor, asked(desk, visitor, session, _PHONES[1]).link_id).session_id == session
    visitor, session = on_the_web(desk)
    late = asked(desk, visitor, session, "+919800000303").link_id
    with desk.database.transaction(desk.tenant_id) as tx:
        due = DueWork(desk.tenant_id, "phone_link", late, desk.clock())
        assert over.find(tx, due, desk.clock())
        desk.clock.now += codes.GOOD_FOR
        assert over.find(tx, due, desk.clock()) is None


def _written(desk: Desk) -> UUID:
    desk.write("It is me.", "joined", sender=_PHONES[0])
    ((session,),) = desk.rows("SELECT session_id FROM messages WHERE provider_message_id = 'gupshup:joined'")
    return UUID(str(session))


def _mistyped(desk: Desk, visitor: Principal, link_id: UUID) -> None:
    with pytest.raises(InvalidRequest):
        joined(desk, visitor, link_id, "000000")


def _decided(desk: Desk, session: UUID) -> None:
    desk.rows(
        "INSERT INTO fact_decisions (tenant_id, id, user_id, binding_id, session_id, origin, decision, at)"
        f" SELECT tenant_id, '{uuid7(desk.clock())}', user_id, binding_id, id, 'said', 'new', now() FROM sessions"
        f" WHERE id = '{session}' RETURNING id"
    )
