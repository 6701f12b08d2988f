"""An envelope becomes one stored message and a woken session, however often it is delivered."""

import threading
from collections.abc import Callable
from datetime import datetime

import pytest

from parlour.infra.errors import NotFound, QueueUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.tenancy import tenants
from tests.conversation_harness import PHONE, ConversationHarness


def test_a_first_message_makes_user_identity_session_and_message(desk: ConversationHarness) -> None:
    assert desk.send_whatsapp("Is it safe?") == "stored"
    assert desk.query("SELECT phone, display_name FROM users") == [(PHONE, "Priya")]
    assert desk.query("SELECT channel, address FROM channel_identities") == [("whatsapp", PHONE)]
    assert desk.query("SELECT channel, is_main FROM sessions") == [("whatsapp", True)]
    assert desk.query("SELECT body, state FROM messages") == [("Is it safe?", "unanswered")]
    assert len(desk.list_wakes()) == 1


def test_the_same_delivery_again_changes_nothing_but_wakes_again(desk: ConversationHarness) -> None:
    desk.send_whatsapp("Is it safe?")
    assert desk.send_whatsapp("Is it safe?") == "duplicate"
    assert desk.query("SELECT count(*) FROM messages") == [(1,)]
    assert len(desk.turns.sent) == 2
    assert len({wake.session_id for wake in desk.list_wakes()}) == 1


def test_a_delivery_whose_wake_failed_wakes_when_it_comes_again(desk: ConversationHarness) -> None:
    desk.turns.error = QueueUnavailable()
    with pytest.raises(QueueUnavailable):
        desk.send_whatsapp("Is it safe?")
    desk.turns.error = None
    assert desk.send_whatsapp("Is it safe?") == "duplicate"
    assert len(desk.list_wakes()) == 1


def test_an_answered_message_delivered_again_wakes_nobody(desk: ConversationHarness) -> None:
    desk.send_whatsapp("Is it safe?")
    desk.query("UPDATE messages SET state = 'answered' RETURNING 1")
    desk.turns.sent.clear()
    assert desk.send_whatsapp("Is it safe?") == "duplicate"
    assert desk.list_wakes() == []


def test_messages_of_one_person_share_their_main_session(desk: ConversationHarness) -> None:
    desk.send_whatsapp("One", "m1")
    desk.send_whatsapp("Two", "m2")
    assert desk.query("SELECT count(DISTINCT session_id), count(*) FROM messages") == [(1, 2)]


def test_the_same_delivery_from_many_workers_is_one_message(
    desk: ConversationHarness, open_database: Callable[[], Database]
) -> None:
    outcomes: list[str] = []
    errors: list[BaseException] = []

    def deliver(database: Database) -> None:
        try:
            mine = ConversationHarness(desk.tenant_id, database, desk.clock)
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
    assert desk.query("SELECT count(*) FROM users") == [(1,)]
    assert desk.query("SELECT count(*) FROM sessions") == [(1,)]
    assert desk.query("SELECT count(*) FROM messages") == [(3,)]


@pytest.mark.parametrize("to", ["gupshup:Nobody", "gupshup:", "web:elsewhere.example"])
def test_an_unknown_number_is_acknowledged_and_counted(
    desk: ConversationHarness, to: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert desk.send_whatsapp("Hello?", to=to) == "routing_key_unknown"
    assert desk.query("SELECT count(*) FROM messages") == [(0,)]
    assert '"UnknownNumber":[1.0]' in capsys.readouterr().out


def test_a_binding_that_is_switched_off_is_an_unknown_number(desk: ConversationHarness) -> None:
    desk.query("UPDATE bindings SET is_active = false RETURNING 1")
    assert desk.send_whatsapp("Hello?") == "routing_key_unknown"


def test_an_event_of_another_kind_is_kept_and_needs_no_answer(desk: ConversationHarness) -> None:
    assert desk.send_whatsapp("", kind="other") == "stored"
    assert desk.query("SELECT state FROM messages") == [("ignored",)]
    assert desk.list_wakes() == []


def test_a_status_of_a_message_nobody_sent_is_acknowledged(desk: ConversationHarness) -> None:
    assert desk.send_whatsapp("", kind="status", status="delivered") == "status"
    assert desk.query("SELECT count(*) FROM messages") == [(0,)]


def test_a_paused_tenants_messages_are_kept(desk: ConversationHarness, now: datetime) -> None:
    with desk.database.transaction(desk.admin) as tx:
        tenants.set_tenant_status(desk.admin, tx, "paused", now, uuid7)
    assert desk.send_whatsapp("Anyone there?") == "stored"


def test_a_visitor_writes_into_their_own_session_only(desk: ConversationHarness) -> None:
    visitor, stranger = desk.create_visitor(), desk.create_visitor()
    session = desk.find_session(visitor)
    first = desk.send_web(visitor, session, "Is it safe?", "c1")
    assert desk.send_web(visitor, session, "Is it safe?", "c1") == first
    assert desk.send_web(visitor, session, "And the crane?") != first
    with pytest.raises(NotFound):
        desk.send_web(stranger, session, "Let me in")
    assert desk.query("SELECT body FROM messages ORDER BY position") == [("Is it safe?",), ("And the crane?",)]


def test_a_client_id_belongs_to_its_session(desk: ConversationHarness) -> None:
    one, two = desk.create_visitor(), desk.create_visitor()
    desk.send_web(one, desk.find_session(one), "Mine", "c1")
    desk.send_web(two, desk.find_session(two), "Also mine", "c1")
    assert desk.query("SELECT count(*) FROM messages") == [(2,)]
