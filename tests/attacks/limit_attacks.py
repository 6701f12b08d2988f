"""One visitor or one network address against the limits that everybody shares: are the others still served?"""

from datetime import timedelta
from decimal import Decimal
from uuid import UUID

from parlour.conversations.linking.code_request import PhoneClaim, request_code
from parlour.inbox import threads
from parlour.infra.errors import AnonymousShareSpent, Conflict
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.models import spend
from parlour.models.spend import Reservation
from parlour.notifications import delivery_job, notifications
from parlour.notifications.store import NotificationRow
from parlour.tenancy import bindings, open_streams, rate_limits, users
from parlour.tenancy.limits import DEFAULT_LIMITS, Limits, message_limits
from tests.conversation_harness import ConversationHarness

_LIMITS = Limits(visitor_per_minute=3, address_per_minute=6, binding_per_minute=9)
_BINDING = UUID(int=99)


def _write(desk: ConversationHarness, visitor: int, address: str) -> bool:
    """Whether a message of the visitor at that address is taken."""
    with desk.database.transaction(desk.admin) as tx:
        return not rate_limits.take(tx, message_limits(_LIMITS, UUID(int=visitor), _BINDING, address), desk.clock())


def flood_keeps_others_out(desk: ConversationHarness) -> bool:
    """Visitors of one address write until the binding takes nothing more."""
    for number in range(60):
        _write(desk, number % 4, "flood")
    return not _write(desk, 7, "elsewhere")


def other_visitor_is_taken(desk: ConversationHarness) -> bool:
    return _write(desk, 1, "home") and _write(desk, 2, "office")


def _call(desk: ConversationHarness, address: str) -> bool:
    """Whether a model call for a visitor of that address is made; it costs 2 cents."""
    now = desk.clock()
    call = Reservation(
        id=uuid7(now),
        amount=Decimal("0.02"),
        purpose="turn",
        default_cap=Decimal(20),
        expires_at=now + timedelta(minutes=5),
        anonymous_share=Decimal("0.2"),
        address=address,
    )
    try:
        with desk.database.transaction(desk.admin) as tx:
            spend.reserve(tx, call, now)
    except AnonymousShareSpent:
        return False
    return True


def address_spends_the_day(desk: ConversationHarness) -> bool:
    for _ in range(220):
        _call(desk, "flood")
    return not _call(desk, "elsewhere")


def office_is_answered(desk: ConversationHarness) -> bool:
    return all(_call(desk, "office") for _ in range(30))


def _follow(desk: ConversationHarness, visitor_id: UUID, address: str) -> bool:
    """Whether the visitor gets a stream that nobody ends."""
    now = desk.clock()
    with desk.database.transaction(desk.admin) as tx:
        return open_streams.open_stream(tx, uuid7(now), visitor_id, DEFAULT_LIMITS, address, now)


def streams_are_all_held(desk: ConversationHarness) -> bool:
    """Visitors of one address open streams until a deployment has none left: it serves 50."""
    visitors = [visitor.id for visitor in (desk.create_visitor() for _ in range(10)) if visitor.id]
    return sum(_follow(desk, visitor_id, "flood") for visitor_id in visitors * 6) >= 50


def two_windows_are_followed(desk: ConversationHarness) -> bool:
    visitor_id = desk.create_visitor().id
    return visitor_id is not None and _follow(desk, visitor_id, "home") and _follow(desk, visitor_id, "home")


def sessions_pile_up(desk: ConversationHarness) -> bool:
    visitor = desk.create_visitor()
    ((binding_id,),) = desk.query("SELECT id FROM bindings WHERE slug = 'site-desk'")
    for _ in range(60):
        with desk.database.transaction(visitor) as tx:
            users.open_session(visitor, tx, binding_id=UUID(str(binding_id)), now=desk.clock())
    return desk.query(f"SELECT count(*) > 20 FROM sessions WHERE user_id = '{visitor.id}'") == [(True,)]


def session_with_a_message_stays(desk: ConversationHarness) -> bool:
    visitor = desk.create_visitor()
    session_id = desk.find_session(visitor)
    desk.send_web(visitor, session_id, "Hello")
    ((binding_id,),) = desk.query("SELECT id FROM bindings WHERE slug = 'site-desk'")
    for _ in range(30):
        with desk.database.transaction(visitor) as tx:
            users.open_session(visitor, tx, binding_id=UUID(str(binding_id)), now=desk.clock())
    return desk.query(f"SELECT body FROM messages WHERE session_id = '{session_id}'") == [("Hello",)]


def _ask_for_code(desk: ConversationHarness, number: int, address: str) -> bool:
    """Whether a new visitor at that address may have a code sent to a number."""
    visitor = desk.create_visitor()
    with desk.database.transaction(visitor) as tx:
        binding = bindings.find_binding_by_slug(tx, "site-desk")
    assert binding is not None
    claim = PhoneClaim(desk.find_session(visitor), f"+919800001{number:03}", "123456", address)
    try:
        request_code(visitor, desk.database, binding, claim, "s" * 48, desk.clock())
    except Conflict:
        return False
    return True


def codes_are_used_up(desk: ConversationHarness) -> bool:
    for number in range(201):
        _ask_for_code(desk, number, "flood")
    return not _ask_for_code(desk, 300, "elsewhere")


def colleagues_link_their_phones(desk: ConversationHarness) -> bool:
    return all(_ask_for_code(desk, number, "office") for number in range(8))


class _Mailbox:
    def __init__(self) -> None:
        self.count = 0

    def send(self, _notification: NotificationRow, /) -> None:
        self.count += 1


def _mail(desk: ConversationHarness, conversations: int) -> int:
    """How many mails people get of so many conversations that strangers bring to the inbox."""
    desk.query("""UPDATE bindings SET notifications = '{"email": ["desk@example.com"]}' RETURNING id""")
    mailbox = _Mailbox()
    for _ in range(conversations):
        session_id = desk.find_session(desk.create_visitor())
        with desk.database.transaction(desk.admin) as tx:
            threads.open_thread(desk.admin, tx, session_id, "asked", "", desk.clock())
            (work,) = notifications.list_pending(tx, session_id)
        body: JsonObject = {"tenant_id": str(work.tenant_id), "notification_id": str(work.id)}
        delivery_job.deliver(body, desk.database, {"email": mailbox}, lambda _: None, desk.clock(), lambda: 60.0)
    return mailbox.count


def mailboxes_are_flooded(desk: ConversationHarness) -> bool:
    return _mail(desk, 20) > 2


def one_conversation_is_mailed(desk: ConversationHarness) -> bool:
    return _mail(desk, 1) == 1
