"""Virtual environments: nothing is done when nothing changed, and failures are one line."""

import hashlib
import sys
from pathlib import Path

import pytest

from local import venv


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    file = tmp_path / "requirements.txt"
    file.write_text("")
    return file


def test_an_environment_is_made_once(tmp_path: Path, requirements: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "env"
    assert venv.main([str(folder), str(requirements)]) == 0
    assert (folder / "bin" / "python").exists()
    capsys.readouterr()
    assert venv.main([str(folder), str(requirements)]) == 0
    assert capsys.readouterr().out == ""


def test_a_package_that_is_not_the_pinned_one_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "thing-1.0-py3-none-any.whl"
    archive.write_bytes(b"not the wheel that was pinned")
    pinned = tmp_path / "requirements.txt"
    pinned.write_text(f"thing @ {archive.as_uri()} --hash=sha256:{hashlib.sha256(b'another').hexdigest()}\n")
    assert venv.main([str(tmp_path / "env"), str(pinned)]) == 1
    error = capsys.readouterr().err
    assert "a package is not the pinned one" in error
    assert error.count("\n") == 1


def test_the_wrong_python_is_told_in_one_line(
    tmp_path: Path, requirements: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(venv, "_PYTHON", (3, 99))
    assert venv.main([str(tmp_path / "env"), str(requirements)]) == 1
    assert f"this is {sys.version.split()[0]}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("WARNING: Retrying ... Temporary failure in name resolution", "connect to the network"),
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("ERROR: something new", "something new"),
    ],
)
def test_what_pip_says_at_length_is_said_in_short(said: str, told: str) -> None:
    assert told in venv._failure_reason(["Collecting x", said])
