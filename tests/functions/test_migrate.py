"""The migrating function, whole: invoked by `make deploy`, and by CloudFormation, which waits for an answer."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import httpx2
import pytest
from moto import mock_aws

from local.database import APP_ROLE, OWNER_ROLE, Cluster, open_connection
from parlour.bootstrap import migrate
from parlour.infra import custom_resource, migrator
from parlour.infra.errors import MigrationBlocked
from parlour.infra.migrator import Migration, list_migrations
from parlour.infra.settings import MigrateSettings
from tests.functions.deployed_function import LAMBDA_CONTEXT, Handler, load_handler, set_environment

EVENTS = Path(__file__).parents[2] / "events"
NEWER = Migration(9001, "9001_newer", "CREATE TABLE newer (id int)")


class CloudFormation(ThreadingHTTPServer):
    """The bucket that answers are put to; refuses the first `failures`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Bucket)
        self.failures = 0
        self.answers: list[dict[str, Any]] = []
        self.content_types: set[str | None] = set()

    def request(self, kind: str) -> dict[str, Any]:
        event: dict[str, Any] = json.loads((EVENTS / f"migrate_cloudformation_{kind}.json").read_text("utf-8"))
        return {**event, "ResponseURL": f"http://127.0.0.1:{self.server_address[1]}/answer?X-Amz-Signature=0"}


class _Bucket(BaseHTTPRequestHandler):
    server: CloudFormation

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        is_refused = self.server.failures > 0
        if is_refused:
            self.server.failures -= 1
        else:
            self.server.answers.append(json.loads(body))
            self.server.content_types.add(self.headers["content-type"])
        self.send_response(503 if is_refused else 200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def cloudformation() -> Iterator[CloudFormation]:
    with CloudFormation() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def empty(cluster: Cluster) -> Iterator[str]:
    cluster.create("test_schema")
    yield "test_schema"
    cluster.drop("test_schema")


@pytest.fixture
def handler(cluster: Cluster, empty: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Handler]:
    monkeypatch.setattr(custom_resource, "_PAUSE_SECONDS", 0.01)
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        for name, role in {"database": APP_ROLE, "owner": OWNER_ROLE}.items():
            host = cluster.connection_parameters(empty, role)["host"]
            secret = {"username": role, "password": "of-the-app-role", "host": host, "dbname": empty}
            boto3.client("secretsmanager").create_secret(Name=name, SecretString=json.dumps(secret))
        set_environment(MigrateSettings, monkeypatch, database_secret="database", owner_secret="owner")
        migrate.build_schema_owner.cache_clear()
        yield load_handler("migrate")
        migrate.build_schema_owner.cache_clear()


def tables(cluster: Cluster, database: str) -> set[str]:
    with open_connection(cluster.connection_parameters(database, OWNER_ROLE)) as owner:
        return {name for (name,) in owner.execute("SELECT relname FROM pg_class WHERE relkind = 'r'")}


def test_a_created_stack_has_its_schema_before_the_answer(
    handler: Handler, cloudformation: CloudFormation, cluster: Cluster, empty: str
) -> None:
    assert handler(cloudformation.request("create"), LAMBDA_CONTEXT) == {}
    assert cloudformation.answers == [
        {
            "Status": "SUCCESS",
            "PhysicalResourceId": "Schema",
            "StackId": "arn:aws:cloudformation:eu-central-1:123456789012:stack/parlour-staging/"
            "7d0c8f10-cb53-11f0-9e0f-0a1b2c3d4e5f",
            "RequestId": "afd8d7c5-9376-4013-8b3b-307517b8719e",
            "LogicalResourceId": "Schema",
            "Data": {"DatabaseName": "parlour"},
        }
    ]
    assert cloudformation.content_types == {None}  # the address is signed for none
    assert "messages" in tables(cluster, empty)
    assert handler({}, LAMBDA_CONTEXT)["applied"] == []


def test_a_repeated_event_and_an_update_without_news_answer_the_same(
    handler: Handler, cloudformation: CloudFormation
) -> None:
    for kind in ("create", "create", "update"):
        handler(cloudformation.request(kind), LAMBDA_CONTEXT)
    assert [(answer["Status"], answer["PhysicalResourceId"]) for answer in cloudformation.answers] == [
        ("SUCCESS", "Schema")
    ] * 3


def test_deleting_touches_no_database(
    handler: Handler, cloudformation: CloudFormation, cluster: Cluster, empty: str
) -> None:
    handler(cloudformation.request("create"), LAMBDA_CONTEXT)
    cluster.drop(empty)
    handler(cloudformation.request("delete"), LAMBDA_CONTEXT)
    assert [answer["Status"] for answer in cloudformation.answers] == ["SUCCESS", "SUCCESS"]


@pytest.mark.parametrize(("needed", "status"), [("", "SUCCESS"), ("-- needs code of 9001\n", "FAILED")])
def test_a_rollback_to_older_code_succeeds_if_it_runs_on_the_newer_schema(
    handler: Handler,
    cloudformation: CloudFormation,
    monkeypatch: pytest.MonkeyPatch,
    needed: str,
    status: str,
) -> None:
    released = list_migrations()
    monkeypatch.setattr(migrate, "list_migrations", lambda: [*released, replace(NEWER, sql=needed + NEWER.sql)])
    handler(cloudformation.request("update"), LAMBDA_CONTEXT)
    monkeypatch.setattr(migrate, "list_migrations", lambda: released)
    handler(cloudformation.request("update"), LAMBDA_CONTEXT)
    assert [answer["Status"] for answer in cloudformation.answers] == ["SUCCESS", status]
    if status == "FAILED":
        assert "migration 9001 was applied here; deploy a release that has it" in cloudformation.answers[1]["Reason"]


def test_a_failed_migration_gives_its_reason_without_rows_and_leaves_the_schema_as_it_was(
    handler: Handler, cloudformation: CloudFormation, cluster: Cluster, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = replace(NEWER, sql="CREATE TABLE newer (id int); SELECT 'asha@example.org'::int")
    released = list_migrations()
    monkeypatch.setattr(migrate, "list_migrations", lambda: [*released, broken])
    handler(cloudformation.request("update"), LAMBDA_CONTEXT)
    (answer,) = cloudformation.answers
    assert (answer["Status"], answer["PhysicalResourceId"]) == ("FAILED", "Schema")
    assert "newer" not in tables(cluster, empty)
    assert len(json.dumps(answer)) < 4096


def test_a_migration_that_is_too_slow_is_answered_before_the_function_ends(
    handler: Handler, cloudformation: CloudFormation, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Short:
        def get_remaining_time_in_millis(self) -> int:
            return 31_000

    released = list_migrations()
    handler(cloudformation.request("create"), LAMBDA_CONTEXT)
    monkeypatch.setattr(migrate, "list_migrations", lambda: [*released, replace(NEWER, sql="SELECT pg_sleep(20)")])
    handler(cloudformation.request("update"), Short())
    assert cloudformation.answers[1]["Status"] == "FAILED"
    assert cloudformation.answers[1]["Reason"].startswith("QueryCanceled: ")


def test_a_missing_setting_is_answered_too(
    handler: Handler, cloudformation: CloudFormation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OWNER_SECRET")
    handler(cloudformation.request("create"), LAMBDA_CONTEXT)
    assert "set these environment variables (see the template): OWNER_SECRET" in cloudformation.answers[0]["Reason"]


def test_an_answer_is_repeated_until_it_is_taken_and_lambda_repeats_the_event_otherwise(
    handler: Handler, cloudformation: CloudFormation
) -> None:
    cloudformation.failures = 2
    handler(cloudformation.request("delete"), LAMBDA_CONTEXT)
    assert [answer["Status"] for answer in cloudformation.answers] == ["SUCCESS"]
    cloudformation.failures = 100
    with pytest.raises(httpx2.HTTPError):
        handler(cloudformation.request("delete"), LAMBDA_CONTEXT)


def test_a_table_that_somebody_holds_is_waited_for_in_short_attempts(
    cluster: Cluster, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other statements wait behind a migration for one attempt at most."""
    monkeypatch.setattr(migrator, "_TABLE_LOCK_MS", 100)
    monkeypatch.setattr(migrator, "_PAUSE_BETWEEN_ATTEMPTS_SECONDS", 0.1)
    first, second = (
        Migration(1, "0001_first", "CREATE TABLE first (id int)"),
        Migration(2, "0002_second", "ALTER TABLE first ADD COLUMN name text"),
    )
    parameters = cluster.connection_parameters(empty, OWNER_ROLE)
    now = datetime.now(UTC)
    with open_connection(parameters) as owner, open_connection(parameters) as reader:
        migrator.apply_migrations(owner, now, [first])
        reader.execute("SELECT * FROM first")
        threading.Timer(0.5, reader.rollback).start()
        assert migrator.apply_migrations(owner, now, [first, second]) == ["0002_second"]
        reader.execute("SELECT * FROM first")
        monkeypatch.setattr(migrator, "_LOCK_ATTEMPTS", 2)
        third = Migration(3, "0003_third", "ALTER TABLE first DROP COLUMN name")
        with pytest.raises(MigrationBlocked, match="0003_third waits for a table"):
            migrator.apply_migrations(owner, now, [first, second, third])
