"""`parlour upload` and `parlour files` against the real API, a bucket that reads forms, and the worker itself."""

import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import httpx2
import pytest
from fastapi.testclient import TestClient

from parlour.cli.api_client import CliDependencies
from parlour.cli.app import run
from parlour.files.ingestion import ingest, parse_message
from parlour.infra.postgres import Database
from parlour.principal import RESTRICTED, Principal
from tests import sample_files
from tests.conversation_harness import TickingClock
from tests.integration.api.conftest import OPERATOR, FakeQueues, operator_headers
from tests.integration.files.upload_harness import UploadHarness

type Parlour = Callable[..., int]

_KEY = re.compile(rb'name="key"\r\n\r\n(.*?)\r\n--', re.DOTALL)
_FILE = re.compile(rb'name="file"; filename="[^"]*"\r\n(?:[^\r]+\r\n)*\r\n(.*)\r\n--', re.DOTALL)


@pytest.fixture
def parlour(
    client: TestClient,
    acme: str,
    queues: FakeQueues,
    open_database: Callable[[], Database],
    tmp_path: Path,
    now: datetime,
    monkeypatch: pytest.MonkeyPatch,
) -> Parlour:
    """Runs the command as the operator in acme; while it waits, the files are read and embedded."""
    for name, value in {"URL": "http://testserver", "TENANT": acme, "KEY": OPERATOR}.items():
        monkeypatch.setenv(f"PARLOUR_{name}", value)
    monkeypatch.setenv("COLUMNS", "200")

    def take(request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return httpx2.Response(200, content=queues.bucket.objects[request.url.path.removeprefix("/")])
        found, data = _KEY.search(request.content), _FILE.search(request.content)
        assert found is not None
        assert data is not None
        queues.bucket.objects[found[1].decode()] = data[1]
        return httpx2.Response(204)

    def work(_seconds: float) -> None:
        while queues.ingest.messages:
            asked = parse_message(queues.ingest.messages.pop().body)
            principal = Principal(asked.tenant_id, "system", clearance=RESTRICTED)
            desk = UploadHarness(open_database(), principal, TickingClock(now), bucket=queues.bucket)
            ingest(desk.services(), asked, lambda: 300.0)
            desk.mark_all_embedded()

    def open_client(url: str) -> httpx2.Client:
        return httpx2.Client(transport=httpx2.MockTransport(take)) if "files.example.org" in url else client

    return lambda *arguments: run(arguments, CliDependencies(open_client, lambda _: 0, work, tmp_path))


def test_files_are_sent_read_listed_replaced_and_deleted(
    parlour: Parlour, tmp_path: Path, capsys: pytest.CaptureFixture[str], queues: FakeQueues
) -> None:
    contract, sop = tmp_path / "main works.pdf", tmp_path / "sop.md"
    contract.write_bytes(sample_files.make_contract_pdf())
    sop.write_text("# Lifting\n\nStop at 38 km/h.")
    assert parlour("upload", str(contract), str(sop), "--team", "site", "--classification", "1") == 0
    out = capsys.readouterr().out
    assert "main works.pdf: ready (3 pages," in out
    assert "sop.md: ready" in out
    assert parlour("files") == 0
    assert "team site" in capsys.readouterr().out
    sop.write_text("# Lifting\n\nStop at 30 km/h.")
    assert parlour("upload", str(sop), "--team", "site") == 0
    assert sorted(key.rsplit("/", 1)[-1] for key in queues.bucket.objects) == ["1", "2"]
    capsys.readouterr()
    assert parlour("files", "--team", "site") == 0
    (line,) = [one for one in capsys.readouterr().out.splitlines() if "sop.md" in one]
    assert parlour("files", "--delete", line.split()[-1]) == 0
    assert len(queues.bucket.objects) == 1


def test_a_file_is_saved_where_the_command_was_given_and_nothing_is_overwritten(
    parlour: Parlour, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sop.md").write_text("# Lifting\n\nStop at 38 km/h.")
    assert parlour("upload", str(tmp_path / "sop.md")) == 0
    parlour("files", "--json")
    file_id = json.loads(capsys.readouterr().out.partition("\n")[2])[0]["id"]
    assert parlour("files", "--download", file_id) == 2
    assert "sop.md exists already" in capsys.readouterr().err
    (tmp_path / "sop.md").unlink()
    assert parlour("files", "--download", file_id) == 0
    assert (tmp_path / "sop.md").read_text() == "# Lifting\n\nStop at 38 km/h."


BAD = {
    "broken.pdf": (sample_files.make_contract_pdf()[:200], "the file cannot be read"),
    "encrypted.pdf": (sample_files.make_pdf([[("secret", 11)]], encrypted=True), "protected by a password"),
    "blank.txt": (b" \n ", "the file is empty"),
    "scan.pdf": (sample_files.make_pdf([[]]), "the file has no text"),
    "bomb.docx": (
        sample_files.make_zip({"[Content_Types].xml": b"<x/>", "word/document.xml": bytes(40 << 20)}),
        "expands to an unusual size",
    ),
    "plan.docx": (sample_files.make_contract_pdf(), "does not match the file extension"),
    "sheet.docx": (sample_files.make_workbook(), "does not match the file extension"),
    "notes.txt": (sample_files.make_contract_pdf(), "does not match the file extension"),
    "old.xlsx": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "from before 2007"),
}


def test_what_is_wrong_with_each_file_is_said_to_whoever_uploads_it_and_to_whoever_looks(
    parlour: Parlour, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, (data, _) in BAD.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "good.txt").write_text("The crane comes on Tuesday.")
    assert parlour("upload", *(str(tmp_path / name) for name in (*BAD, "good.txt"))) == 1
    told = capsys.readouterr().out
    assert "good.txt: ready" in told
    assert parlour("files") == 0
    listed = " ".join(capsys.readouterr().out.split())
    for name, (_, says) in BAD.items():
        assert f"{name}: failed: " in told
        (line,) = [line for line in told.splitlines() if line.startswith(name)]
        assert says in line
        assert name in listed
    assert listed.count(" failed: ") == len(BAD)
    assert parlour("files", "--json") == 0
    files = {file["name"]: file for file in json.loads(capsys.readouterr().out)}
    assert all(files[name]["state"] == "failed" and says in files[name]["problem"] for name, (_, says) in BAD.items())


def test_what_cannot_be_taken_is_refused_with_the_reason_before_it_is_sent(
    parlour: Parlour, tmp_path: Path, capsys: pytest.CaptureFixture[str], queues: FakeQueues
) -> None:
    for name, says in (("empty.pdf", "the file is empty"), ("tool.exe", "this file type is not supported")):
        (tmp_path / name).write_bytes(b"" if name == "empty.pdf" else b"MZ")
        assert parlour("upload", str(tmp_path / name)) != 0
        assert says in capsys.readouterr().err
    assert queues.bucket.objects == {}


def test_a_file_that_cannot_be_read_is_told_and_is_a_failure(
    parlour: Parlour, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scan.pdf").write_bytes(sample_files.make_pdf([[]]))
    assert parlour("upload", str(tmp_path / "scan.pdf")) == 1
    assert "scan.pdf: failed: the file has no text" in capsys.readouterr().out


def test_what_is_no_file_or_too_large_is_not_sent(
    parlour: Parlour, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parlour("upload", str(tmp_path / "nothing.pdf")) == 2
    with (tmp_path / "large.pdf").open("wb") as file:
        file.truncate(300 * 1024 * 1024)
    assert parlour("upload", str(tmp_path / "large.pdf")) == 2
    assert "larger than 50 MB" in capsys.readouterr().err
    assert parlour("files") == 0
    assert "No files yet" in capsys.readouterr().out


def test_documents_are_listed_and_one_is_deleted(
    parlour: Parlour, client: TestClient, acme: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = client.post("/v1/documents", json={"title": "Bays"}, headers=operator_headers(acme)).json()
    assert parlour("documents", "list") == 0
    out = capsys.readouterr().out
    assert made["handle"] in out
    assert "document/plan.md" in out
    assert parlour("documents", "list", "bays", "--json") == 0
    assert "document/plan.md" not in capsys.readouterr().out
    assert parlour("documents", "delete", made["handle"]) == 0
    assert capsys.readouterr().out == f"Deleted {made['handle']}\n"
    assert parlour("documents", "delete", "document/plan.md") == 0, "a pack's document, too"
    assert capsys.readouterr().out == "Deleted document/plan.md\n"
    assert parlour("documents", "list", "bays") == 0
    assert capsys.readouterr().out == "No documents found\n"
