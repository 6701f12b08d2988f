"""`parlour new` and `parlour schema`: files that are there, and one line for what is in the way."""

import io
import json
from pathlib import Path

import pytest

from parlour.cli.api_client import CliDependencies
from parlour.cli.app import run
from parlour.packs import folder as pack_folder
from parlour.packs.validate import validate


class Terminal(io.StringIO):
    """Standard input of a person at a terminal."""

    def isatty(self) -> bool:
        return True


def parlour(folder: Path, *arguments: str) -> int:
    def no_network(url: str) -> None:
        raise AssertionError(url)

    return run(arguments, CliDependencies(no_network, lambda _: 1, lambda _: None, folder))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())


def test_pack_is_written_with_schemas_and_the_next_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert parlour(tmp_path, "new", "bright-smile") == 0
    pack = validate(pack_folder.read_folder(tmp_path / "bright-smile"))
    assert pack.tenant.display_name == "Bright Smile"
    json.loads((tmp_path / "bright-smile/.schema/binding.json").read_text())
    said = capsys.readouterr().out
    assert f"make run PACK={tmp_path}/bright-smile" in said
    assert "chat front-desk" in said


def test_options_choose_template_names_and_place(tmp_path: Path) -> None:
    options = [
        "--template",
        "shop",
        "--display-name",
        "Kaffee",
        "--host",
        "kaffee.example",
        "--whatsapp",
        "+44 7700 900151",
    ]
    assert parlour(tmp_path, "new", "kaffee", "--folder", "packs/mine", *options) == 0
    pack = validate(pack_folder.read_folder(tmp_path / "packs/mine"))
    whatsapp = pack.bindings["shop-desk"].channels.whatsapp
    assert whatsapp
    assert (pack.tenant.display_name, whatsapp.source, len(pack.records)) == ("Kaffee", "447700900151", 3)


def test_person_at_a_terminal_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("blank\nCorner Shop\n\nnone\n"))
    assert parlour(tmp_path, "new", "corner") == 0
    pack = validate(pack_folder.read_folder(tmp_path / "corner"))
    assert (pack.tenant.display_name, list(pack.bindings)) == ("Corner Shop", ["desk"])
    channels = pack.bindings["desk"].channels
    assert (channels.whatsapp, channels.web and channels.web.host) == (None, "corner.localhost")
    assert "a help desk that answers from a handbook" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["Bad Name"], "the name must be lower-case letters"),
        (["full"], "is not empty; choose a new folder"),
        (["a-file"], "is not empty; choose a new folder"),
        (["x", "--folder", "/proc/x"], "cannot write /proc/x: No such file or directory; choose another folder"),
        (["x", "--template", "bank"], "there is no template 'bank'; choose one of"),
    ],
)
def test_what_is_in_the_way_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("kept")
    (tmp_path / "a-file").write_text("kept")
    assert parlour(tmp_path, "new", *arguments) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a-file", "full", "mine.txt"]


def test_schemas_are_written_into_an_existing_pack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert parlour(tmp_path, "schema") == 0
    assert len(list((tmp_path / ".schema").glob("*.json"))) == 10
    assert "$schema=../.schema/agent.json" in capsys.readouterr().out
    assert parlour(tmp_path, "schema", "nowhere") == 2
    assert "nowhere is not a folder" in capsys.readouterr().err
