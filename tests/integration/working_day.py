"""A working day of one tenant, through the rooms' public functions: everything a named query is for happens once."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from local.issuer import Issuer
from parlour.channels import outbox
from parlour.channels import store as channel_store
from parlour.channels.envelope import Media
from parlour.channels.media import MediaFetcher
from parlour.channels.send import ChannelProvider, OutgoingMessage, SendResult, send_reply
from parlour.conversations import event_feed, failed_turns, turn_views
from parlour.conversations import store as turn_store
from parlour.inbox import threads as inbox_threads
from parlour.infra.errors import (
    DatabaseUnavailable,
    DeliveryUnknown,
    Misconfigured,
    ProviderRejected,
    SpendRefused,
)
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Transaction
from parlour.models import agent_loops, cost_report, spend
from parlour.models.spend import Reservation
from parlour.principal import system_principal
from parlour.tenancy import (
    api_keys,
    audit,
    members,
    open_streams,
    rate_limits,
    routing_keys,
    tenant_secrets,
    tenants,
    users,
)
from parlour.tenancy.authentication import Authenticator, Credentials
from parlour.tenancy.limits import DEFAULT_LIMITS, RateLimit
from parlour.tenancy.oidc import TrustedIssuers
from parlour.tenancy.visitor_tokens import VisitorClaims
from tests.conversation_harness import ConversationHarness, search_call, text_answer
from tests.integration.attachment_cases import send_attachments
from tests.integration.day_approvals import answer_questions
from tests.integration.day_documents import write_documents
from tests.integration.day_embedding import embed_and_reembed
from tests.integration.day_erasure import age_conversations, erase_people
from tests.integration.day_handoffs import hand_over_conversations
from tests.integration.day_inbox import answer_in_the_inbox
from tests.integration.day_linked_records import read_linked_records
from tests.integration.day_long_calls import run_long_calls
from tests.integration.day_notifications import notify_people
from tests.integration.day_packs import claim_routes, prune_and_undo_packs, reapply_pack
from tests.integration.day_phone_links import link_phone_numbers
from tests.integration.day_prompt_inspection import inspect_prompts
from tests.integration.day_prompt_retention import reuse_and_expire_prompts
from tests.integration.day_pulse_reading import read_pulses
from tests.integration.day_pulse_scheduling import schedule_pulses
from tests.integration.day_pulse_writing import write_pulses
from tests.integration.day_recall import recall_memory
from tests.integration.day_record_tools import write_records_by_tools
from tests.integration.day_records import edit_records, leave_backfill_due
from tests.integration.day_search import search_in_console
from tests.integration.day_sessions import manage_sessions
from tests.integration.day_stops import stop_turns
from tests.integration.day_summaries import summarise_conversation
from tests.integration.day_uploads import upload_files
from tests.integration.extraction_cases import extract_facts
from tests.integration.stale_work import recover_stale_work

ISSUER = Issuer("https://id.example.org", rsa.generate_private_key(public_exponent=65537, key_size=2048))
SECRET = "s" * 40


class AcceptingProvider:
    """Takes every message."""

    def deliver(self, outgoing: OutgoingMessage, /) -> str:
        return f"taken:{outgoing.callback_data}"


@dataclass
class SlowProvider:
    """Takes a message so late that its sender has renewed the lease."""

    conversation: ConversationHarness

    def deliver(self, outgoing: OutgoingMessage, /) -> str:
        ((outbox_id, attempt_id),) = self.conversation.query(
            "SELECT id, attempt_id FROM outbox WHERE state = 'sending'"
        )
        assert isinstance(outbox_id, UUID)
        assert isinstance(attempt_id, UUID)
        with self.conversation.database.transaction(system_principal(self.conversation.tenant_id)) as tx:
            assert channel_store.renew_lease(tx, outbox_id, attempt_id, self.conversation.clock())
        return f"taken:{outgoing.callback_data}"


class SilentProvider:
    """Takes a message, perhaps."""

    def deliver(self, outgoing: OutgoingMessage, /) -> str:
        raise DeliveryUnknown(f"no answer for {len(outgoing.text)} characters")


class FakeMediaBucket:
    """Keeps every file."""

    bucket = "media"

    def put(self, key: str, data: bytes, content_type: str, /) -> None:
        assert key.startswith("tenant/")
        assert (len(data), content_type) == (8, "image/png")

    def delete(self, keys: Sequence[str], /) -> None:
        raise AssertionError(keys)


class FakeSecretStore:
    """Knows every secret."""

    def get(self, reference: str, /) -> str:
        return f"value of {reference}"


class RejectingProvider:
    """Takes none."""

    def deliver(self, outgoing: OutgoingMessage, /) -> str:
        raise ProviderRejected(f"not a number: {len(outgoing.recipient)} digits")


class UnauthorizedProvider:
    """Refuses the tenant's key."""

    def deliver(self, outgoing: OutgoingMessage, /) -> str:
        raise Misconfigured(f"the key was refused for {len(outgoing.recipient)} digits")


def play_working_day(conversation: ConversationHarness) -> None:
    """The whole day."""
    administer_tenant(conversation)
    reapply_pack(conversation)
    claim_routes(conversation)
    conversation.let_everybody_write()
    edit_records(conversation)
    prune_and_undo_packs(conversation)
    write_documents(conversation)
    upload_files(conversation)
    search_in_console(conversation)
    converse_on_whatsapp(conversation)
    converse_on_web(conversation)
    send_attachments(conversation)
    resume_turn(conversation)
    write_records_by_tools(conversation)
    inspect_prompts(conversation)
    run_long_calls(conversation)
    stop_turns(conversation)
    answer_questions(conversation)
    fail_turns(conversation)
    recover_stale_work(conversation)
    extract_facts(conversation)
    embed_and_reembed(conversation)
    schedule_pulses(conversation)
    write_pulses(conversation)
    read_pulses(conversation)
    read_linked_records(conversation)
    recall_memory(conversation)
    summarise_conversation(conversation)
    reuse_and_expire_prompts(conversation)
    manage_sessions(conversation)
    hand_over_conversations(conversation)
    answer_in_the_inbox(conversation)
    notify_people(conversation)
    link_phone_numbers(conversation)
    erase_people(conversation)
    age_conversations(conversation)
    account_spend(conversation)
    leave_backfill_due(conversation)


def administer_tenant(conversation: ConversationHarness) -> None:
    """Members and keys come, change and go; the tenant is renamed and paused; all of it can be read back."""
    admin, visitor_id = conversation.admin, conversation.create_visitor().id
    assert visitor_id
    conversation.database.run(None, routing_keys.count_tenants_with_numbers)
    with conversation.database.transaction(admin) as tx:
        member = members.add_member(
            admin,
            tx,
            members.NewMember(issuer=ISSUER.url, subject="ines", display_name="Ines", roles=["viewer"], clearance=1),
            now=conversation.clock(),
        )
        change = members.MemberChange(["viewer"], 2, active=True, email="ines@example.com")
        members.update_member(admin, tx, member.id, change, conversation.clock())
        assert members.list_members(admin, tx).rows
        key = api_keys.create_key(admin, tx, api_keys.NewApiKey("ci", ["admin"], 1), conversation.clock())
        spare = api_keys.create_key(admin, tx, api_keys.NewApiKey("spare", [], 0), conversation.clock())
        tenants.update_tenant(admin, tx, display_name="Northbank", settings={"polite": True}, now=conversation.clock())
        tenants.set_tenant_status(admin, tx, "paused", conversation.clock())
        tenants.set_tenant_status(admin, tx, "active", conversation.clock())
        assert tenants.find_own_tenant(tx)
        assert audit.list_entries(admin, tx, 50).rows
        assert tenant_secrets.list_secrets(admin, tx)
        bucket, stream_id = RateLimit("visitor", "day", 2), uuid7(conversation.clock())
        assert rate_limits.take(tx, [bucket], conversation.clock()) == 0
        assert rate_limits.should_notify(tx, bucket, conversation.clock())
        assert rate_limits.list_limits(admin, tx, 10).rows
        assert open_streams.open_stream(tx, stream_id, visitor_id, DEFAULT_LIMITS, "home", conversation.clock())
        open_streams.close_stream(tx, stream_id)
    sign_in_everybody(conversation, key.text)
    with conversation.database.transaction(admin) as tx:
        assert api_keys.list_keys(admin, tx).rows
        api_keys.revoke_key(admin, tx, spare.key.id, conversation.clock())


def sign_in_everybody(conversation: ConversationHarness, key: str) -> None:
    """A member, a key and a visitor."""
    documents = {
        f"{ISSUER.url}/.well-known/openid-configuration": ISSUER.discovery(),
        f"{ISSUER.url}/jwks.json": ISSUER.keys(),
    }
    sign_in = Authenticator(
        TrustedIssuers([ISSUER.url], "parlour", documents.__getitem__), lambda: SECRET, lambda: SECRET
    )
    now = conversation.clock()
    for bearer in (ISSUER.token("ines", now), key):
        assert sign_in.authenticate(Credentials(f"Bearer {bearer}", "northbank"), conversation.database, now)
    for bearer in (ISSUER.token("ines", now), SECRET):
        assert sign_in.list_tenants(Credentials(f"Bearer {bearer}", ""), conversation.database, now).tenants
    ines = sign_in.authenticate(
        Credentials(f"Bearer {ISSUER.token('ines', now)}", "northbank"), conversation.database, now
    )
    with conversation.database.transaction(ines.principal) as tx:
        users.find_or_create_member_user(ines.principal, tx, now)
    visitor = conversation.create_visitor()
    mine = conversation.find_session(visitor)
    with conversation.database.transaction(visitor) as tx:
        assert visitor.id is not None
        users.set_user_clearance(conversation.admin, tx, visitor.id, 1, now)
        users.set_user_clearance(conversation.admin, tx, visitor.id, None, now)
        session = users.get_session(visitor, tx, mine)
        users.open_session(visitor, tx, binding_id=session.binding_id, now=now)
    assert visitor.id is not None
    token = sign_in.issue_visitor_token(
        VisitorClaims(conversation.tenant_id, visitor.id, session.binding_id, session.id), now
    )
    assert sign_in.authenticate(Credentials(f"Bearer {token.text}", ""), conversation.database, now)
    with conversation.database.transaction(visitor) as tx:
        users.sign_out(visitor, tx, visitor.id, now)


def converse_on_whatsapp(conversation: ConversationHarness) -> None:
    """A question, its cited answer, sent, delivered; the same webhook again; a reply that cannot be sent."""
    conversation.send_whatsapp("How wide is the crack at C4?", "day-1")
    conversation.model.script = [search_call("crack width C4"), text_answer("0.35 mm [1].")]
    conversation.run_turn()
    conversation.send_whatsapp("How wide is the crack at C4?", "day-1")
    principal = system_principal(conversation.tenant_id)
    (session,) = {wake.session_id for wake in conversation.list_wakes()}
    with conversation.database.transaction(principal) as tx:
        (unsent,) = outbox.list_pending(tx, session_id=session)
    sent = send_with(conversation, SlowProvider(conversation), unsent.id)
    assert sent.state == "sent"
    ((provider_id,),) = conversation.query("SELECT provider_message_id FROM outbox_parts")
    conversation.send_whatsapp("", str(provider_id), kind="status", status="delivered")
    conversation.send_whatsapp("And the crane?", "day-2")
    conversation.model.script = [text_answer("On Monday.")]
    conversation.run_turn()
    with conversation.database.transaction(principal) as tx:
        (waiting,) = outbox.list_pending(tx, session_id=session)
    assert send_with(conversation, UnauthorizedProvider(), waiting.id).state == "pending"
    assert send_with(conversation, RejectingProvider(), waiting.id).state == "failed"
    with conversation.database.transaction(conversation.admin) as tx:
        (one,) = outbox.list_failed(conversation.admin, tx, conversation.clock(), 10).rows
        assert outbox.redrive_reply(conversation.admin, tx, one.id, conversation.clock()).id == waiting.id
    assert send_with(conversation, AcceptingProvider(), waiting.id).state == "sent"
    conversation.send_whatsapp("And the hoist?", "hoist")
    conversation.model.script = [text_answer("Nobody knows.")]
    conversation.run_turn()
    with conversation.database.transaction(principal) as tx:
        (left,) = outbox.list_pending(tx, session_id=session)
    assert send_with(conversation, RejectingProvider(), left.id).state == "failed"
    store_photo(conversation)
    resolve_replies(conversation, session)


def send_with(conversation: ConversationHarness, provider: ChannelProvider, outbox_id: UUID) -> SendResult:
    """Send a reply through this provider, whatever the binding's is called."""
    now = conversation.clock()
    return send_reply(
        system_principal(conversation.tenant_id),
        conversation.database,
        {"gupshup": provider},
        outbox_id,
        uuid7(now),
        now,
        lambda: 60.0,
    )


def resolve_replies(conversation: ConversationHarness, session_id: UUID) -> None:
    """One is settled by the provider's callback, one by a person in each way; news overtake a third."""
    principal = system_principal(conversation.tenant_id)
    for number, how in enumerate(("arrived", "send_again", "dismiss", "callback", "left")):
        conversation.send_whatsapp("And the crane?", f"stuck-{number}")
        conversation.model.script = [text_answer(f"On Monday, {how}.")]
        conversation.run_turn()
        with conversation.database.transaction(principal) as tx:
            (*_, unsent) = outbox.list_pending(tx, session_id=session_id)
        assert send_with(conversation, SilentProvider(), unsent.id).state == "unknown"
        if how == "left":
            continue
        if how == "callback":
            told = {"callback": f"{unsent.id}:1"}
            conversation.send_whatsapp("", "wamid.1", kind="status", status="delivered", metadata=told)
            assert conversation.query(f"SELECT state FROM outbox WHERE id = '{unsent.id}'") == [("delivered",)]
            continue
        with conversation.database.transaction(conversation.admin) as tx:
            assert outbox.list_needing_decision(conversation.admin, tx, 10)
            again = outbox.resolve_reply(conversation.admin, tx, unsent.id, how, conversation.clock())  # type: ignore[arg-type]
        if again:
            later = conversation.clock() + timedelta(days=1)
            with conversation.database.transaction(conversation.admin) as tx:
                assert outbox.list_waiting(conversation.admin, tx, later, 10)
            conversation.send_whatsapp("", f"taken:{unsent.id}:1", kind="status", status="delivered")
            assert send_with(conversation, AcceptingProvider(), again.id).state == "sent"


def store_photo(conversation: ConversationHarness) -> None:
    """Fetched from the provider once the message is stored, and noted with it."""
    photo = httpx2.ByteStream(b"\x89PNG\r\n\x1a\n")
    client = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, stream=photo)))
    media = MediaFetcher(client, FakeMediaBucket(), FakeSecretStore(), "https://graph.facebook.com")
    conversation.send_whatsapp("", "photo", kind="media", media=Media("image", "https://filemanager.gupshup.io/photo"))
    ((message_id,),) = conversation.query("SELECT id FROM messages WHERE provider_message_id = 'gupshup:photo'")
    assert media.fetch_and_store(
        system_principal(conversation.tenant_id),
        conversation.database,
        UUID(str(message_id)),
        lambda: 60.0,
        conversation.clock(),
    )
    conversation.model.script = [text_answer("A crack, as far as I can see.")]
    conversation.run_turn()


def converse_on_web(conversation: ConversationHarness) -> None:
    """A visitor asks, follows the events and reads the transcript; an operator looks at the turn."""
    visitor = conversation.create_visitor()
    session = conversation.find_session(visitor)
    conversation.send_web(visitor, session, "How wide is the crack?")
    conversation.model.script = [text_answer("0.35 mm.")]
    conversation.run_turn()
    with conversation.database.transaction(visitor) as tx:
        assert event_feed.list_events(visitor, tx, session, 0)
        assert event_feed.find_newest_numbers(tx, [session])[session] > 0
        assert turn_views.read_transcript(visitor, tx, session, 10)
    with conversation.database.transaction(conversation.admin) as tx:
        (turn,) = turn_views.list_turns(conversation.admin, tx, 10, session).rows
        assert turn_views.get_turn(conversation.admin, tx, turn.id)


def resume_turn(conversation: ConversationHarness) -> None:
    """A worker is refused while another holds the lease; one loses its database, one breaks, the next goes on."""
    conversation.send_whatsapp("And the wind?", "day-3")
    conversation.query(
        f"UPDATE sessions SET lease_until = '{conversation.clock().isoformat()}'::timestamptz + '1 minute' RETURNING 1"
    )
    conversation.run_turn()
    conversation.clock.now += timedelta(minutes=2)
    conversation.model.script = [
        search_call("wind limit"),
        DatabaseUnavailable(),
        RuntimeError(),
        text_answer("38 km/h [1]."),
    ]
    with pytest.raises(DatabaseUnavailable):
        conversation.run_turn()
    with pytest.raises(RuntimeError):
        conversation.run_turn()
    conversation.run_turn()
    session, now = conversation.list_wakes()[-1].session_id, conversation.clock()

    def hold_for_longer(tx: Transaction) -> None:
        lease = turn_store.acquire_lease(tx, session, uuid7(now), now, now)
        assert lease is not None
        assert turn_store.renew_lease(tx, lease, now)
        turn_store.release_lease(tx, lease)

    conversation.database.run(conversation.tenant_id, hold_for_longer)


def fail_turns(conversation: ConversationHarness) -> None:
    """Three turns break every time they are tried; one is let be, one is redriven, one waits for somebody."""
    visitor = conversation.create_visitor()
    session = conversation.find_session(visitor)
    for text in ("And the formwork?", "And the rebar?", "And the scaffold?"):
        conversation.send_web(visitor, session, text)
        conversation.model.script = [RuntimeError(), RuntimeError(), RuntimeError()]
        for _ in range(3):
            with contextlib.suppress(RuntimeError):
                conversation.run_turn()
    with conversation.database.transaction(conversation.admin) as tx:
        first, second, _ = failed_turns.list_failed_turns(conversation.admin, tx, 10)
        failed_turns.dismiss_turn(conversation.admin, tx, first.id, conversation.clock())
        waking = failed_turns.redrive_turn(conversation.admin, tx, second.id, conversation.clock())
    conversation.turns.send([waking.message])


def account_spend(conversation: ConversationHarness) -> None:
    """The cap is lowered until a call is refused, model calls are stopped and resumed, and the costs are read."""
    admin, now = conversation.admin, conversation.clock()
    cap, soon = Decimal("0.01"), now + timedelta(minutes=1)
    with conversation.database.transaction(admin) as tx:
        spend.set_daily_cap(admin, tx, cap, now)
        assert spend.read_own_cap(tx) == cap
        spend.stop_model_calls(admin, tx, now)
        spend.resume_model_calls(admin, tx, now)
    with pytest.raises(SpendRefused):
        spend.reserve_in_transaction(
            conversation.database,
            admin,
            Reservation(id=uuid7(now), amount=cap * 2, purpose="turn", default_cap=cap, expires_at=soon),
            now=now,
        )
    conversation.query(
        "INSERT INTO llm_calls (tenant_id, id, binding_id, purpose, provider, model, outcome, latency_ms, at) "
        f"SELECT current_tenant(), '{uuid7(now)}', id, 'turn', 'function', 'desk.loop', 'unavailable', 1, '{now}' "
        "FROM bindings LIMIT 1 RETURNING id"
    )
    with conversation.database.transaction(admin) as tx:
        assert spend.read_today(admin, tx, cap, now).warned_percent == 100
        assert agent_loops.list_failing_loops(admin, tx, now, 10)
        inbox_threads.list_unheard_threads(admin, tx, 10)
        assert cost_report.read_cost_report(admin, tx, 2, now).days
