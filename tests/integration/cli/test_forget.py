"""`parlour forget`, against the real API."""

import io
import json
from uuid import UUID, uuid4

import pytest

from tests.integration.api.conftest import Feed
from tests.integration.api.test_forgetting import user_of, users
from tests.integration.cli.test_commands import Parlour, configured, parlour, programs

__all__ = ["configured", "parlour", "programs"]

type Output = pytest.CaptureFixture[str]


@pytest.fixture
def user(feed: Feed) -> UUID:
    return UUID(user_of(feed))


def test_a_dry_run_says_what_would_go_and_what_is_out_of_reach(
    parlour: Parlour, user: UUID, feed: Feed, capsys: Output
) -> None:
    assert parlour("forget", "user", str(user), "--dry-run") == 0
    told = capsys.readouterr().out
    assert "would go" in told
    assert "sessions" in told
    assert "out of reach" in told
    assert "backups" in told
    assert users(feed) == 1


def test_who_is_sure_forgets_and_gets_the_report(parlour: Parlour, user: UUID, feed: Feed, capsys: Output) -> None:
    assert parlour("forget", "user", str(user), "--yes") == 0
    assert "gone" in capsys.readouterr().out
    assert users(feed) == 0
    assert parlour("forget", "user", str(user), "--json", "--yes") == 0
    assert json.loads(capsys.readouterr().out)["target_id"] == str(user)


@pytest.mark.parametrize("how", [(), ("--json",)])
def test_who_is_not_sure_is_asked_and_nothing_goes(
    parlour: Parlour, user: UUID, feed: Feed, capsys: Output, monkeypatch: pytest.MonkeyPatch, how: tuple[str, ...]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert parlour("forget", "user", str(user), *how) == 1
    assert f"Forget user {user} for good?" in capsys.readouterr().err
    assert users(feed) == 1


def test_what_cannot_be_forgotten_is_refused(parlour: Parlour, user: UUID, capsys: Output) -> None:
    assert parlour("forget", "tenant", str(user), "--yes") == 2
    assert "name one of user, message, file, fact" in capsys.readouterr().err
    assert parlour("forget", "fact", str(uuid4()), "--yes") == 1
