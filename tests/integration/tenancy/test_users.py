"""Users, the numbers they write from, and their sessions."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier
from uuid import UUID

import pytest

from parlour.infra.errors import NotFound
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal, system_principal
from parlour.tenancy import bindings, users
from tests.integration.tenancy.conftest import SampleTenant, add_binding, execute_sql

PHONE = "+919800000001"


def known(tx: Transaction, firm: SampleTenant, user_id: UUID) -> users.User | None:
    """Who talks to the firm's binding, as a turn reads it."""
    persona = bindings.load_persona(tx, firm.binding_id, user_id)
    assert persona is not None
    return persona.user


@pytest.fixture
def write(now: datetime) -> Callable[..., users.Contact]:
    """Somebody writes on WhatsApp."""

    def contact(
        tx: Transaction, binding_id: UUID, phone: str = PHONE, name: str | None = "Asha", at: datetime = now
    ) -> users.Contact:
        return users.find_or_create_contact(
            tx, channel="whatsapp", address=phone, display_name=name, binding_id=binding_id, now=at
        )

    return contact


def test_a_first_message_makes_a_user_and_their_main_session(
    database: Database, acme: SampleTenant, write: Callable[..., users.Contact], now: datetime
) -> None:
    with database.transaction(acme.tenant_id) as tx:
        contact = write(tx, acme.binding_id)
        user, session = known(tx, acme, contact.user_id), users.get_session(acme.operator, tx, contact.session_id)
    assert contact.is_new
    assert user == users.User(
        tenant_id=acme.tenant_id,
        id=contact.user_id,
        phone=PHONE,
        display_name="Asha",
        locale=None,
        clearance=None,
        created_at=now,
        is_verified=True,
        has_unverified=False,
        token_epoch=0,
        member=None,
    )
    assert (session.user_id, session.binding_id, session.channel) == (contact.user_id, acme.binding_id, "whatsapp")
    assert session.is_main


def test_a_later_message_finds_both_and_marks_the_session_active(
    database: Database, acme: SampleTenant, write: Callable[..., users.Contact], now: datetime
) -> None:
    later = now + timedelta(hours=1)
    with database.transaction(acme.tenant_id) as tx:
        first = write(tx, acme.binding_id)
    with database.transaction(acme.tenant_id) as tx:
        second = write(tx, acme.binding_id, at=later)
        write(tx, acme.binding_id, at=now)
        session = users.get_session(acme.operator, tx, first.session_id)
    assert second == users.Contact(first.user_id, first.session_id, is_new=False)
    assert session.last_active_at == later


def test_somebody_who_hides_their_number_has_none_and_is_known_again(
    database: Database, acme: SampleTenant, write: Callable[..., users.Contact]
) -> None:
    with database.transaction(acme.tenant_id) as tx:
        first, other = write(tx, acme.binding_id, "IN.1349"), write(tx, acme.binding_id, "IN.1350")
        again = write(tx, acme.binding_id, "IN.1349")
        user = known(tx, acme, first.user_id)
    assert (again.user_id, again.session_id) == (first.user_id, first.session_id)
    assert other.user_id != first.user_id
    assert user is not None
    assert user.phone is None


def test_one_person_has_one_session_with_each_binding(
    database: Database, acme: SampleTenant, write: Callable[..., users.Contact], now: datetime
) -> None:
    office = uuid7(now)
    with database.transaction(acme.tenant_id) as tx:
        add_binding(tx, "office-adviser", acme.tier_ids, office, now)
        site, other = write(tx, acme.binding_id), write(tx, office)
    assert site.user_id == other.user_id
    assert site.session_id != other.session_id
    assert other.is_new


def test_one_number_is_another_person_to_another_tenant(
    database: Database, acme: SampleTenant, brick: SampleTenant, write: Callable[..., users.Contact]
) -> None:
    with database.transaction(acme.tenant_id) as tx:
        here = write(tx, acme.binding_id)
    with database.transaction(brick.tenant_id) as tx:
        there = write(tx, brick.binding_id)
        assert known(tx, brick, here.user_id) is None
    assert there.is_new
    assert there.user_id != here.user_id


def test_a_number_that_is_linked_to_a_user_of_the_web_is_that_user(
    database: Database, acme: SampleTenant, write: Callable[..., users.Contact], now: datetime
) -> None:
    with database.transaction(acme.tenant_id) as tx:
        visitor = users.create_visitor(tx, binding_id=acme.binding_id, now=now)
        execute_sql(tx, "UPDATE users SET phone = %(phone)s", phone=PHONE)
        contact = write(tx, acme.binding_id)
        user = known(tx, acme, visitor.user_id)
    assert contact.user_id == visitor.user_id
    assert user is not None
    assert user.display_name == "Asha"


def test_a_name_that_is_known_is_not_overwritten(
    database: Database, acme: SampleTenant, write: Callable[..., users.Contact]
) -> None:
    with database.transaction(acme.tenant_id) as tx:
        contact = write(tx, acme.binding_id, name="Asha")
        write(tx, acme.binding_id, name="Somebody")
        user = known(tx, acme, contact.user_id)
    assert user is not None
    assert user.display_name == "Asha"


def test_first_messages_at_the_same_moment_end_in_one_user_and_one_session(
    open_database: Callable[[], Database], acme: SampleTenant, write: Callable[..., users.Contact]
) -> None:
    writers = 12
    together = Barrier(writers)
    databases = [open_database() for _ in range(writers)]

    def first_message(database: Database) -> users.Contact:
        with database.transaction(acme.tenant_id) as tx:
            together.wait(20)
            return write(tx, acme.binding_id)

    with ThreadPoolExecutor(writers) as pool:
        contacts = list(pool.map(first_message, databases))
    assert len({(contact.user_id, contact.session_id) for contact in contacts}) == 1
    assert sum(contact.is_new for contact in contacts) == 1
    with databases[0].transaction(acme.tenant_id) as tx:
        for table in ("users", "channel_identities", "sessions"):
            assert execute_sql(tx, f"SELECT FROM {table}") == 1


def test_first_messages_to_two_bindings_at_the_same_moment_end_in_one_user(
    open_database: Callable[[], Database],
    acme: SampleTenant,
    write: Callable[..., users.Contact],
    now: datetime,
) -> None:
    office = uuid7(now)
    databases = [open_database() for _ in range(8)]
    with databases[0].transaction(acme.tenant_id) as tx:
        add_binding(tx, "office-adviser", acme.tier_ids, office, now)
    together = Barrier(len(databases))

    def first_message(number: int) -> users.Contact:
        with databases[number].transaction(acme.tenant_id) as tx:
            together.wait(20)
            return write(tx, office if number % 2 else acme.binding_id)

    with ThreadPoolExecutor(len(databases)) as pool:
        contacts = list(pool.map(first_message, range(len(databases))))
    assert len({contact.user_id for contact in contacts}) == 1
    assert len({contact.session_id for contact in contacts}) == 2
    assert sum(contact.is_new for contact in contacts) == 2


def test_a_visitor_is_a_new_user_each_time(database: Database, acme: SampleTenant, now: datetime) -> None:
    with database.transaction(acme.tenant_id) as tx:
        first = users.create_visitor(tx, binding_id=acme.binding_id, now=now)
        second = users.create_visitor(tx, binding_id=acme.binding_id, now=now)
        session = users.get_session(acme.operator, tx, first.session_id)
        known = "SELECT FROM channel_identities WHERE channel = 'web' AND address = user_id::text"
        assert execute_sql(tx, known) == 2
    assert first.user_id != second.user_id
    assert (session.channel, session.is_main, session.user_id) == ("web", False, first.user_id)


def test_a_visitor_may_open_more_sessions(database: Database, acme: SampleTenant, now: datetime) -> None:
    with database.transaction(acme.tenant_id) as tx:
        visitor = users.create_visitor(tx, binding_id=acme.binding_id, now=now)
        principal = users.load_user_principal(tx, visitor.user_id, acme.binding_id)
        later = now + timedelta(minutes=1)
        opened = users.open_session(principal, tx, binding_id=acme.binding_id, now=later)
        for session_id in (opened.id, visitor.session_id):
            assert users.get_session(principal, tx, session_id).user_id == visitor.user_id


def test_no_session_is_opened_where_there_is_no_open_binding(
    database: Database, acme: SampleTenant, brick: SampleTenant, now: datetime
) -> None:
    with database.transaction(acme.tenant_id) as tx:
        visitor = users.create_visitor(tx, binding_id=acme.binding_id, now=now)
        principal = users.load_user_principal(tx, visitor.user_id, acme.binding_id)
        execute_sql(tx, "UPDATE bindings SET is_active = false")
        for binding_id in (acme.binding_id, brick.binding_id, uuid7(now)):
            with pytest.raises(NotFound):
                users.create_visitor(tx, binding_id=binding_id, now=now)
            with pytest.raises(NotFound):
                users.open_session(principal, tx, binding_id=binding_id, now=now)
        assert execute_sql(tx, "SELECT FROM users") == 1


@pytest.mark.parametrize(
    ("classification", "deleted", "reachable"), [(1, False, True), (2, False, False), (0, True, False)]
)
def test_a_session_is_about_an_entity_within_reach_only(
    database: Database,
    acme: SampleTenant,
    now: datetime,
    classification: int,
    deleted: bool,
    reachable: bool,
) -> None:
    type_id, entity_id = uuid7(now), uuid7(now)
    with database.transaction(acme.tenant_id) as tx:
        kind = """
            INSERT INTO entity_types (tenant_id, id, key, display_name, created_at, updated_at)
            VALUES (current_tenant(), %(id)s, 'task', 'Task', %(now)s, %(now)s)
        """
        execute_sql(tx, kind, id=type_id, now=now)
        entity = """
            INSERT INTO entities (tenant_id, id, type_id, key, name, classification, created_at, updated_at, deleted_at)
            VALUES (current_tenant(), %(id)s, %(type)s, 'T-1', 'Slab', %(level)s, %(now)s, %(now)s, %(gone)s)
        """
        gone = now if deleted else None
        execute_sql(tx, entity, id=entity_id, type=type_id, level=classification, now=now, gone=gone)
        visitor = users.create_visitor(tx, binding_id=acme.binding_id, now=now)
        principal = users.load_user_principal(tx, visitor.user_id, acme.binding_id)
        try:
            opened = users.open_session(principal, tx, binding_id=acme.binding_id, entity_id=entity_id, now=now)
        except NotFound:
            assert not reachable
        else:
            assert reachable
            assert opened.entity_id == entity_id


def test_a_user_sees_what_the_binding_allows_unless_their_own_row_says_otherwise(
    database: Database, acme: SampleTenant, write: Callable[..., users.Contact]
) -> None:
    with database.transaction(acme.tenant_id) as tx:
        contact = write(tx, acme.binding_id)
        assert users.load_user_principal(tx, contact.user_id, acme.binding_id) == Principal(
            acme.tenant_id, "user", contact.user_id, clearance=1, writes="own"
        )
        for clearance in (3, 0):
            execute_sql(tx, "UPDATE users SET clearance = %(clearance)s", clearance=clearance)
            assert users.load_user_principal(tx, contact.user_id, acme.binding_id).clearance == clearance


def test_a_user_or_binding_that_is_gone_makes_no_principal(
    database: Database,
    acme: SampleTenant,
    brick: SampleTenant,
    write: Callable[..., users.Contact],
    now: datetime,
) -> None:
    with database.transaction(acme.tenant_id) as tx:
        contact = write(tx, acme.binding_id)
        for user_id, binding_id in ((uuid7(now), acme.binding_id), (contact.user_id, brick.binding_id)):
            with pytest.raises(NotFound):
                users.load_user_principal(tx, user_id, binding_id)


def test_a_session_is_read_by_its_user_a_viewer_and_parlour_only(
    database: Database, acme: SampleTenant, write: Callable[..., users.Contact]
) -> None:
    with database.transaction(acme.tenant_id) as tx:
        contact = write(tx, acme.binding_id)
        other = write(tx, acme.binding_id, phone="+919800000002")
        needs = users.get_session(acme.operator, tx, contact.session_id).required_clearance
        viewer, lower = (
            Principal(acme.tenant_id, "key", UUID(int=9), frozenset({"viewer"}), clearance)
            for clearance in (needs, needs - 1)
        )
        owner = users.load_user_principal(tx, contact.user_id, acme.binding_id)
        for reader in (owner, viewer, acme.operator, system_principal(acme.tenant_id)):
            assert users.get_session(reader, tx, contact.session_id).id == contact.session_id
        stranger = users.load_user_principal(tx, other.user_id, acme.binding_id)
        nobody = Principal(acme.tenant_id, "key", contact.user_id)
        for reader in (stranger, nobody, lower):
            assert not users.can_read_session(reader, tx, contact.session_id)
            with pytest.raises(NotFound):
                users.get_session(reader, tx, contact.session_id)


def test_anothers_session_and_none_at_all_look_the_same(
    database: Database,
    acme: SampleTenant,
    brick: SampleTenant,
    write: Callable[..., users.Contact],
    now: datetime,
) -> None:
    with database.transaction(acme.tenant_id) as tx:
        contact = write(tx, acme.binding_id)
    answers = set()
    with database.transaction(brick.tenant_id) as tx:
        for session_id in (contact.session_id, uuid7(now)):
            with pytest.raises(NotFound) as refusal:
                users.get_session(brick.operator, tx, session_id)
            answers.add(str(refusal.value))
    assert len(answers) == 1
