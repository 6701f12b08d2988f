"""The part of the working day in which conversations are looked after: listed, pinned, renamed, put away, brought back;
and in which what is remembered is read and put right."""

from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.memory.known import edit, read
from parlour.tenancy.sessions import change, listed
from parlour.tenancy.sessions.change import Change
from tests.desk import Desk
from tests.integration.memory.planted import episode, fact


def sessions_kept(desk: Desk) -> None:
    """By the visitor they belong to, and as those of the tenant see them."""
    visitor = desk.visit()
    session = desk.session_of(visitor)
    desk.write_web(visitor, session, "Hello! When does the crane come?")
    ((binding_id,),) = desk.rows(f"SELECT binding_id FROM sessions WHERE id = '{session}'")
    of = UUID(str(binding_id))
    with desk.database.transaction(visitor) as tx:
        assert listed.latest(visitor, tx, of, None) == session
        assert listed.own(visitor, tx, of)
        change.change(visitor, tx, session, Change("The crane", pinned=True, archived=True), desk.clock())
        assert listed.own(visitor, tx, of, archived=True)
        for visibility in ("shared", "private"):
            change.change(visitor, tx, session, Change(visibility=visibility), desk.clock())
    desk.write_web(visitor, session, "And the hoist?")
    with desk.database.transaction(desk.admin) as tx:
        assert listed.readable(desk.admin, tx, user_id=visitor.id)
    _remembered(desk, session, of)


def _remembered(desk: Desk, session: UUID, binding_id: UUID) -> None:
    """A fact is put right twice, by the one it is about; an operator looks at everybody's."""
    admin, now = desk.admin, desk.clock()
    ((user_id,),) = desk.rows(f"SELECT user_id FROM sessions WHERE id = '{session}'")
    fact(desk, session, "language", "Kannada", scope="team")
    first = fact(desk, session, "city", "Pune")
    episode(desk, session, "They asked for the crane.")
    with desk.database.transaction(admin) as tx:
        changed = edit.edit(admin, tx, first, "Goa", None, now, uuid7)
        assert edit.with_earlier(admin, tx, changed, None) == [changed, first]
        assert read.common(admin, tx)
        assert [one.facts for one in read.users(admin, tx) if one.id == user_id] == [1]
        assert read.of(admin, tx, UUID(str(user_id))).facts[0].earlier
