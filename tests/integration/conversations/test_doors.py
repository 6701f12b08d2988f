"""Whom a door answers: a private one its owner only, on every channel, and nobody by an old token."""

import json
from dataclasses import replace
from uuid import UUID

import pytest

from parlour.conversations import canned_replies
from parlour.infra.errors import Forbidden, NotFound
from parlour.infra.json_values import JsonObject
from parlour.tenancy import members, users
from parlour.tenancy.authentication import Authenticator, Credentials
from parlour.tenancy.oidc import TrustedIssuers
from parlour.tenancy.visitor_tokens import VisitorClaims
from tests.conversation_harness import PHONE, ConversationHarness, text_answer

SECRET = "s" * 40
STRANGER = "+919800000777"


def close_door(conversation: ConversationHarness, owner: JsonObject) -> None:
    conversation.query(f"UPDATE bindings SET door = 'private', owner = '{json.dumps(owner)}' RETURNING id")


def replies(conversation: ConversationHarness) -> list[str]:
    return [str(body) for (body,) in conversation.query("SELECT body FROM messages WHERE direction = 'outbound'")]


def binding_of(conversation: ConversationHarness, session_id: UUID) -> UUID:
    ((binding,),) = conversation.query(f"SELECT binding_id FROM sessions WHERE id = '{session_id}'")
    return UUID(str(binding))


def test_a_private_number_answers_its_owner_and_keeps_silent_for_strangers(conversation: ConversationHarness) -> None:
    close_door(conversation, {"phone": PHONE})
    conversation.send_whatsapp("Who lives here?", "m1", sender=STRANGER)
    assert conversation.turns.sent == {}
    assert conversation.query("SELECT state, body FROM messages") == [("ignored", "Who lives here?")]
    conversation.send_whatsapp("It is me.", "m2")
    conversation.model.script = [text_answer("Welcome home.")]
    conversation.run_turn()
    assert replies(conversation) == ["Welcome home."]


def test_a_message_that_came_before_the_door_was_closed_gets_the_closed_line(
    conversation: ConversationHarness,
) -> None:
    conversation.send_whatsapp("Hello?", "m1", sender=STRANGER)
    close_door(conversation, {"phone": PHONE})
    conversation.run_turn()
    assert replies(conversation) == [canned_replies.PAUSED_REPLY]
    assert conversation.model.requests == []


def test_an_old_token_does_not_open_a_closed_door(conversation: ConversationHarness) -> None:
    visitor = conversation.create_visitor()
    session_id = conversation.find_session(visitor)
    assert visitor.id is not None
    sign_in = Authenticator(TrustedIssuers([], "parlour", lambda _: {}), lambda: SECRET, lambda: SECRET)
    claims = VisitorClaims(conversation.tenant_id, visitor.id, binding_of(conversation, session_id), session_id)
    bearers = [
        Credentials(f"Bearer {sign_in.issue_visitor_token(one, conversation.clock()).text}", "")
        for one in (claims, replace(claims, session_id=None))
    ]
    for bearer in bearers:
        assert sign_in.authenticate(bearer, conversation.database, conversation.clock()).principal.id == visitor.id
    close_door(conversation, {"phone": PHONE})
    for bearer in bearers:
        with pytest.raises(Forbidden, match="private"):
            sign_in.authenticate(bearer, conversation.database, conversation.clock())


def test_a_member_talks_as_themselves_and_a_former_one_not_at_all(conversation: ConversationHarness) -> None:
    admin, now = conversation.admin, conversation.clock()
    new = members.NewMember("https://id.example", "ada", "Ada", ["editor"], 2)
    visitor = conversation.create_visitor()
    binding_id = binding_of(conversation, conversation.find_session(visitor))
    with conversation.database.transaction(admin) as tx:
        member = members.add_member(admin, tx, new, now)
        acting = replace(admin, kind="member", id=member.id)
        user_id = users.find_or_create_member_user(acting, tx, now)
        assert users.find_or_create_member_user(acting, tx, now) == user_id
        access = users.load_access(tx, user_id, binding_id)
        assert (access.identification, access.principal.clearance) == ("member", 2)
        assert access.principal.write_rights == "all"
        members.update_member(admin, tx, member.id, members.MemberChange(["viewer"], 0, active=True), now)
        access = users.load_access(tx, user_id, binding_id)
        assert (access.principal.clearance, access.principal.roles) == (0, frozenset({"viewer"}))
        members.update_member(admin, tx, member.id, members.MemberChange(["viewer"], 0, active=False), now)
        assert not users.load_access(tx, user_id, binding_id).is_admitted
        with pytest.raises(NotFound):
            users.set_user_clearance(admin, tx, user_id, 3, now)


def test_a_users_clearance_is_set_by_an_administrator_up_to_their_own(conversation: ConversationHarness) -> None:
    visitor, now = conversation.create_visitor(), conversation.clock()
    binding_id = binding_of(conversation, conversation.find_session(visitor))
    assert visitor.id is not None
    with conversation.database.transaction(conversation.admin) as tx:
        users.set_user_clearance(conversation.admin, tx, visitor.id, 3, now)
        assert users.load_user_principal(tx, visitor.id, binding_id).clearance == 3
        users.set_user_clearance(conversation.admin, tx, visitor.id, None, now)
        assert users.load_user_principal(tx, visitor.id, binding_id).clearance == 1
        for somebody in (replace(conversation.admin, kind="member", roles=frozenset({"editor"})), visitor):
            with pytest.raises(Forbidden):
                users.set_user_clearance(somebody, tx, visitor.id, 1, now)
        lower = replace(conversation.admin, kind="member", roles=frozenset({"admin"}), clearance=1)
        with pytest.raises(Forbidden):
            users.set_user_clearance(lower, tx, visitor.id, 2, now)
    assert conversation.query("SELECT count(*) FROM audit_log WHERE action = 'user.clearance_set'") == [(2,)]
