"""The `parlour` command, each against the real API."""

import io
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from parlour.cli.api_client import CliDependencies
from parlour.cli.app import run
from tests.integration.api.conftest import (
    DONE_EVENT,
    OPERATOR,
    EventFeed,
    RecordingQueue,
    create_key_headers,
    operator_headers,
    sample_pack_files,
)

type RunCommand = Callable[..., int]


@pytest.fixture
def programs() -> list[Sequence[str]]:
    """What the command ran."""
    return []


@pytest.fixture
def parlour(client: TestClient, tmp_path: Path, programs: list[Sequence[str]]) -> RunCommand:
    """Runs the command as the operator in acme; `folder` is where, `sleep` what happens while it waits."""

    def command(*arguments: str, folder: Path = tmp_path, sleep: Callable[[float], None] = lambda _: None) -> int:
        def program(line: Sequence[str]) -> int:
            programs.append(line)
            return 3

        return run(arguments, CliDependencies(lambda _url: client, program, sleep, folder))

    return command


@pytest.fixture(autouse=True)
def configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"URL": "http://testserver", "TENANT": "acme", "KEY": OPERATOR}.items():
        monkeypatch.setenv(f"PARLOUR_{name}", value)
    monkeypatch.setenv("COLUMNS", "160")


def written(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder)


def test_a_pack_is_applied_then_again_then_given_back(
    parlour: RunCommand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "pack", sample_pack_files("acme", "acme.example"))
    assert parlour("apply", folder) == 0
    assert "acme: applied" in capsys.readouterr().out
    assert parlour("apply", folder) == 0
    assert "acme: no changes" in capsys.readouterr().out
    assert parlour("export", str(tmp_path / "out")) == 0
    assert parlour("apply", str(tmp_path / "out")) == 0
    assert "acme: no changes" in capsys.readouterr().out
    assert parlour("export", str(tmp_path / "out")) == 2
    assert "is not empty" in capsys.readouterr().err


def test_problems_of_a_pack_are_lines_on_standard_error(
    parlour: RunCommand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(
        tmp_path / "pack", {**sample_pack_files("acme", "acme.example"), "bindings/desk.yaml": "human: nobody\n"}
    )
    assert parlour("apply", folder) == 1
    told = capsys.readouterr()
    lines = [line for line in told.err.splitlines() if line.startswith("bindings/desk.yaml:")]
    assert lines
    assert all(len(line.split(":", 3)) == 4 for line in lines)
    assert "nothing was applied" in told.err
    assert parlour("apply", str(tmp_path / "nowhere")) == 2


RECORDS = {
    "entity_types/site.yaml": "display_name: Site\nproperties:\n  area: {type: number}\n",
    "entities/site.yaml": "- key: S-1\n  name: North yard\n  properties: {area: 1}\n- key: S-2\n  name: South yard\n",
}


def with_area(area: int) -> dict[str, str]:
    records = f"- key: S-1\n  name: North yard\n  properties: {{area: {area}}}\n"
    return {**sample_pack_files("acme", "acme.example"), **RECORDS, "entities/site.yaml": records}


def test_edits_and_conflicts_of_a_pack_are_shown_and_decided(
    parlour: RunCommand,
    tmp_path: Path,
    client: TestClient,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())  # nobody is there to confirm
    first = written(tmp_path / "one", {**sample_pack_files("acme", "acme.example"), **RECORDS})
    assert parlour("apply", first) == 0
    edit = {"properties": {"area": 9}}
    assert client.patch("/v1/entities/site/S-1", json=edit, headers=operator_headers("acme")).status_code == 200
    assert parlour("apply", first) == 0
    assert "site/S-1 properties.area: 9 (pack: 1)" in capsys.readouterr().out

    second = written(tmp_path / "two", with_area(2))
    assert parlour("diff", second, "--prune") == 0
    told = capsys.readouterr().out
    assert "site/S-1 properties.area: 9 (pack: 2): kept" in told
    assert "  - site/S-2" in told
    assert "acme: changes; nothing was written" in told
    assert parlour("apply", second, "--keep", "--take") == 2
    assert "exclude each other" in capsys.readouterr().err
    assert parlour("apply", second, "--take-item", "site/S-11") == 2
    assert "unknown item 'site/S-11'; did you mean 'site/S-1'?" in capsys.readouterr().err
    assert parlour("apply", second, "--take") == 0
    told = capsys.readouterr().out
    assert "site/S-1 properties.area: 9 (pack: 2): taken" in told
    assert "Not in the pack any more (kept; to delete: --prune): site/S-2" in told
    assert parlour("apply", second, "--prune") == 1
    assert "  - site/S-2" in capsys.readouterr().err
    assert parlour("apply", second, "--prune", "--yes") == 0
    assert client.get("/v1/entities/site/S-2", headers=operator_headers("acme")).status_code == 404


def test_watch_keeps_peoples_edits_and_survives_a_broken_file(
    parlour: RunCommand, tmp_path: Path, client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = tmp_path / "pack"
    human = pack / "humans" / "meera.yaml"
    edit = {"properties": {"area": 9}}
    steps: list[Callable[[], object]] = [
        lambda: client.patch("/v1/entities/site/S-1", json=edit, headers=operator_headers("acme")),
        lambda: human.write_text("display_name: [Meera\n"),
        lambda: human.write_text("display_name: Meera Rao\nidentity: A site engineer.\n"),
    ]

    def sleep(_: float) -> None:
        if not steps:
            raise KeyboardInterrupt
        steps.pop(0)()

    assert parlour("apply", "--watch", written(pack, with_area(1)), sleep=sleep) == 130
    told = capsys.readouterr()
    assert "humans/meera.yaml:" in told.err
    assert re.search(r"^human +0 +1 ", told.out, re.MULTILINE)
    assert "site/S-1 properties.area: 9 (pack: 1)" in told.out
    site = client.get("/v1/entities/site/S-1", headers=operator_headers("acme")).json()
    assert site["properties"]["area"] == 9


def test_an_apply_is_undone_by_the_command(
    parlour: RunCommand, tmp_path: Path, client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parlour("apply", written(tmp_path / "one", with_area(1))) == 0
    assert parlour("apply", written(tmp_path / "two", with_area(2))) == 0
    capsys.readouterr()
    assert parlour("apply", "--undo", "--dry-run") == 0
    told = capsys.readouterr().out
    assert "by operator: would be undone" in told
    assert "  ~ site/S-1: properties.area" in told
    assert parlour("apply", "--undo", "--yes") == 0
    site = client.get("/v1/entities/site/S-1", headers=operator_headers("acme")).json()
    assert site["properties"]["area"] == 1
    assert parlour("apply", "--undo", str(tmp_path / "two")) == 2
    assert "takes no folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("apply",), "give the folder that contains tenant.yaml"),
        (("apply", "{packs}"), "did you mean"),
        (("export", "/proc/x"), "cannot write"),
        (("diff", "/proc/x"), "is not a folder"),
    ],
)
def test_a_wrong_folder_is_one_error_without_a_traceback(
    arguments: tuple[str, ...],
    message: str,
    parlour: RunCommand,
    acme: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written(tmp_path / "packs" / acme, sample_pack_files("acme", "acme.example"))
    assert parlour(*(one.format(packs=tmp_path / "packs") for one in arguments)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_chat_shows_the_reply_as_it_comes(
    parlour: RunCommand, acme: str, feed: EventFeed, queue: RecordingQueue, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(_seconds: float) -> None:
        feed.session_id = UUID(str(queue.messages[-1].body["session_id"]))
        feed.add_turn(
            ("session", {"turn_id": str(UUID(int=1)), "number": 1}),
            ("tool_call", {"name": "search_knowledge"}),
            ("text_delta", {"text": "On 14 "}),
            ("text_delta", {"text": "March."}),
            DONE_EVENT,
        )

    assert parlour("chat", "desk", "-m", "When?", sleep=answer) == 0
    assert "On 14 March." in capsys.readouterr().out
    feed.number = feed.turns = 0
    assert parlour("chat", "acme.example", "-m", "When?", sleep=answer) == 0
    assert parlour("chat", "nobody", "-m", "When?") == 1
    assert "unknown agent nobody; available: desk" in capsys.readouterr().err


def test_a_chat_whose_answer_does_not_come_ends(
    parlour: RunCommand, acme: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parlour.cli.chat_session._TIMEOUT_SECONDS", 1.0)
    assert parlour("chat", "desk", "-m", "When?") == 1
    assert "no answer yet" in capsys.readouterr().err


def test_turns_are_listed_and_one_is_shown(
    parlour: RunCommand, feed: EventFeed, capsys: pytest.CaptureFixture[str]
) -> None:
    turn_id = feed.add_turn(DONE_EVENT)
    assert parlour("turns") == 0
    assert str(turn_id) in capsys.readouterr().out
    assert parlour("turn", str(turn_id)) == 0
    assert "time by stage" in capsys.readouterr().out
    assert parlour("turns", "--json", "--session", str(feed.session_id)) == 0
    assert [one["id"] for one in json.loads(capsys.readouterr().out)] == [str(turn_id)]
    assert parlour("turn", str(feed.session_id)) == 1
    assert capsys.readouterr().err == "parlour: turn not found\n"


def test_a_key_is_made_used_listed_and_revoked(
    parlour: RunCommand, acme: str, client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parlour("keys", "create", "ci", "--role", "viewer") == 0
    text = capsys.readouterr().out.strip()
    headers = {"Authorization": f"Bearer {text}"}
    assert client.get("/v1/turns", headers=headers).status_code == 200
    assert parlour("keys", "list") == 0
    listed = capsys.readouterr().out
    assert "ci" in listed
    assert text not in listed
    key_id = listed.split()[-1]
    assert parlour("keys", "revoke", key_id) == 0
    assert client.get("/v1/turns", headers=headers).status_code == 401
    assert parlour("keys", "revoke", "not-an-id") == 2


def test_a_tenant_is_paused_and_resumed_and_it_is_known_who_did(
    parlour: RunCommand, acme: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("pause", "show", "resume"):
        assert parlour("tenant", command) == 0
    assert capsys.readouterr().out.splitlines() == ["acme (Acme): paused"] * 2 + ["acme (Acme): active"]
    assert parlour("audit") == 0
    told = capsys.readouterr().out
    assert "tenant.paused" in told
    assert "operator" in told


def test_a_refusal_is_one_line_and_status_1(
    parlour: RunCommand, acme: str, client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    viewer = create_key_headers(client, acme, "viewer")["Authorization"].removeprefix("Bearer ")
    assert parlour("--key", viewer, "keys", "list") == 1
    assert parlour("--key", "wrong", "turns") == 1
    assert parlour("--tenant", "nobody", "turns") == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("parlour: ") for line in lines)


def test_invoke_runs_our_own_launcher_in_a_checkout(
    parlour: RunCommand, programs: list[Sequence[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parlour("invoke", "receiver", "receiver_text.json") == 2
    assert "checkout" in capsys.readouterr().err
    checkout = Path(__file__).parents[3]
    assert parlour("invoke", "receiver", "receiver_text.json", folder=checkout) == 3
    assert programs == [[sys.executable, "-m", "local.invoke", "receiver", "receiver_text.json"]]


def test_what_is_not_a_command_is_status_2(parlour: RunCommand, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["dance"], ["keys"], ["turns", "--limit", "500"], ["turn", "\x1b[2J\n"], ["apply"]):
        assert parlour(*wrong) == 2
        told = capsys.readouterr().err
        assert told.startswith("parlour: ")
        assert told.count("\n") == 1
        assert "\x1b" not in told
    assert parlour("--version") == 0
    assert capsys.readouterr().out.startswith("parlour ")
    assert parlour("--help") == 0
    assert "turns" in capsys.readouterr().out
