"""Whoever holds an old token or a phone of a member: what an agent does for them."""

from uuid import UUID

from parlour.infra.errors import ParlourError
from parlour.tenancy.authentication import Authenticator, Credentials, VisitorClaims
from parlour.tenancy.oidc import TrustedIssuers
from tests.conversation_harness import PHONE, ConversationHarness, text_answer, tool_call
from tests.integration.conversations.phone_link_steps import (
    add_member,
    configure_template,
    link_members_phone,
    open_member_session,
)

_SECRET = "s" * 40
_RENAME = {"entity": "change_order/CO-007", "name": "Renamed"}


def old_token_of_a_member(desk: ConversationHarness) -> bool:
    return _is_let_in(desk, is_member=False)


def token_of_a_signed_in_member(desk: ConversationHarness) -> bool:
    return _is_let_in(desk, is_member=True)


def _is_let_in(desk: ConversationHarness, *, is_member: bool) -> bool:
    """Whether a token of a member's user opens their session; nobody signed in for one that is not a member's."""
    user, session_id = open_member_session(desk, add_member(desk))
    ((binding_id,),) = desk.query(f"SELECT binding_id FROM sessions WHERE id = '{session_id}'")
    assert user.id is not None
    authenticator = Authenticator(TrustedIssuers([], "parlour", lambda _: {}), lambda: _SECRET, lambda: _SECRET)
    claims = VisitorClaims(desk.tenant_id, user.id, UUID(str(binding_id)), session_id, is_member=is_member)
    token = authenticator.issue_visitor_token(claims, desk.clock()).text
    try:
        authenticator.authenticate(Credentials(f"Bearer {token}", ""), desk.database, desk.clock())
    except ParlourError:
        return False
    return True


def phone_of_an_editor_renames_a_record(desk: ConversationHarness) -> bool:
    desk.query("UPDATE bindings SET writes = '{}' RETURNING id")
    configure_template(desk)
    link_members_phone(desk, add_member(desk), PHONE)
    desk.send_whatsapp("Please go on.")
    return _renames(desk)


def editor_renames_a_record_in_the_console(desk: ConversationHarness) -> bool:
    desk.query("UPDATE bindings SET writes = '{}' RETURNING id")
    configure_template(desk)
    member = add_member(desk)
    link_members_phone(desk, member, PHONE)
    user, session_id = open_member_session(desk, member)
    desk.send_web(user, session_id, "Please go on.")
    return _renames(desk)


def _renames(desk: ConversationHarness) -> bool:
    desk.model.script = [tool_call("update_entity", **_RENAME), text_answer("Done.")]
    desk.run_turn()
    return desk.query("SELECT name FROM entities WHERE key = 'CO-007'") == [("Renamed",)]
