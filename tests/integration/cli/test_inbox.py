"""`parlour inbox`, against the real API."""

import json

import pytest

from parlour.conversations import inbox_messages
from parlour.infra.postgres import Transaction
from parlour.principal import system_principal
from tests.integration.api.conftest import EventFeed
from tests.integration.cli.test_commands import RunCommand, configured, parlour, programs

__all__ = ["configured", "parlour", "programs"]


def _open(tx: Transaction, feed: EventFeed) -> None:
    principal = system_principal(feed.tenant_id)
    inbox_messages.open_thread(principal, tx, feed.session_id, "member", "They called.", feed.now)


type Output = pytest.CaptureFixture[str]


def test_a_conversation_is_taken_answered_and_handed_back(parlour: RunCommand, feed: EventFeed, capsys: Output) -> None:
    assert parlour("inbox") == 0
    assert capsys.readouterr().out == "Nobody waits\n"
    session = str(feed.session_id)
    feed.database.run(feed.tenant_id, lambda tx: _open(tx, feed))
    assert parlour("inbox") == 0
    assert session in capsys.readouterr().out

    for move in (["take"], ["say"], ["note"], ["snooze"], ["take"], ["hand-back"]):
        text = {"say": ["We come at nine."], "note": ["Called twice."], "snooze": ["2d"]}.get(move[0], [])
        assert parlour("inbox", *move, session[-8:], *text) == 0
    capsys.readouterr()
    assert parlour("inbox", "show", session[-8:]) == 0
    shown = capsys.readouterr().out
    assert "We come at nine." in shown
    assert "Called twice." in shown
    assert parlour("inbox", "list", "agent", "--json") == 0
    [listed] = json.loads(capsys.readouterr().out)["conversations"]
    assert (listed["session_id"], listed["state"]) == (session, "agent")


def test_a_wrong_duration_and_a_late_move_are_explained(parlour: RunCommand, feed: EventFeed, capsys: Output) -> None:
    feed.database.run(feed.tenant_id, lambda tx: _open(tx, feed))
    session = str(feed.session_id)
    assert parlour("inbox", "snooze", session, "tomorrow") == 2
    assert "30m, 4h or 2d" in capsys.readouterr().err
    assert parlour("inbox", "done", session) == 0
    assert parlour("inbox", "take", session) == 1
    assert "closed" in capsys.readouterr().err
