"""A member who linked a phone while signed in: a member there as well, with the roles of a phone, while that holds."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from uuid import UUID

import pytest

from parlour.conversations.linking.user_merge import MergedUser
from parlour.infra.errors import Conflict
from parlour.infra.json_values import Json
from parlour.infra.postgres import Database
from parlour.tenancy import users
from parlour.tenancy.access import Access
from parlour.tenancy.members import Member
from tests.conversation_harness import PHONE, ConversationHarness, text_answer, tool_call
from tests.integration.conversations.phone_link_steps import (
    add_member,
    change_member,
    configure_template,
    enter_code,
    link_members_phone,
    link_phone,
    open_member_session,
    request_phone_code,
    start_phone_session,
    start_web_session,
)
from tests.integration.memory.memory_rows import add_fact

OTHER_PHONE = "+919800000002"
RENAME = {"entity": "change_order/CO-007", "name": "Renamed"}


@pytest.fixture
def ines(conversation: ConversationHarness) -> Member:
    configure_template(conversation)
    return add_member(conversation)


def user_of(conversation: ConversationHarness, session: UUID) -> UUID:
    ((user_id,),) = conversation.query(f"SELECT user_id FROM sessions WHERE id = '{session}'")
    return UUID(str(user_id))


def phone_session(conversation: ConversationHarness, phone: str = PHONE) -> UUID:
    found = conversation.query(
        f"SELECT s.id FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.phone = '{phone}' AND s.is_main"
    )
    return UUID(str(found[0][0]))


def access_in(conversation: ConversationHarness, session: UUID) -> Access:
    """What the user of a session may do in it now."""
    ((user_id, binding_id),) = conversation.query(f"SELECT user_id, binding_id FROM sessions WHERE id = '{session}'")
    with conversation.database.transaction(conversation.tenant_id) as tx:
        return users.load_access(tx, UUID(str(user_id)), UUID(str(binding_id)), session)


def set_phone_roles(conversation: ConversationHarness, roles: Json) -> None:
    conversation.query(
        f"UPDATE tenants SET settings = settings || '{json.dumps({'phone_roles': roles})}'::jsonb RETURNING tenant_id"
    )


def rename_by_phone(conversation: ConversationHarness, name: str, phone: str = PHONE) -> bool:
    """Whether a message from the phone has a record of the tenant renamed by a model that obeys."""
    conversation.send_whatsapp("Rename it, please.", name, sender=phone)
    conversation.model.script = [tool_call("update_entity", **RENAME), text_answer("Done.")]
    conversation.run_turn()
    return is_renamed(conversation)


def rename_on_web(conversation: ConversationHarness, session: UUID) -> bool:
    """The same on the web."""
    user = access_in(conversation, session).principal
    conversation.send_web(user, session, "Rename it, please.")
    conversation.model.script = [tool_call("update_entity", **RENAME), text_answer("Done.")]
    conversation.run_turn()
    return is_renamed(conversation)


def is_renamed(conversation: ConversationHarness) -> bool:
    return conversation.query("SELECT name FROM entities WHERE key = 'CO-007'") == [("Renamed",)]


def write_own_by_default(conversation: ConversationHarness) -> None:
    conversation.query("UPDATE bindings SET writes = '{}', clearance = 0 RETURNING id")


def test_a_member_who_links_a_phone_stays_a_member_on_both(conversation: ConversationHarness, ines: Member) -> None:
    write_own_by_default(conversation)
    main = start_phone_session(conversation)
    session, joined = link_members_phone(conversation, ines)
    assert joined == MergedUser(user_of(conversation, main), session)
    on_web, by_phone = access_in(conversation, session), access_in(conversation, main)
    assert (on_web.identification, by_phone.identification) == ("member", "member")
    assert (on_web.principal.clearance, by_phone.principal.clearance) == (2, 2)
    assert (on_web.principal.roles, by_phone.principal.roles) == (frozenset({"editor"}), frozenset())
    assert (on_web.principal.writes, by_phone.principal.writes) == ("all", "own")
    _, another = open_member_session(conversation, ines)
    assert user_of(conversation, another) == joined.user_id
    assert conversation.query("SELECT details FROM audit_log WHERE action = 'phone.linked'") == [
        ({"member_id": str(ines.id)},)
    ]


@pytest.mark.parametrize(
    ("has", "allowed", "roles"),
    [
        (["editor"], None, []),
        (["viewer"], None, ["viewer"]),
        (["editor", "viewer"], None, ["viewer"]),
        (["admin"], None, ["viewer"]),
        (["admin"], ["viewer", "editor"], ["editor", "viewer"]),
        (["viewer"], ["viewer", "editor"], ["viewer"]),
        (["editor"], ["editor"], ["editor"]),
        (["admin"], [], []),
        (["admin"], ["admin"], []),
        (["admin", "editor"], ["admin", "editor"], ["editor"]),
        (["admin"], "admin", []),
        ([], ["viewer", "editor"], []),
    ],
)
def test_a_phone_has_the_packs_roles_and_no_more_than_the_member(
    conversation: ConversationHarness, has: Sequence[str], allowed: Json, roles: Sequence[str]
) -> None:
    """Also of settings that no pack can say."""
    configure_template(conversation)
    session, _ = link_members_phone(conversation, add_member(conversation, roles=has))
    if allowed is not None:
        set_phone_roles(conversation, allowed)
    assert sorted(access_in(conversation, phone_session(conversation)).principal.roles) == [*roles]
    assert access_in(conversation, session).principal.roles == frozenset(has)


def test_an_editors_phone_changes_nothing_of_others_unless_the_pack_says_so(
    conversation: ConversationHarness, ines: Member
) -> None:
    write_own_by_default(conversation)
    session, _ = link_members_phone(conversation, ines)
    assert not rename_by_phone(conversation, "one")
    set_phone_roles(conversation, ["editor"])
    assert rename_by_phone(conversation, "two")
    conversation.query("UPDATE entities SET name = 'CO' WHERE key = 'CO-007' RETURNING id")
    change_member(conversation, ines, "viewer")
    assert not rename_by_phone(conversation, "three"), "a changed role holds from the next turn on"
    change_member(conversation, ines, "editor")
    assert rename_on_web(conversation, session)


def test_what_a_phone_shares_with_the_web_has_the_rights_of_the_phone(
    conversation: ConversationHarness, ines: Member
) -> None:
    """Who writes on the web into the phone's conversation acts on what the phone said there."""
    write_own_by_default(conversation)
    link_members_phone(conversation, ines)
    assert not rename_on_web(conversation, phone_session(conversation))
    _, another = open_member_session(conversation, ines)
    assert rename_on_web(conversation, another)


def test_a_former_members_phone_is_not_answered(conversation: ConversationHarness, ines: Member) -> None:
    link_members_phone(conversation, ines)
    main = phone_session(conversation)
    change_member(conversation, ines, "editor", is_active=False)
    assert not access_in(conversation, main).is_admitted
    conversation.send_whatsapp("Are you there?", "after")
    assert conversation.query("SELECT state FROM messages WHERE provider_message_id = 'gupshup:after'") == [
        ("ignored",)
    ]
    change_member(conversation, ines, "editor")
    assert access_in(conversation, main).is_admitted


def test_with_a_new_number_the_old_one_is_a_strangers(conversation: ConversationHarness, ines: Member) -> None:
    main = start_phone_session(conversation)
    fact = add_fact(conversation, main, "plan", "Basic")
    first, _ = link_members_phone(conversation, ines)
    second, joined = link_members_phone(conversation, ines, OTHER_PHONE)
    assert user_of(conversation, phone_session(conversation, OTHER_PHONE)) == joined.user_id
    assert {user_of(conversation, one) for one in (first, second, main)} == {joined.user_id}
    assert conversation.query(f"SELECT user_id FROM facts WHERE id = '{fact}'") == [(joined.user_id,)]
    assert access_in(conversation, phone_session(conversation, OTHER_PHONE)).identification == "member"
    conversation.send_whatsapp("It is me again.", "old-number")
    ((stranger,),) = conversation.query(
        "SELECT session_id FROM messages WHERE provider_message_id = 'gupshup:old-number'"
    )
    assert access_in(conversation, UUID(str(stranger))).identification == "verified"
    assert user_of(conversation, UUID(str(stranger))) != joined.user_id
    assert access_in(conversation, main).principal.roles == frozenset(), "the old phone wrote there"
    third, back = link_members_phone(conversation, ines)
    assert access_in(conversation, phone_session(conversation)).identification == "member"
    assert {user_of(conversation, one) for one in (first, second, third, main)} == {back.user_id}
    assert conversation.query(
        f"SELECT count(*) FROM users WHERE merged_into IS NOT NULL AND merged_into <> '{back.user_id}'"
    ) == [(0,)]


def test_the_same_number_is_not_linked_twice(conversation: ConversationHarness, ines: Member) -> None:
    link_members_phone(conversation, ines)
    with pytest.raises(Conflict, match="already linked"):
        request_phone_code(conversation, *open_member_session(conversation, ines))


@pytest.mark.parametrize("is_active", [True, False])
def test_the_phone_of_another_member_is_refused(
    conversation: ConversationHarness, ines: Member, is_active: bool
) -> None:
    """Also of a former one: their conversations and what is remembered of them are not the next one's."""
    _, joined = link_members_phone(conversation, ines)
    change_member(conversation, ines, "editor", is_active=is_active)
    with pytest.raises(Conflict, match="another member"):
        link_members_phone(conversation, add_member(conversation, "otto"))
    assert user_of(conversation, phone_session(conversation)) == joined.user_id


def test_a_visitor_does_not_become_a_member_by_linking_a_members_phone(
    conversation: ConversationHarness, ines: Member
) -> None:
    link_members_phone(conversation, ines)
    visitor, session = start_web_session(conversation)
    link = request_phone_code(conversation, visitor, session)
    with pytest.raises(Conflict, match="sign in"):
        enter_code(conversation, visitor, link.link_id)
    assert access_in(conversation, session).identification == "anonymous"


def test_a_visitor_who_linked_the_phone_before_is_the_member_afterwards(
    conversation: ConversationHarness, ines: Member
) -> None:
    """Who proved to hold the phone is one person. Tokens of before are refused: `test_member_sessions`."""
    _, session, before = link_phone(conversation)
    _, joined = link_members_phone(conversation, ines)
    assert before.user_id == joined.user_id == user_of(conversation, session)


def test_of_two_members_who_give_codes_of_one_number_at_once_one_is_linked(
    conversation: ConversationHarness, open_database: Callable[[], Database], ines: Member
) -> None:
    both = [open_member_session(conversation, one) for one in (ines, add_member(conversation, "otto"))]
    links = [request_phone_code(conversation, user, session).link_id for user, session in both]
    together = Barrier(2)

    def give(number: int) -> bool:
        together.wait()
        try:
            enter_code(replace(conversation, database=open_database()), both[number][0], links[number])
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(give, range(2))) == [False, True]
    assert conversation.query("SELECT count(*) FROM users WHERE member_id IS NOT NULL AND phone IS NOT NULL") == [(1,)]


def test_a_clearance_of_the_phone_does_not_lower_the_members(conversation: ConversationHarness, ines: Member) -> None:
    main = start_phone_session(conversation)
    conversation.query(f"UPDATE users SET clearance = 0 WHERE id = '{user_of(conversation, main)}' RETURNING id")
    link_members_phone(conversation, ines)
    assert access_in(conversation, main).principal.clearance == 2


def test_the_owner_of_a_private_agent_reaches_it_by_phone(conversation: ConversationHarness, ines: Member) -> None:
    start_phone_session(conversation)
    conversation.query(
        """UPDATE bindings SET door = 'private', owner = '{"issuer": "https://id.example", "subject": "ines"}'"""
        " WHERE slug = 'site-desk' RETURNING id"
    )
    main = phone_session(conversation)
    assert not access_in(conversation, main).is_admitted
    link_members_phone(conversation, ines)
    assert access_in(conversation, main).is_admitted
    conversation.send_whatsapp("Good morning.", "private")
    conversation.model.script = [text_answer("Good morning, Ines.")]
    conversation.run_turn()
    assert conversation.query("SELECT count(*) FROM messages WHERE body = 'Good morning, Ines.'") == [(1,)]
