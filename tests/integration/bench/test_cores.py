"""A benchmark's worker and backends are held to their cores, and let go."""

import os
from pathlib import Path

import psutil
import pytest

from bench import cores
from parlour.infra.postgres import Database

_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


@pytest.mark.skipif(_CORES < 2, reason="one core, or a machine that cannot be told")
def test_the_worker_is_on_its_connections_core_and_the_other_connection_apart(database: Database) -> None:
    before = os.sched_getaffinity(0)
    first, second = cores._backend(database), cores._backend(database.beside)
    with cores.held(database):
        (core,) = os.sched_getaffinity(0)
        assert os.sched_getaffinity(first) == {core}
        assert len(os.sched_getaffinity(second) - {core}) == 1
    assert [os.sched_getaffinity(one) for one in (0, first, second)] == [before] * 3


@pytest.mark.skipif(_CORES < 2, reason="one core, or a machine that cannot be told")
def test_the_other_connections_core_is_kept_awake_by_what_is_in_nobodys_way(database: Database) -> None:
    known = set(psutil.Process().children())
    with cores.held(database) as placed:
        assert placed == "processes held to their cores"
        (core,) = os.sched_getaffinity(cores._backend(database.beside))
        (awake,) = set(psutil.Process().children()) - known
        assert (os.sched_getscheduler(awake.pid), os.sched_getaffinity(awake.pid)) == (os.SCHED_IDLE, {core})
        assert os.getsid(awake.pid) == awake.pid
        group = Path(f"/proc/{awake.pid}/autogroup")
        assert not group.exists() or group.read_text().split()[1:] == ["nice", "19"]
    assert not awake.is_running()


@pytest.mark.skipif(_CORES < 2, reason="one core, or a machine that cannot be told")
def test_a_core_that_cannot_be_kept_awake_is_said_to_be(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    before, known = os.sched_getaffinity(0), set(psutil.Process().children())
    monkeypatch.setattr(cores, "_IDLING", "raise SystemExit")
    with cores.held(database) as placed:
        assert placed == "processes held to their cores, which may fall asleep"
    assert (os.sched_getaffinity(0), set(psutil.Process().children())) == (before, known)


def test_on_one_core_everything_is_left_where_it_is(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: pytest.fail("held"), raising=False)
    with cores.held(database) as placed:
        assert placed == cores.AS_PLACED
