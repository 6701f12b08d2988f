"""`parlour erase`, against the real API."""

import io
import json
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid4

import httpx2
import pytest
from fastapi.testclient import TestClient

from tests.integration.api.conftest import EventFeed, ManualClock
from tests.integration.api.test_erasures import user_of, users
from tests.integration.cli.test_commands import RunCommand, configured, parlour, programs

__all__ = ["configured", "parlour", "programs"]

type Output = pytest.CaptureFixture[str]


@pytest.fixture
def user(feed: EventFeed) -> UUID:
    return UUID(user_of(feed))


def test_a_dry_run_says_what_would_go_and_what_is_out_of_reach(
    parlour: RunCommand, user: UUID, feed: EventFeed, capsys: Output
) -> None:
    assert parlour("erase", "user", str(user), "--dry-run", "--verbose") == 0
    told = capsys.readouterr().out
    assert "would be deleted" in told
    assert "sessions" in told
    assert "out of reach" in told
    assert "backups" in told
    assert users(feed) == 1


def test_who_is_sure_forgets_and_gets_the_report(
    parlour: RunCommand, user: UUID, feed: EventFeed, capsys: Output
) -> None:
    assert parlour("erase", "user", str(user), "--yes") == 0
    told = capsys.readouterr().out
    assert "deleted" in told
    assert "would be deleted" not in told
    assert users(feed) == 0
    assert parlour("erase", "user", str(user), "--json", "--yes") == 0
    assert json.loads(capsys.readouterr().out)["target_id"] == str(user)


@pytest.mark.parametrize("how", [(), ("--json",)])
def test_who_is_not_sure_is_asked_and_nothing_goes(
    parlour: RunCommand,
    user: UUID,
    feed: EventFeed,
    capsys: Output,
    monkeypatch: pytest.MonkeyPatch,
    how: tuple[str, ...],
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert parlour("erase", "user", str(user), *how) == 1
    assert f"Erase user {user} permanently?" in capsys.readouterr().err
    assert users(feed) == 1


def test_what_cannot_be_forgotten_is_refused(parlour: RunCommand, user: UUID, capsys: Output) -> None:
    assert parlour("erase", "tenant", str(user), "--yes") == 2
    assert "use one of user, message, file, fact" in capsys.readouterr().err
    assert parlour("erase", "fact", str(uuid4()), "--yes") == 1


def gone(status: int = 0, told: object = None) -> object:
    """What comes of a request when nobody is there, or somebody who does not answer it."""
    if not status:
        raise httpx2.ConnectError("gone")
    return httpx2.Response(status, json=told, request=httpx2.Request("POST", "http://testserver/"))


type Away = Callable[[], object]
AWAY: dict[str, Away] = {
    "nobody": gone,
    "no time": partial(gone, 504, {"message": "Endpoint request timed out"}),
    "no bucket": partial(gone, 503, {"error": {"code": "objects_unavailable", "message": "the bucket is away"}}),
    "a turn": partial(gone, 409, {"error": {"code": "conflict", "message": "it is being answered"}}),
}


class Waiting:
    """What happens while the command waits: after `heard` waits it is `away`, until `back` waits."""

    def __init__(self, client: TestClient, heard: int, back: int, away: Away = gone) -> None:
        self.client, self.heard, self.back, self.waits, self.away = client, heard, back, 0, away
        self.request: Callable[..., object] = client.request

    def __call__(self, seconds: float) -> None:
        assert seconds > 0
        self.waits += 1
        is_away = self.heard <= self.waits < self.back
        vars(self.client)["request"] = self.nobody if is_away else self.request

    def nobody(self, *_: object, **__: object) -> object:
        return self.away()


@pytest.mark.parametrize("away", AWAY.values(), ids=AWAY)
def test_what_takes_longer_than_one_answer_is_asked_for_until_it_is_done(
    parlour: RunCommand, user: UUID, feed: EventFeed, client: TestClient, clock: ManualClock, capsys: Output, away: Away
) -> None:
    clock.tick, waiting = timedelta(seconds=2), Waiting(client, 1, 3, away)
    assert parlour("erase", "user", str(user), "--yes", "--json", sleep=waiting) == 0
    told = capsys.readouterr()
    assert waiting.waits >= 3
    assert "not done yet: messages are deleted, dead letters of" in told.err
    assert "retrying: " in told.err
    assert json.loads(told.out)["finished"]
    assert users(feed) == 0


def test_who_is_answered_no_more_is_told_that_the_same_command_goes_on(
    parlour: RunCommand, user: UUID, feed: EventFeed, client: TestClient, clock: ManualClock, capsys: Output
) -> None:
    clock.tick, waiting = timedelta(seconds=2), Waiting(client, 1, 99)
    assert parlour("erase", "user", str(user), "--yes", sleep=waiting) == 1
    assert "run the same command again to continue" in capsys.readouterr().err
    assert waiting.waits == 7
    del vars(client)["request"]
    clock.tick = timedelta()
    assert parlour("erase", "user", str(user), "--yes") == 0
    assert users(feed) == 0


@pytest.mark.parametrize("away", AWAY.values(), ids=AWAY)
def test_where_nothing_was_begun_nothing_is_said_to_be_kept(
    parlour: RunCommand, user: UUID, feed: EventFeed, client: TestClient, capsys: Output, away: Away
) -> None:
    waiting = Waiting(client, 0, 99, away)
    vars(client)["request"] = waiting.nobody
    assert parlour("erase", "user", str(user), "--yes", sleep=waiting) in {1, 2}
    assert not waiting.waits
    assert "the progress is saved" not in capsys.readouterr().err
    assert users(feed) == 1
