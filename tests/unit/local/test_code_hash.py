"""The hash that publishes a version changes with what is deployed, and with nothing else."""

from pathlib import Path

import pytest

from layers.hash import code_hash


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    for name, text in {
        "functions/inbound/handler.py": "def handler(): ...\n",
        "shared/parlour/ids.py": "x = 1\n",
        "shared/parlour/queries.sql": "SELECT 1;\n",
        "layers/dependencies/requirements.txt": "one==1\n",
        "README.md": "words\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    "name",
    [
        "functions/inbound/handler.py",
        "shared/parlour/ids.py",
        "shared/parlour/queries.sql",
        "layers/dependencies/requirements.txt",
    ],
)
def test_a_changed_file_that_is_deployed_changes_the_hash(clone: Path, name: str) -> None:
    before = code_hash(clone)
    (clone / name).write_text("changed\n")
    assert code_hash(clone) != before


def test_a_new_and_a_renamed_file_change_the_hash(clone: Path) -> None:
    before = code_hash(clone)
    (clone / "shared/parlour/new.py").touch()
    added = code_hash(clone)
    (clone / "shared/parlour/new.py").rename(clone / "shared/parlour/newer.py")
    assert len({before, added, code_hash(clone)}) == 3


def test_what_is_not_deployed_and_the_interpreters_caches_change_nothing(clone: Path) -> None:
    before = code_hash(clone)
    (clone / "README.md").write_text("other words\n")
    (clone / "shared/parlour/__pycache__").mkdir()
    (clone / "shared/parlour/__pycache__/ids.pyc").write_bytes(b"\0")
    assert code_hash(clone) == before
    assert len(before) == 64
