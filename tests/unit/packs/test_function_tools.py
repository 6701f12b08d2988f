"""A pack's code: which tool files come of it, and what is said when it cannot be imported."""

from pathlib import Path

import pytest
import yaml

from parlour.infra.errors import InvalidPack
from parlour.packs import folder

CODE = '''
import os, parlour
print("imported")

@parlour.tool(writes=True)
def ring() -> dict:
    """Ring the bell."""
    return {"rung": list(os.environ)}
'''


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    (tmp_path / "tenant.yaml").write_text("slug: bell")
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions" / "bell.py").write_text(CODE)
    (tmp_path / "functions" / "requirements.txt").write_text("")
    return tmp_path


def test_decorated_functions_become_tool_files_and_the_code_stays(pack: Path) -> None:
    files = folder.read_folder(pack)
    assert set(files) == {"tenant.yaml", "tools/ring.yaml"}
    assert yaml.safe_load(files["tools/ring.yaml"])["endpoint"] == "function:bell.ring"


def test_a_tool_file_of_the_same_name_wins(pack: Path) -> None:
    (pack / "tools").mkdir()
    (pack / "tools" / "ring.yaml").write_text("description: mine")
    assert folder.read_folder(pack)["tools/ring.yaml"] == "description: mine"


def test_code_that_cannot_be_imported_is_a_problem_with_its_cause(pack: Path) -> None:
    (pack / "functions" / "bell.py").write_text("import not_installed_anywhere")
    with pytest.raises(InvalidPack) as caught:
        folder.read_folder(pack)
    assert caught.value.problems[0].file == "functions/bell.py"
    assert "No module named 'not_installed_anywhere'; install its requirements" in caught.value.problems[0].message


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ({"bell.py": "import parlour\n\ndef ring(:\n"}, ("functions/bell.py", 3)),
        ({"bell.py": "import chime\n", "chime.py": "VOLUME = 3\nLOUD = VOLUM + 1\n"}, ("functions/chime.py", 2)),
        ({"bell.py": "import json\njson.loads('{')\n"}, ("functions/bell.py", 2)),
    ],
)
def test_a_mistake_in_the_code_has_its_file_and_line(pack: Path, files: dict[str, str], place: tuple[str, int]) -> None:
    for name, code in files.items():
        (pack / "functions" / name).write_text(code)
    with pytest.raises(InvalidPack) as caught:
        folder.read_folder(pack)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == place


def test_the_code_does_not_see_this_environment(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLOUR_KEY", "canary")
    (pack / "functions" / "bell.py").write_text('import os\nassert "PARLOUR_KEY" not in os.environ\n')
    assert set(folder.read_folder(pack)) == {"tenant.yaml"}
