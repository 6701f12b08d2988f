"""The real PostgreSQL that every database test runs on: one cluster, one migrated template, a clone per test."""

import gc
import os
import shutil
import uuid
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from local import temporary_database
from local.database import APP_ROLE, Cluster
from local.temporary_database import APP_PASSWORD
from parlour.infra import log
from parlour.infra.postgres import Database, connector
from tests.conversation_harness import ConversationHarness, TickingClock, open_conversation_harness
from tests.stories import stack, words

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
"""Monday morning, the moment at which tests happen unless they say otherwise."""

_SITE_DESK = "template_site_desk"

TOGETHER = {
    "tests/browser/test_browser.py::test_people": "demo",
    "tests/browser/": "stories",
    "tests/end_to_end/test_chaos.py": "chaos",
    "tests/end_to_end/test_start_and_stop.py": "starts",
    "tests/end_to_end/": "stack",
    "tests/integration/test_isolation.py": "isolation",
    "tests/integration/test_layers.py": "layers",
    "tests/stories/test_demo.py": "demo",
    "tests/stories/test_first_agent.py": "first agent",
    "tests/stories/": "stories",
}
"""Tests that share something dear go to one worker: beginnings of their names, the first that fits."""

_ROOM = 4 * 1024**3
"""Bytes; a worker takes some hundred million."""

#: The same examples in every run: a gate must not fail on a commit for an input that it did not change. `make nightly`
#: looks for new ones; what it finds becomes an `@example`.
settings.register_profile("test", derandomize=True, deadline=None)
settings.register_profile("nightly", max_examples=10_000, deadline=None)
settings.load_profile("test")


class Together(LoadScopeScheduling):  # type: ignore[misc]  # xdist says nothing of types
    """Every test to whichever worker is free, but those of TOGETHER to the same one. The groups that xdist has itself
    are marked in the tests' names, which pytest 9.2 no longer lets it change."""

    def _split_scope(self, nodeid: str) -> str:
        return next((group for name, group in TOGETHER.items() if nodeid.startswith(name)), nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Together:
    return Together(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests without looking for garbage, and leave what they are made of out of every later look: there
    are some million objects, and all of them stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def log_stream() -> None:
    """The product's log is opened before the first test: one that captures what is printed, and logs first, would leave
    its own stream to all others, closed."""
    log._logger()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster of this test process's own."""
    with temporary_database.temporary_cluster(_in_memory()) as running:
        with running.connect_as_superuser() as superuser:  # nothing here has to outlive a power cut
            superuser.execute("ALTER SYSTEM SET fsync = off")
            superuser.execute("ALTER SYSTEM SET max_wal_size = '256MB'")
            superuser.execute("SELECT pg_reload_conf()")
        yield running


def _in_memory() -> Path | None:
    """Where there is memory to spare: a database of some hundred files is made and removed for every test."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > _ROOM else None


@pytest.fixture(scope="session")
def template(cluster: Cluster) -> str:
    """A database with the whole schema and no rows."""
    cluster.create("template_parlour")
    cluster.migrate("template_parlour", NOW, APP_PASSWORD)
    return "template_parlour"


@pytest.fixture(scope="session")
def site_desk(cluster: Cluster, template: str) -> UUID:
    """The tenant of a template in which the example pack is applied: to clone it takes a quarter of applying it."""
    cluster.create(_SITE_DESK, template)
    database = Database(connector(cluster.connection_parameters(_SITE_DESK, APP_ROLE, APP_PASSWORD)))
    try:
        return open_conversation_harness(database, NOW).tenant_id
    finally:
        database.close()


@pytest.fixture
def database_name(cluster: Cluster, template: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of this test's own: with the example's site desk for a test that has a `conversation`, else empty."""
    name, copied = f"test_{uuid.uuid4().hex}", template
    if "conversation" in request.fixturenames:
        request.getfixturevalue("site_desk")
        copied = _SITE_DESK
    cluster.create(name, copied)
    yield name
    cluster.drop(name)


@pytest.fixture
def open_database(cluster: Cluster, database_name: str) -> Iterator[Callable[[], Database]]:
    """Opens further connections to this test's database, as the app role under row-level security."""
    opened: list[Database] = []

    def open_one() -> Database:
        opened.append(Database(connector(cluster.connection_parameters(database_name, APP_ROLE, APP_PASSWORD))))
        return opened[-1]

    yield open_one
    for database in opened:
        database.close()


@pytest.fixture
def database(open_database: Callable[[], Database]) -> Database:
    """This test's database, as the app role."""
    return open_database()


@pytest.fixture(scope="session")
def running_stack() -> Iterator[stack.Stack]:
    """The laptop stack that stories and browser tests share: one, as they go to one worker."""
    folder = words.ROOT / ".parlour" / f"stories-{os.getpid()}"
    try:
        with stack.running(folder) as running:
            yield running
    finally:
        stack.keep_logs(folder, words.ROOT / ".parlour" / "logs" / "stories")


@pytest.fixture(scope="session")
def demo_stack() -> Iterator[stack.Stack]:
    """A stack whose agents play the scenes of the example's pack."""
    folder = words.ROOT / ".parlour" / f"stories-demo-{os.getpid()}"
    try:
        with stack.running(folder, model=words.DEMO) as running:
            yield running
    finally:
        stack.keep_logs(folder, words.ROOT / ".parlour" / "logs" / "stories-demo")


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture
def conversation(database: Database, site_desk: UUID, now: datetime) -> ConversationHarness:
    """The example's site desk on this test's own database."""
    return ConversationHarness(site_desk, database, TickingClock(now))
