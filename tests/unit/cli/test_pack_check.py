from pathlib import Path

import httpx2
import pytest

from parlour.cli import app
from parlour.cli.api_client import CliDependencies
from parlour.packs import folder
from tests.unit.packs.sample_pack import SMALL_PACK, with_edit


@pytest.fixture
def no_stack(tmp_path: Path) -> CliDependencies:
    def refuse(url: str) -> httpx2.Client:
        raise AssertionError(f"a check needs no deployment, and {url} was asked")

    return CliDependencies(refuse, lambda _arguments: 0, lambda _seconds: None, tmp_path)


def write_pack(path: Path, files: dict[str, str]) -> str:
    folder.write_folder(path, files)
    return str(path)


def test_a_valid_pack_is_checked_without_a_deployment(
    tmp_path: Path, no_stack: CliDependencies, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["check", write_pack(tmp_path / "acme", SMALL_PACK)], no_stack) == 0
    assert capsys.readouterr().out == "acme: the pack is valid; nothing was written\n"


def test_mistakes_are_named_with_file_and_line(
    tmp_path: Path, no_stack: CliDependencies, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = with_edit("bindings/front.yaml", "human: mira", "human: mirra")
    assert app.run(["check", write_pack(tmp_path / "acme", wrong)], no_stack) != 0
    assert "bindings/front.yaml:2: human" in capsys.readouterr().err


def test_what_is_probably_not_meant_is_a_warning(
    tmp_path: Path, no_stack: CliDependencies, capsys: pytest.CaptureFixture[str]
) -> None:
    files = with_edit("agents/helper.yaml", "tools: [look_up]", "tools: [look_up, ask_a_person]")
    assert app.run(["check", write_pack(tmp_path / "acme", files)], no_stack) == 0
    assert "Warning: bindings/front.yaml:4: agent" in capsys.readouterr().out
