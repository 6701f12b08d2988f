"""The database in trouble under the real functions: nothing that was accepted is lost, nothing is answered twice."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from moto import mock_aws
from psycopg import sql

from local.database import APP_ROLE, Cluster
from tests.conversation_harness import ConversationHarness
from tests.integration.outages.in_process_deployment import InProcessDeployment, deploy_in_process, phone_numbers

PEOPLE = 60
WORKERS = 4
EVERY_SECONDS = 0.3


@pytest.fixture
def deployment(
    conversation: ConversationHarness, cluster: Cluster, database_name: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InProcessDeployment]:
    """The example's site desk behind its functions."""
    conversation.database.close()
    with mock_aws():
        deployed = deploy_in_process(cluster, database_name, monkeypatch)
        yield deployed
        deployed.close()


def replies(conversation: ConversationHarness) -> list[int]:
    """How many replies each session has."""
    found = conversation.query(
        "SELECT count(m.id) FROM sessions s LEFT JOIN messages m ON m.session_id = s.id AND m.direction = 'outbound'"
        " GROUP BY s.id"
    )
    return [int(str(count)) for (count,) in found]


def end_connections(superuser: psycopg.Connection[object], database_name: str) -> int:
    """How many there were."""
    return superuser.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s AND datname = %s",
        (APP_ROLE, database_name),
    ).rowcount


@contextmanager
def connections_killed(cluster: Cluster, database_name: str) -> Iterator[list[int]]:
    """Every connection of the app role is ended, over and over; yields how many were, each time."""
    over, killed = threading.Event(), [0]

    def kill() -> None:
        with cluster.connect_as_superuser() as superuser:
            while not over.wait(EVERY_SECONDS):
                killed.append(end_connections(superuser, database_name))

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield killed
    finally:
        over.set()
        killer.join()


def test_while_the_database_is_down_every_webhook_is_taken_and_all_are_answered_after(
    deployment: InProcessDeployment, conversation: ConversationHarness, cluster: Cluster, database_name: str
) -> None:
    """Until each has been tried twice; half an hour of it is what the back-off is for."""
    deployment.back_off = 1
    allow = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
    with cluster.connect_as_superuser() as superuser:
        superuser.execute(allow.format(sql.Identifier(database_name), sql.SQL("false")))
        end_connections(superuser, database_name)
        assert {deployment.post_webhook(number) for number in phone_numbers(10)} == {200}
        deployment.run_workers(WORKERS, lambda: deployment.invocations >= 20, 30)
        assert deployment.invocations >= 20
        assert (deployment.redeliveries, deployment.count_dead_letters()) == (deployment.invocations, 0)
        superuser.execute(allow.format(sql.Identifier(database_name), sql.SQL("true")))
    deployment.run_workers(WORKERS, deployment.is_quiet, 120)
    assert (replies(conversation), deployment.count_dead_letters()) == ([1] * 10, 0)
    assert conversation.query("SELECT DISTINCT state, attempt_count FROM turns") == [("answered", 1)]


@pytest.mark.parametrize("missing", ["work_due", "sessions.lease_holder"])
def test_until_a_release_is_migrated_everything_waits_and_no_turn_loses_an_attempt(
    deployment: InProcessDeployment,
    conversation: ConversationHarness,
    cluster: Cluster,
    database_name: str,
    missing: str,
) -> None:
    """The code is published first and the schema a minute later; what the code needs is not there until then."""
    deployment.back_off = 1
    table, _, column = missing.partition(".")
    what = f"COLUMN {column} " if column else ""
    with cluster.connect_as_superuser(database_name) as superuser:
        superuser.execute(f"ALTER TABLE {table} RENAME {what}TO of_the_next_release".encode())
        assert {deployment.post_webhook(number) for number in phone_numbers(3)} == {200}
        soon = time.monotonic() + 4
        deployment.run_workers(1, lambda: time.monotonic() > soon, 30)
        assert deployment.redeliveries > 0
        there = "of_the_next_release" if not column else table
        back = f"ALTER TABLE {there} RENAME {'COLUMN of_the_next_release ' if column else ''}TO {column or table}"
        superuser.execute(back.encode())
    deployment.run_workers(1, deployment.is_quiet, 60)
    assert (replies(conversation), deployment.count_dead_letters()) == ([1] * 3, 0)
    assert conversation.query("SELECT DISTINCT state, attempt_count FROM turns") == [("answered", 1)]


def test_connections_that_are_killed_every_300_ms_cost_nothing(
    deployment: InProcessDeployment,
    conversation: ConversationHarness,
    cluster: Cluster,
    database_name: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    begun = time.monotonic()
    with connections_killed(cluster, database_name) as killed:
        assert {deployment.post_webhook(number) for number in phone_numbers(PEOPLE)} == {200}
        deployment.run_workers(WORKERS, deployment.is_quiet, 240)
    say(capsys, sum(killed), deployment, conversation, time.monotonic() - begun)
    assert sum(killed) > 20
    assert replies(conversation) == [1] * PEOPLE
    assert deployment.count_dead_letters() == 0
    assert conversation.query("SELECT DISTINCT state FROM turns") == [("answered",)]
    assert conversation.query("SELECT max(attempt_count) <= 3 FROM turns") == [(True,)]


def say(
    capsys: pytest.CaptureFixture[str],
    killed: int,
    deployment: InProcessDeployment,
    conversation: ConversationHarness,
    seconds: float,
) -> None:
    """The figures, on the screen."""
    answered = replies(conversation).count(1)
    with capsys.disabled():
        print(
            f"\n{killed} connections killed in rounds of {EVERY_SECONDS * 1000:.0f} ms: "
            f"{answered} of {PEOPLE} answered once, {deployment.count_dead_letters()} dead letters, "
            f"{deployment.redeliveries} of {deployment.invocations} deliveries repeated, {seconds:.1f} s"
        )
