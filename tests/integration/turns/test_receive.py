"""An envelope becomes one stored message and a woken session, however often it is delivered."""

import threading
from collections.abc import Callable
from datetime import datetime

import pytest

from parlour.infra.errors import NotFound, QueueUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.tenancy import tenants
from tests.desk import PHONE, Desk


def test_a_first_message_makes_user_identity_session_and_message(desk: Desk) -> None:
    assert desk.write("Is it safe?") == "stored"
    assert desk.rows("SELECT phone, display_name FROM users") == [(PHONE, "Priya")]
    assert desk.rows("SELECT channel, address FROM channel_identities") == [("whatsapp", PHONE)]
    assert desk.rows("SELECT channel, is_main FROM sessions") == [("whatsapp", True)]
    assert desk.rows("SELECT body, state FROM messages") == [("Is it safe?", "unanswered")]
    assert len(desk.wakes()) == 1


def test_the_same_delivery_again_changes_nothing_but_wakes_again(desk: Desk) -> None:
    desk.write("Is it safe?")
    assert desk.write("Is it safe?") == "duplicate"
    assert desk.rows("SELECT count(*) FROM messages") == [(1,)]
    assert len(desk.turns.sent) == 2
    assert len({wake.session_id for wake in desk.wakes()}) == 1


def test_a_delivery_whose_wake_failed_wakes_when_it_comes_again(desk: Desk) -> None:
    desk.turns.broken = QueueUnavailable()
    with pytest.raises(QueueUnavailable):
        desk.write("Is it safe?")
    desk.turns.broken = None
    assert desk.write("Is it safe?") == "duplicate"
    assert len(desk.wakes()) == 1


def test_an_answered_message_delivered_again_wakes_nobody(desk: Desk) -> None:
    desk.write("Is it safe?")
    desk.rows("UPDATE messages SET state = 'answered' RETURNING 1")
    desk.turns.sent.clear()
    assert desk.write("Is it safe?") == "duplicate"
    assert desk.wakes() == []


def test_messages_of_one_person_share_their_main_session(desk: Desk) -> None:
    desk.write("One", "m1")
    desk.write("Two", "m2")
    assert desk.rows("SELECT count(DISTINCT session_id), count(*) FROM messages") == [(1, 2)]


def test_the_same_delivery_from_many_workers_is_one_message(desk: Desk, open_database: Callable[[], Database]) -> None:
    outcomes: list[str] = []
    errors: list[BaseException] = []

    def deliver(database: Database) -> None:
        try:
            mine = Desk(desk.tenant_id, database, desk.clock)
            outcomes.extend(mine.write("Is it safe?", f"m{n % 3}") for n in range(10))
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    workers = [threading.Thread(target=deliver, args=(open_database(),)) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert errors == []
    assert sorted(outcomes).count("stored") == 3
    assert desk.rows("SELECT count(*) FROM users") == [(1,)]
    assert desk.rows("SELECT count(*) FROM sessions") == [(1,)]
    assert desk.rows("SELECT count(*) FROM messages") == [(3,)]


@pytest.mark.parametrize("to", ["gupshup:Nobody", "gupshup:", "web:elsewhere.example"])
def test_an_unknown_number_is_acknowledged_and_counted(desk: Desk, to: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert desk.write("Hello?", to=to) == "unknown_number"
    assert desk.rows("SELECT count(*) FROM messages") == [(0,)]
    assert '"UnknownNumber":[1.0]' in capsys.readouterr().out


def test_a_binding_that_is_switched_off_is_an_unknown_number(desk: Desk) -> None:
    desk.rows("UPDATE bindings SET is_active = false RETURNING 1")
    assert desk.write("Hello?") == "unknown_number"


def test_an_event_of_another_kind_is_kept_and_needs_no_answer(desk: Desk) -> None:
    assert desk.write("", kind="other") == "stored"
    assert desk.rows("SELECT state FROM messages") == [("ignored",)]
    assert desk.wakes() == []


def test_a_status_of_a_message_nobody_sent_is_acknowledged(desk: Desk) -> None:
    assert desk.write("", kind="status", status="delivered") == "status"
    assert desk.rows("SELECT count(*) FROM messages") == [(0,)]


def test_a_paused_tenants_messages_are_kept(desk: Desk, now: datetime) -> None:
    with desk.database.transaction(desk.admin) as tx:
        tenants.set_status(desk.admin, tx, "paused", now, uuid7)
    assert desk.write("Anyone there?") == "stored"


def test_a_visitor_writes_into_their_own_session_only(desk: Desk) -> None:
    visitor, stranger = desk.visit(), desk.visit()
    session = desk.session_of(visitor)
    first = desk.write_web(visitor, session, "Is it safe?", "c1")
    assert desk.write_web(visitor, session, "Is it safe?", "c1") == first
    assert desk.write_web(visitor, session, "And the crane?") != first
    with pytest.raises(NotFound):
        desk.write_web(stranger, session, "Let me in")
    assert desk.rows("SELECT body FROM messages ORDER BY position") == [("Is it safe?",), ("And the crane?",)]


def test_a_client_id_belongs_to_its_session(desk: Desk) -> None:
    one, two = desk.visit(), desk.visit()
    desk.write_web(one, desk.session_of(one), "Mine", "c1")
    desk.write_web(two, desk.session_of(two), "Also mine", "c1")
    assert desk.rows("SELECT count(*) FROM messages") == [(2,)]
