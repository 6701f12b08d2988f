"""A visitor of the web and somebody on the phone, about to be one: what the tests of it begin with."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from parlour.channels.send import OutgoingMessage, SendResult, send_reply
from parlour.conversations.linking.code_request import PhoneClaim, RequestedCode, request_code
from parlour.conversations.linking.user_merge import MergedUser, merge_user
from parlour.infra.ids import uuid7
from parlour.principal import Principal, system_principal
from parlour.tenancy import bindings, members, users
from parlour.tenancy.members import Member, MemberChange
from tests.conversation_harness import PHONE, ConversationHarness, text_answer

SECRET = "s" * 48
CODE = "123456"


def start_phone_session(
    conversation: ConversationHarness, text: str = "My name is Priya.", name: str = "phone-1", sender: str = PHONE
) -> UUID:
    """Somebody writes on WhatsApp and is answered; their session."""
    conversation.send_whatsapp(text, name, sender=sender)
    conversation.model.script = [text_answer("Noted.")]
    conversation.run_turn()
    ((session,),) = conversation.query(f"SELECT session_id FROM messages WHERE provider_message_id = 'gupshup:{name}'")
    return UUID(str(session))


def start_web_session(conversation: ConversationHarness) -> tuple[Principal, UUID]:
    """A visitor who said something and was answered."""
    visitor = conversation.create_visitor()
    session = conversation.find_session(visitor)
    send_web_message(conversation, visitor, session, "I am on site on Monday.")
    return visitor, session


def add_member(
    conversation: ConversationHarness, subject: str = "ines", roles: Sequence[str] = ("editor",), clearance: int = 2
) -> Member:
    """A new member, known to https://id.example."""
    new = members.NewMember("https://id.example", subject, subject.title(), [*roles], clearance)
    with conversation.database.transaction(conversation.admin) as tx:
        return members.add_member(conversation.admin, tx, new, conversation.clock())


def change_member(conversation: ConversationHarness, member: Member, *roles: str, is_active: bool = True) -> None:
    """The member's roles from now on, and whether they may still sign in."""
    change = MemberChange([*roles], member.clearance, active=is_active)
    with conversation.database.transaction(conversation.admin) as tx:
        members.update_member(conversation.admin, tx, member.id, change, conversation.clock())


def open_member_session(conversation: ConversationHarness, member: Member) -> tuple[Principal, UUID]:
    """The user that a signed-in member talks as, and a new conversation of theirs with the desk."""
    signed_in = replace(conversation.admin, kind="member", id=member.id, label="")
    with conversation.database.transaction(conversation.tenant_id) as tx:
        binding = bindings.find_binding_by_slug(tx, "site-desk")
        assert binding is not None
        user_id = users.find_or_create_member_user(signed_in, tx, conversation.clock())
        user = users.load_user_principal(tx, user_id, binding.id)
        session = users.open_session(user, tx, binding_id=binding.id, now=conversation.clock())
    return user, session.id


def link_members_phone(
    conversation: ConversationHarness, member: Member, phone: str = PHONE
) -> tuple[UUID, MergedUser]:
    """The session in which a signed-in member asked for the code, and what came of it."""
    user, session = open_member_session(conversation, member)
    link = request_phone_code(conversation, user, session, phone)
    return session, enter_code(conversation, user, link.link_id)


def send_web_message(conversation: ConversationHarness, visitor: Principal, session: UUID, text: str) -> None:
    """One turn there."""
    conversation.send_web(visitor, session, text)
    conversation.model.script = [text_answer("Good.")]
    conversation.run_turn()


def configure_template(conversation: ConversationHarness) -> None:
    """The desk may write to people who did not write first."""
    conversation.query(
        "UPDATE bindings SET channels = jsonb_set(channels, '{whatsapp,templates}', "
        '\'[{"name": "news", "id": "t-1", "purpose": "reply", "text": "{{1}}"}]\')'
        " WHERE slug = 'site-desk' RETURNING id"
    )


def request_phone_code(
    conversation: ConversationHarness,
    visitor: Principal,
    session: UUID,
    phone: str = PHONE,
    code: str = CODE,
    address: str = "",
) -> RequestedCode:
    """The visitor says that the number is theirs."""
    with conversation.database.transaction(visitor) as tx:
        binding = bindings.find_binding_by_slug(tx, "site-desk")
    assert binding is not None
    return request_code(
        visitor,
        conversation.database,
        binding,
        PhoneClaim(session, phone, code, address),
        SECRET,
        conversation.clock(),
    )


def enter_code(conversation: ConversationHarness, visitor: Principal, link_id: UUID, code: str = CODE) -> MergedUser:
    """The visitor gives the code back."""
    return merge_user(visitor, conversation.database, link_id, code, secret=SECRET, now=conversation.clock())


def link_phone(conversation: ConversationHarness) -> tuple[Principal, UUID, MergedUser]:
    """A visitor, their session, and what became of it once they were joined with whoever has the desk's number."""
    visitor, session = start_web_session(conversation)
    return (
        visitor,
        session,
        enter_code(conversation, visitor, request_phone_code(conversation, visitor, session).link_id),
    )


class RecordingChannel:
    """Takes every message, and keeps it."""

    def __init__(self) -> None:
        self.taken: list[OutgoingMessage] = []

    def deliver(self, outgoing: OutgoingMessage, /) -> str:
        self.taken.append(outgoing)
        return f"taken:{outgoing.callback_data}"


def deliver_reply(conversation: ConversationHarness, phone: RecordingChannel, outbox_id: UUID) -> SendResult:
    """Send a row of the outbox."""
    now = conversation.clock()
    return send_reply(
        system_principal(conversation.tenant_id),
        conversation.database,
        {"gupshup": phone},
        outbox_id,
        uuid7(now),
        now,
        lambda: 60.0,
    )
