"""An envelope becomes one stored message and a woken session, however often it is delivered."""

import threading
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

import pytest

from parlour.infra.errors import Conflict, NotFound, QueueUnavailable
from parlour.infra.postgres import Database
from parlour.tenancy import routing_keys, store, tenants
from parlour.tenancy.routing_keys import NO_POLICY
from tests.conversation_harness import PHONE, ConversationHarness


def test_a_first_message_makes_user_identity_session_and_message(conversation: ConversationHarness) -> None:
    assert conversation.send_whatsapp("Is it safe?") == "stored"
    assert conversation.query("SELECT phone, display_name FROM users") == [(PHONE, "Priya")]
    assert conversation.query("SELECT channel, address FROM channel_identities") == [("whatsapp", PHONE)]
    assert conversation.query("SELECT channel, is_main FROM sessions") == [("whatsapp", True)]
    assert conversation.query("SELECT body, state FROM messages") == [("Is it safe?", "unanswered")]
    assert len(conversation.list_wakes()) == 1


def test_the_same_delivery_again_changes_nothing_but_wakes_again(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Is it safe?")
    assert conversation.send_whatsapp("Is it safe?") == "duplicate"
    assert conversation.query("SELECT count(*) FROM messages") == [(1,)]
    assert len(conversation.turns.sent) == 2
    assert len({wake.session_id for wake in conversation.list_wakes()}) == 1


def test_a_delivery_whose_wake_failed_wakes_when_it_comes_again(conversation: ConversationHarness) -> None:
    conversation.turns.error = QueueUnavailable()
    with pytest.raises(QueueUnavailable):
        conversation.send_whatsapp("Is it safe?")
    conversation.turns.error = None
    assert conversation.send_whatsapp("Is it safe?") == "duplicate"
    assert len(conversation.list_wakes()) == 1


def test_an_answered_message_delivered_again_wakes_nobody(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Is it safe?")
    conversation.query("UPDATE messages SET state = 'answered' RETURNING 1")
    conversation.turns.sent.clear()
    assert conversation.send_whatsapp("Is it safe?") == "duplicate"
    assert conversation.list_wakes() == []


def test_messages_of_one_person_share_their_main_session(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("One", "m1")
    conversation.send_whatsapp("Two", "m2")
    assert conversation.query("SELECT count(DISTINCT session_id), count(*) FROM messages") == [(1, 2)]


def test_the_same_delivery_from_many_workers_is_one_message(
    conversation: ConversationHarness, open_database: Callable[[], Database]
) -> None:
    outcomes: list[str] = []
    errors: list[BaseException] = []

    def deliver(database: Database) -> None:
        try:
            mine = ConversationHarness(conversation.tenant_id, database, conversation.clock)
            outcomes.extend(mine.send_whatsapp("Is it safe?", f"m{n % 3}") for n in range(10))
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    workers = [threading.Thread(target=deliver, args=(open_database(),)) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert errors == []
    assert sorted(outcomes).count("stored") == 3
    assert conversation.query("SELECT count(*) FROM users") == [(1,)]
    assert conversation.query("SELECT count(*) FROM sessions") == [(1,)]
    assert conversation.query("SELECT count(*) FROM messages") == [(3,)]


@pytest.mark.parametrize("to", ["gupshup:Nobody", "gupshup:", "web:elsewhere.example"])
def test_an_unknown_number_is_acknowledged_and_counted(
    conversation: ConversationHarness, to: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert conversation.send_whatsapp("Hello?", to=to) == "routing_key_unknown"
    assert conversation.query("SELECT count(*) FROM messages") == [(0,)]
    assert '"UnknownNumber":[1.0]' in capsys.readouterr().out


def test_a_message_to_a_number_that_waits_is_kept_until_it_is_accepted(
    conversation: ConversationHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    run, now, operator, to = conversation.database.run, conversation.clock(), conversation.admin, "gupshup:AcmeApp"
    ((binding,),) = conversation.query("SELECT id FROM bindings WHERE slug = 'site-desk'")
    run(operator, lambda tx: store.save_routing_claim(tx, to, UUID(str(binding)), now))
    with pytest.raises(Conflict, match="routes accept"):  # the queue keeps it among its dead letters
        conversation.send_whatsapp("Hello?", to=to)
    assert conversation.send_whatsapp("", to=to, kind="status") == "routing_key_unknown"
    assert '"UnknownNumber":[1.0]' in capsys.readouterr().out
    run(operator, lambda tx: routing_keys.accept_claim(operator, tx, to, NO_POLICY, now))
    assert conversation.send_whatsapp("Hello?", to=to) == "stored"


def test_a_binding_that_is_switched_off_is_an_unknown_number(conversation: ConversationHarness) -> None:
    conversation.query("UPDATE bindings SET is_active = false RETURNING 1")
    assert conversation.send_whatsapp("Hello?") == "routing_key_unknown"


def test_an_event_of_another_kind_is_kept_and_needs_no_answer(conversation: ConversationHarness) -> None:
    assert conversation.send_whatsapp("", kind="other") == "stored"
    assert conversation.query("SELECT state FROM messages") == [("ignored",)]
    assert conversation.list_wakes() == []


def test_a_status_of_a_message_nobody_sent_is_acknowledged(conversation: ConversationHarness) -> None:
    assert conversation.send_whatsapp("", kind="status", status="delivered") == "status"
    assert conversation.query("SELECT count(*) FROM messages") == [(0,)]


def test_a_paused_tenants_messages_are_kept(conversation: ConversationHarness, now: datetime) -> None:
    with conversation.database.transaction(conversation.admin) as tx:
        tenants.set_tenant_status(conversation.admin, tx, "paused", now)
    assert conversation.send_whatsapp("Anyone there?") == "stored"


def test_a_visitor_writes_into_their_own_session_only(conversation: ConversationHarness) -> None:
    visitor, stranger = conversation.create_visitor(), conversation.create_visitor()
    session = conversation.find_session(visitor)
    first = conversation.send_web(visitor, session, "Is it safe?", "c1")
    assert conversation.send_web(visitor, session, "Is it safe?", "c1") == first
    assert conversation.send_web(visitor, session, "And the crane?") != first
    with pytest.raises(NotFound):
        conversation.send_web(stranger, session, "Let me in")
    assert conversation.query("SELECT body FROM messages ORDER BY position") == [("Is it safe?",), ("And the crane?",)]


def test_a_client_id_belongs_to_its_session(conversation: ConversationHarness) -> None:
    one, two = conversation.create_visitor(), conversation.create_visitor()
    conversation.send_web(one, conversation.find_session(one), "Mine", "c1")
    conversation.send_web(two, conversation.find_session(two), "Also mine", "c1")
    assert conversation.query("SELECT count(*) FROM messages") == [(2,)]
