"""Moving a tenant to another embedding model, over the API and by `parlour reembed`, with the embedder at work."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from fastapi.testclient import TestClient

from parlour.infra.postgres import Database
from parlour.search.index import embedding_job
from parlour.search.index.embedding_spaces import EmbeddingSpaces, PricedEmbedder
from tests.integration.api.conftest import ConstantEmbedder, FakeQueues, ManualClock, operator_headers
from tests.integration.cli.test_commands import RunCommand, configured, parlour, programs

__all__ = ["configured", "parlour", "programs"]

type Work = Callable[[float], None]


@pytest.fixture
def work(open_database: Callable[[], Database], clock: ManualClock, queues: FakeQueues) -> Work:
    """Do what the embedder's queue asks for."""
    database = open_database()
    services = embedding_job.EmbeddingDependencies(
        database,
        EmbeddingSpaces([PricedEmbedder(ConstantEmbedder()), PricedEmbedder(ConstantEmbedder("other", 2))]),
        queues.embedding,
        lambda *_: True,
        Decimal(20),
        clock,
    )

    def one(_seconds: float) -> None:
        body, _ = queues.embedding.sent.pop(0)
        embedding_job.embed_tenant(services, embedding_job.parse_message(body), lambda: 300.0)

    return one


def test_a_tenant_moves_and_the_command_tells_when_it_is_there(
    parlour: RunCommand, client: TestClient, acme: str, work: Work, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parlour("reembed", acme, "--model", "other", sleep=work) == 0
    told = capsys.readouterr()
    assert told.out.startswith(f"{acme}: search now uses other@2, ")
    assert "other@2" in told.err
    shown = client.get("/v1/reembedding", headers=operator_headers(acme)).json()
    assert (shown["space"], shown["done"], shown["cleared_at"]) == ("other@2", shown["total"], None)
    assert shown["finished_at"] is not None
    audit = client.get("/v1/audit", headers=operator_headers(acme)).json()["entries"]
    assert [one["details"] for one in audit if one["action"] == "tenant.reembedding"] == [{"space": "other@2"}]


def test_without_waiting_it_is_begun_once_however_often_it_is_asked_for(
    parlour: RunCommand, client: TestClient, acme: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert parlour("reembed", acme, "--model", "other@2", "--no-wait") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == lines[1]
    assert lines[0].startswith(f"{acme}: re-embedding to other@2, 0 of ")
    audit = client.get("/v1/audit", headers=operator_headers(acme)).json()["entries"]
    assert [one["action"] for one in audit].count("tenant.reembedding") == 1
    assert parlour("reembed", acme, "--model", "flat") == 1
    assert "re-embedding to other@2 is running" in capsys.readouterr().err


def test_a_model_that_is_not_named_and_a_tenant_that_never_moved_are_told(
    parlour: RunCommand, client: TestClient, acme: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parlour("reembed", acme, "--model", "huge") == 1
    assert "flat@2, other@2" in capsys.readouterr().err
    assert client.get("/v1/reembedding", headers=operator_headers(acme)).status_code == 404
    assert client.post("/v1/reembedding", headers=operator_headers(acme), json={"model": ""}).status_code == 422
    assert client.post("/v1/reembedding", json={"model": "other"}).status_code == 401
