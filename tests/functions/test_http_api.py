"""The API's function, whole: API Gateway events through the real handler, with secrets and queues from moto."""

import asyncio
import importlib.util
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from local.database import APP_ROLE, Cluster
from parlour.bootstrap.http_api import build_http_api
from parlour.infra.settings import HttpApiSettings
from tests.functions.deployed_function import set_environment
from tests.integration.api.conftest import OPERATOR, TOKEN_SECRET, sample_pack_files

ROOT = Path(__file__).parents[2]
HANDLER = ROOT / "functions" / "http_api" / "handler.py"

type Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch, cluster: Cluster, database_name: str) -> Iterator[None]:
    """Secrets, queues and variables as the template gives them."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    where = cluster.connection_parameters(database_name, APP_ROLE, "app")
    database = {
        "username": where["user"],
        "password": where["password"],
        "host": where["host"],
        "dbname": database_name,
    }
    with mock_aws():
        secrets = boto3.client("secretsmanager")
        texts = {"database": json.dumps(database), "token": TOKEN_SECRET, "operator": OPERATOR}
        for name, text in texts.items():
            secrets.create_secret(Name=name, SecretString=text)
            monkeypatch.setenv(f"{name.upper()}_SECRET", name)
        monkeypatch.setenv("ALLOW_OPERATOR_KEY", "true")
        set_environment(HttpApiSettings, monkeypatch, files_bucket="files", media_bucket="media")
        build_http_api.cache_clear()
        yield
        build_http_api().state.services.databases.close()
        build_http_api.cache_clear()


@pytest.fixture
def ask(deployed: None) -> Iterator[Ask]:
    """Ask the function as API Gateway does; the answer's JSON body is under `json`."""
    spec = importlib.util.spec_from_file_location("http_api_handler", HANDLER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def call(method: str, path: str, body: object = None, **headers: str) -> dict[str, Any]:
        event = json.loads((ROOT / "events" / "http_api_open_session.json").read_text("utf-8"))
        given = {"Host": "api.example", "Content-Type": "application/json", **headers}
        event |= {"httpMethod": method, "path": path, "body": None if body is None else json.dumps(body)}
        event |= {"headers": given, "multiValueHeaders": {name: [value] for name, value in given.items()}}
        answer: dict[str, Any] = module.handler(event, None)
        is_json = answer["headers"].get("content-type") == "application/json"
        return {**answer, "json": json.loads(answer["body"]) if is_json else None}

    yield call
    asyncio.get_event_loop().close()
    asyncio.set_event_loop(None)


def test_a_visitor_writes_and_reads_through_the_function(ask: Ask) -> None:
    files = {
        name: text
        for name, text in sample_pack_files("acme", "acme.example").items()
        if not name.startswith("documents/")
    }
    operator = {"Authorization": f"Bearer {OPERATOR}", "Parlour-Tenant": "acme"}
    assert ask("PUT", "/v1/pack", {"files": files}, **operator)["json"]["changed"] is True

    opened = ask("POST", "/v1/sessions", {"host": "acme.example"})["json"]
    here, visitor = f"/v1/sessions/{opened['session_id']}", {"Authorization": f"Bearer {opened['token']}"}
    assert ask("POST", f"{here}/messages", {"text": "Hello"}, **visitor)["statusCode"] == 202
    assert [one["text"] for one in ask("GET", f"{here}/messages", **visitor)["json"]["messages"]] == ["Hello"]
    assert ask("GET", f"{here}/events", **visitor)["json"] == {"events": []}


def test_a_text_goes_along_with_a_message_through_the_bucket(ask: Ask) -> None:
    boto3.client("s3").create_bucket(Bucket="media", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    files = {
        name: text
        for name, text in sample_pack_files("acme", "acme.example").items()
        if not name.startswith("documents/")
    }
    ask("PUT", "/v1/pack", {"files": files}, Authorization=f"Bearer {OPERATOR}", **{"Parlour-Tenant": "acme"})
    opened = ask("POST", "/v1/sessions", {"host": "acme.example"})["json"]
    here, visitor = f"/v1/sessions/{opened['session_id']}", {"Authorization": f"Bearer {opened['token']}"}
    started = ask("POST", f"{here}/attachments", {"name": "log.md", "size_bytes": 19}, **visitor)["json"]
    said = {"text": "Sum it up.", "attachments": [{"upload": started["id"]}]}
    assert ask("POST", f"{here}/messages", said, **visitor)["statusCode"] == 409
    key = started["upload"]["fields"]["key"]
    boto3.client("s3").put_object(Bucket="media", Key=key, Body=b"The hoist was idle.")
    assert ask("POST", f"{here}/messages", said, **visitor)["statusCode"] == 202
    (told,) = ask("GET", f"{here}/messages", **visitor)["json"]["messages"]
    assert [(one["kind"], one["name"]) for one in told["attachments"]] == [("text", "log.md")]


def test_the_console_leaves_as_text_and_is_told_to_poll(ask: Ask) -> None:
    linked = re.findall(r'"\./(assets/[^"]+\.(?:js|css))"', ask("GET", "/console/")["body"])
    assert linked
    for path in ("/console/", *(f"/console/{path}" for path in linked)):
        answer = ask("GET", path)
        assert (answer["statusCode"], answer["isBase64Encoded"]) == (200, False)
        assert "content-security-policy" in answer["headers"]
    assert ask("GET", "/console/settings.json")["json"]["stream"] is False
    assert ask("GET", "/")["headers"]["location"] == "console/"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/health", 200), ("GET", "/v1/turns", 401), ("GET", "/v1/nothing", 404), ("DELETE", "/v1/health", 405)],
)
def test_refusals_are_answers_not_failures(ask: Ask, method: str, path: str, status: int) -> None:
    assert ask(method, path)["statusCode"] == status


def test_a_body_that_is_too_large_is_refused(ask: Ask) -> None:
    answer = ask("POST", "/v1/sessions", {"host": "x" * 300_000})
    assert (answer["statusCode"], answer["json"]["error"]["code"]) == (413, "payload_too_large")
