"""`parlour attention`, `parlour redrive` and `parlour cancel`, against the real API."""

import json
from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

from tests.integration.api.attention_items import AttentionItems
from tests.integration.api.conftest import EventFeed, FakeQueues, RecordingQueue, create_key_headers
from tests.integration.cli.test_commands import RunCommand, configured, parlour, programs

__all__ = ["configured", "parlour", "programs"]

type Output = pytest.CaptureFixture[str]


@pytest.fixture
def trouble(feed: EventFeed) -> AttentionItems:
    """Troubles of a visitor of acme's."""
    return AttentionItems(feed.database, feed.tenant_id, feed.session_id, feed.now)


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """What the person at the terminal types when asked."""
    return lambda line: monkeypatch.setattr("typer.confirm", lambda _question: line == "y")


def test_when_all_is_well_that_is_said(parlour: RunCommand, acme: str, capsys: Output) -> None:
    assert parlour("attention") == 0
    assert capsys.readouterr().out == "Nothing needs attention\n"


def test_decisions_are_listed_in_their_conversation(
    parlour: RunCommand, trouble: AttentionItems, capsys: Output
) -> None:
    items = [trouble.add_tool_call(), trouble.add_reply(), trouble.add_failed_turn()]
    assert parlour("attention") == 0
    assert "3 decisions in 1 conversation: `parlour inbox`" in capsys.readouterr().out
    assert parlour("inbox") == 0
    assert str(trouble.session_id) in capsys.readouterr().out
    assert parlour("inbox", "show", str(trouble.session_id)[-8:]) == 0
    told = capsys.readouterr().out
    for text in (
        *map(str, items),
        "book_crane",
        '"crane":"TC-2"',
        "…0001",
        "The crane is booked.",
        "When is the pour?",
    ):
        assert text in told
    assert parlour("attention", "--json") == 0
    assert json.loads(capsys.readouterr().out)["counts"]["total"] == 3


def test_what_ends_a_stop_of_model_calls_is_said(parlour: RunCommand, trouble: AttentionItems, capsys: Output) -> None:
    trouble.query("UPDATE tenants SET spend_stopped_at = now() RETURNING tenant_id")
    assert parlour("attention") == 0
    assert "Run `parlour cost resume`." in capsys.readouterr().out


def test_each_kind_is_settled_by_an_end_of_its_id(
    parlour: RunCommand, trouble: AttentionItems, queues: FakeQueues, capsys: Output
) -> None:
    done, again, there, gone, dull, turn = (
        trouble.add_tool_call(),
        trouble.add_tool_call(),
        trouble.add_reply(),
        trouble.add_reply(),
        trouble.add_reply("held"),
        trouble.add_failed_turn(),
    )
    assert parlour("attention", "done", str(done)) == 0
    assert parlour("attention", "run-again", str(again)[-8:]) == 0
    assert parlour("attention", "arrived", str(there)[-12:].upper()) == 0
    assert parlour("attention", "send-again", str(gone)[-8:]) == 0
    assert parlour("attention", "dismiss", str(dull)[-8:]) == 0
    assert parlour("attention", "dismiss", str(turn)) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Marked as done. The conversation continues.",
        "The tool call is running again.",
        "Marked as sent.",
        "The reply is being sent again.",
        "Dismissed. The reply will not be sent.",
        "Dismissed. The message stays unanswered.",
    ]
    assert (len(queues.tools.messages), len(queues.outbox.messages)) == (1, 1)
    assert parlour("attention", "done", str(done)) == 1, "it is not listed any more"
    assert "no open item has that id" in capsys.readouterr().err


def test_an_id_that_could_be_two_or_none_is_refused(
    parlour: RunCommand, trouble: AttentionItems, capsys: Output
) -> None:
    began = trouble.at
    one = trouble.add_tool_call()
    trouble.at = began  # ids begin with the time
    other = trouble.add_tool_call()
    assert str(one)[:8] == str(other)[:8]
    assert parlour("attention", "done", str(one)[:8]) == 2
    assert "2 ids match" in capsys.readouterr().err
    assert parlour("attention", "done", str(one)[-7:]) == 2
    assert "at least 8 characters" in capsys.readouterr().err
    assert parlour("attention", "arrived", str(one)) == 1, "a tool call does not arrive"
    assert parlour("attention", "done") == 2


def test_without_an_option_redrive_shows_what_it_could_do(
    parlour: RunCommand, client: TestClient, trouble: AttentionItems, queues: FakeQueues, capsys: Output
) -> None:
    queues.dead_letters["outbox"].amount = 12
    turn = trouble.add_failed_turn()
    assert parlour("redrive") == 0
    told = capsys.readouterr().out
    assert str(turn) in told
    assert "outbox" in told
    assert "12" in told
    viewer = create_key_headers(client, "acme", "viewer")["Authorization"].removeprefix("Bearer ")
    assert parlour("--key", viewer, "redrive") == 0
    shown = capsys.readouterr()
    assert str(turn) in shown.out
    assert "need the operator's key" in shown.err


def test_one_turn_is_redriven(
    parlour: RunCommand, trouble: AttentionItems, queue: RecordingQueue, capsys: Output
) -> None:
    turn = trouble.add_failed_turn()
    assert parlour("redrive", "--turn", str(turn)[-8:]) == 0
    assert capsys.readouterr().out == "The message is being answered.\n"
    assert len(queue.messages) == 1
    assert parlour("redrive", "--turn", str(turn)[-8:]) == 1


def test_a_failed_reply_is_listed_and_sent_after_all(
    parlour: RunCommand, trouble: AttentionItems, queues: FakeQueues, capsys: Output
) -> None:
    failed, unknown = trouble.add_reply("failed"), trouble.add_reply()
    assert parlour("redrive") == 0
    told = capsys.readouterr().out
    assert str(failed) in told
    assert str(unknown) not in told
    assert parlour("redrive", "--reply", str(failed)[-8:]) == 0
    assert capsys.readouterr().out == "The reply is being sent again.\n"
    assert len(queues.outbox.messages) == 1
    assert parlour("redrive", "--reply", str(failed)[-8:]) == 1
    assert parlour("redrive", "--reply", str(unknown)) == 1, "that one may have arrived"
    assert parlour("redrive", "--reply", str(failed), "--all") == 2


def test_all_turns_are_redriven_once_somebody_agreed(
    parlour: RunCommand, trouble: AttentionItems, queue: RecordingQueue, says: Callable[[str], None], capsys: Output
) -> None:
    for _ in range(3):
        trouble.add_failed_turn()
    says("n")
    assert parlour("redrive", "--all") == 1
    assert queue.messages == []
    says("y")
    assert parlour("redrive", "--all") == 1
    told = capsys.readouterr()
    assert "1 of 3 failed turns will be answered" in told.out
    assert told.err.count("another turn open") == 2  # they are of one session, which answers one at a time


def test_all_turns_are_redriven_when_there_is_one(parlour: RunCommand, trouble: AttentionItems, capsys: Output) -> None:
    trouble.add_failed_turn()
    assert parlour("redrive", "--all") == 0
    assert "1 of 1 failed turn will be answered" in capsys.readouterr().out
    assert parlour("redrive", "--all") == 0
    assert "No failed turns" in capsys.readouterr().out


def test_dead_letters_are_moved_once_somebody_agreed(
    parlour: RunCommand, acme: str, queues: FakeQueues, says: Callable[[str], None], capsys: Output
) -> None:
    queues.dead_letters["turns-web"].amount = 120
    says("n")
    assert parlour("redrive", "--queue", "turns-web") == 1
    assert parlour("redrive", "--queue", "turns-web", "--yes") == 0
    assert "turns-web: 100 moved, 20 left" in capsys.readouterr().out
    assert parlour("redrive", "--queue", "tools") == 0
    assert "no dead letters" in capsys.readouterr().out


def test_a_redrive_that_is_not_understood_is_status_2(parlour: RunCommand, acme: str, capsys: Output) -> None:
    assert parlour("redrive", "--queue", "wakeups") == 2
    assert "unknown queue; available: intake, turns-messaging" in capsys.readouterr().err
    assert parlour("redrive", "--all", "--queue", "tools") == 2
    assert parlour("redrive", "--queue", "tools", "--limit", "0") == 2


def test_a_heavy_call_is_cancelled(parlour: RunCommand, trouble: AttentionItems, capsys: Output) -> None:
    call = trouble.add_tool_call("reserved", heavy=True)
    assert parlour("cancel", str(call)) == 0
    assert capsys.readouterr().out == "Cancelled.\n"
    assert parlour("cancel", str(call)) == 1
    assert parlour("cancel", "nonsense") == 2
