"""What an operator reads: secrets, doctor, ids in part, suggestions, narrow terminals."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock
from uuid import UUID

import boto3
import pytest
from fastapi.testclient import TestClient
from moto import mock_aws

from parlour.cli import app, doctor
from parlour.cli.api_client import CliDependencies
from tests.integration.api.attention_items import AttentionItems
from tests.integration.api.conftest import (
    DONE_EVENT,
    EventFeed,
    FakeQueues,
    RecordingQueue,
    create_key_headers,
    operator_headers,
    sample_pack_files,
)
from tests.integration.cli.test_commands import RunCommand, configured, parlour, programs

__all__ = ["configured", "parlour", "programs"]

type Output = pytest.CaptureFixture[str]

REFERENCE = "parlour/tenants/acme/gupshup"


@pytest.fixture
def secret(client: TestClient, acme: str) -> str:
    """The name of a secret that acme's desk needs for WhatsApp."""
    files = sample_pack_files(acme, "acme.example")
    files["tenant.yaml"] += f"secrets: {{gupshup: {REFERENCE}}}\n"
    desk = files["bindings/desk.yaml"].removesuffix("}\n")
    number = "provider: gupshup, app: Acme, source: '447700900123', api_key: gupshup"
    files["bindings/desk.yaml"] = f"{desk}, whatsapp: {{{number}}}}}\n"
    assert client.put("/v1/pack", json={"files": files}, headers=operator_headers(acme)).status_code == 200
    return "gupshup"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        yield


@pytest.fixture
def trouble(feed: EventFeed) -> AttentionItems:
    return AttentionItems(feed.database, feed.tenant_id, feed.session_id, feed.now)


@pytest.mark.usefixtures("aws")
def test_a_secret_is_stored_from_standard_input_and_never_printed(
    parlour: RunCommand, secret: str, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("sk-very-secret\n"))
    assert parlour("secrets", "set", secret) == 0
    printed = capsys.readouterr()
    stored_name = REFERENCE.replace("parlour/", "parlour/test/", 1)
    assert stored_name in printed.out
    assert "sk-very-secret" not in printed.out + printed.err
    stored = boto3.client("secretsmanager").get_secret_value(SecretId=stored_name)
    assert stored["SecretString"] == "sk-very-secret"


@pytest.mark.usefixtures("aws")
def test_a_secret_without_name_or_value_is_refused(
    parlour: RunCommand, secret: str, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert parlour("secrets", "set", secret) == 2
    assert "is empty; nothing was stored" in capsys.readouterr().err
    assert parlour("secrets", "set", "gupshpu") == 2
    assert "did you mean gupshup?" in capsys.readouterr().err


def test_secrets_are_checked(parlour: RunCommand, secret: str, queues: FakeQueues, capsys: Output) -> None:
    assert parlour("secrets", "check") == 1
    printed = capsys.readouterr().out
    assert "Secret gupshup is missing; binding desk cannot work without it. Run: parlour secrets set gupshup" in printed
    queues.secret_statuses[REFERENCE] = "stored"
    assert parlour("secrets", "check") == 0
    capsys.readouterr()
    assert parlour("secrets", "list", "--json") == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["name"], listed["status"]) == (secret, "stored")


def test_apply_says_which_secrets_are_missing(
    parlour: RunCommand, secret: str, tmp_path: Path, queues: FakeQueues, capsys: Output
) -> None:
    assert parlour("export", str(tmp_path / "pack")) == 0
    capsys.readouterr()
    assert parlour("apply", str(tmp_path / "pack")) == 0
    assert f"Run: parlour secrets set {secret}" in capsys.readouterr().out
    queues.secret_statuses[REFERENCE] = "stored"
    assert parlour("apply", str(tmp_path / "pack")) == 0
    assert "secrets set" not in capsys.readouterr().out


def test_doctor_without_a_message_finds_what_is_broken(
    parlour: RunCommand, secret: str, queues: FakeQueues, capsys: Output
) -> None:
    queues.dead_letters["outbox"].amount = 3
    assert parlour("doctor", "--no-message", "--json") == 1
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)["checks"]}
    assert found["secrets"]["status"] == "failed"
    assert found["secrets"]["what_to_do"] == "Run `parlour secrets set gupshup`."
    assert found["queue outbox"]["status"] == "warning"
    assert found["database schema"]["status"] == "ok"
    assert found["stack"]["found"] == "not checked: no stack was named"
    assert found["webhook"]["status"] == "failed", "the API of the tests has no webhook"
    assert "round trip" not in found


def test_doctor_sends_a_message_and_names_the_model(
    parlour: RunCommand,
    acme: str,
    feed: EventFeed,
    queue: RecordingQueue,
    capsys: Output,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "_find_webhook", lambda _target: "it answers")

    def answer(_seconds: float) -> None:
        feed.session_id = UUID(str(queue.messages[-1].body["session_id"]))
        feed.add_turn(DONE_EVENT)

    parlour("doctor", sleep=answer)
    printed = capsys.readouterr().out
    assert "desk replied after" in printed
    assert "model" in printed


def test_doctor_of_nothing_says_so_and_fails(
    parlour: RunCommand, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parlour.cli.api_client.ApiClient.send_request", Mock(side_effect=OSError(111, "refused")))
    assert parlour("turns") == 1
    assert capsys.readouterr().err == "parlour: refused\n"


def test_doctor_with_a_tenants_key_checks_what_it_may(
    parlour: RunCommand, client: TestClient, acme: str, capsys: Output
) -> None:
    viewer = create_key_headers(client, acme, "viewer")["Authorization"].removeprefix("Bearer ")
    parlour("--key", viewer, "doctor", "--no-message", "--json")
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)["checks"]}
    assert found["deployment"]["what_to_do"] == "Use the operator's key."


def test_ids_are_taken_in_part(parlour: RunCommand, feed: EventFeed, capsys: Output) -> None:
    turn = str(feed.add_turn(DONE_EVENT))
    assert parlour("turn", turn[-8:]) == 0
    assert "time by stage" in capsys.readouterr().out
    assert parlour("turns", "--session", str(feed.session_id)[-8:], "--json") == 0
    assert [one["id"] for one in json.loads(capsys.readouterr().out)] == [turn]
    assert parlour("keys", "create", "ci") == 0
    capsys.readouterr()
    assert parlour("keys", "list", "--json") == 0
    (key,) = json.loads(capsys.readouterr().out)
    assert parlour("keys", "revoke", key["id"][-8:]) == 0
    assert parlour("users", "list", "--json") == 0
    (user,) = json.loads(capsys.readouterr().out.partition("\n")[2])
    assert parlour("users", "sign-out", user["id"][-8:]) == 0
    assert parlour("turn", "00000000") == 1
    assert "give the full id" in capsys.readouterr().err


def test_a_tool_call_is_cancelled_by_a_part_of_its_id(
    parlour: RunCommand, trouble: AttentionItems, capsys: Output
) -> None:
    call = trouble.add_tool_call("reserved", heavy=True)
    assert parlour("cancel", str(call)[-8:]) == 0
    assert capsys.readouterr().out == "Cancelled.\n"


def test_a_name_that_is_wrong_is_answered_with_the_right_one(
    parlour: RunCommand, client: TestClient, acme: str, capsys: Output
) -> None:
    assert parlour("chat", "desc", "-m", "Hello") == 1
    assert capsys.readouterr().err == "parlour: unknown agent desc; did you mean desk?\n"
    assert parlour("chat", "kitchen", "-m", "Hello") == 1
    assert capsys.readouterr().err == "parlour: unknown agent kitchen; available: desk\n"
    body = {"type": "task", "name": "Check the anchors", "key": "T-112", "properties": {}}
    assert client.post("/v1/entities", json=body, headers=operator_headers(acme)).status_code == 201
    assert parlour("show", "task/T-122") == 1
    assert capsys.readouterr().err == "parlour: unknown record task/T-122; did you mean task/T-112?\n"
    assert parlour("reembed", "acme", "--model", "flatt") == 1
    assert "did you mean flat?" in capsys.readouterr().err
    assert parlour("recrods") == 2
    assert capsys.readouterr().err == "parlour: No such command 'recrods'. Did you mean 'records'?\n"


def test_a_negative_number_and_an_unwritable_folder_are_one_line(
    parlour: RunCommand, acme: str, tmp_path: Path, capsys: Output
) -> None:
    assert parlour("cost", "cap", "-5") == 2
    assert capsys.readouterr().err == "parlour: -5 is a negative number; give a positive one\n"
    assert parlour("export", "/proc/parlour") == 2
    printed = capsys.readouterr().err
    assert printed.startswith("parlour: cannot write /proc/parlour: ")
    assert printed.count("\n") == 1
    (tmp_path / "file").write_text("")
    assert parlour("export", str(tmp_path / "file" / "pack")) == 2
    assert "Not a directory" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["http://localhost:99999", "http://[::1", "nowhere", "http://127.0.0.1:9"])
def test_an_address_that_does_not_answer_is_one_line(url: str, tmp_path: Path, capsys: Output) -> None:
    dependencies = CliDependencies(app._open_http_client, app._run_program, lambda _: None, tmp_path)
    assert app.run(["--url", url, "turns"], dependencies) in {1, 2}
    printed = capsys.readouterr().err
    assert printed.startswith("parlour: ")
    assert printed.count("\n") == 1


def test_a_narrow_terminal_shows_every_label_and_no_narrow_column(
    parlour: RunCommand, client: TestClient, trouble: AttentionItems, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    trouble.set_secret_name("gupshup_api_key")
    reply = trouble.add_waiting_reply("missing_secret: secret x is missing")
    assert parlour("attention") == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert any(line.split() == ["text", "The", "crane", "is", "booked."] for line in lines)
    assert "Waiting for the secret gupshup_api_key." in " ".join(" ".join(lines).split())
    assert str(reply) not in " ".join(lines), "nothing is to be decided about it"
    risk = {
        "type": "task",
        "name": "Anchors",
        "key": "T-1",
        "properties": {"description": "long words " * 15},
    }
    assert client.post("/v1/entities", json=risk, headers=operator_headers("acme")).status_code == 201
    assert parlour("show", "task/T-1") == 0
    printed = capsys.readouterr().out
    assert any(line.startswith("description ") for line in printed.splitlines())
    assert all(len(line) <= 80 for line in printed.splitlines())


def test_a_dry_run_counts_what_people_know(parlour: RunCommand, feed: EventFeed, capsys: Output) -> None:
    feed.add_turn(DONE_EVENT)
    assert parlour("users", "list", "--json") == 0
    (user,) = json.loads(capsys.readouterr().out)
    assert parlour("erase", "user", user["id"][-8:], "--dry-run") == 0
    printed = capsys.readouterr().out
    assert "would be deleted: 1 user, 1 conversation" in printed
    assert "sessions" not in printed
    assert parlour("erase", "user", user["id"], "--dry-run", "--verbose") == 0
    assert "sessions" in capsys.readouterr().out


def test_help_has_groups_and_examples(parlour: RunCommand, capsys: Output) -> None:
    assert parlour() == 0
    printed = capsys.readouterr().out
    for group in (
        "Talk and inspect turns",
        "Records, documents and files",
        "Configure",
        "Operate",
        "People and access",
    ):
        assert group in printed
    assert " Commands " not in printed, "every command has a group"
    assert parlour("show", "--help") == 0
    assert "Example: parlour show risk/R-03" in capsys.readouterr().out
