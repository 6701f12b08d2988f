from pathlib import Path

import pytest

from parlour.infra.errors import InvalidPack, InvalidRequest
from parlour.packs import folder
from tests.unit.packs.sample_pack import SMALL_PACK, with_edit


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    folder.write_folder(tmp_path, SMALL_PACK)

    assert folder.read_folder(tmp_path) == SMALL_PACK


def test_the_readme_and_what_begins_with_a_dot_are_passed_over(tmp_path: Path) -> None:
    folder.write_folder(
        tmp_path, {"README.md": "x", ".git/config": "x", "humans/.mira.yaml.swp": "x", "tenant.yaml": "x"}
    )

    assert folder.read_folder(tmp_path) == {"tenant.yaml": "x"}


def test_files_that_are_not_text_are_listed_with_the_other_mistakes(tmp_path: Path) -> None:
    folder.write_folder(tmp_path, with_edit("bindings/front.yaml", "human: mira", "human: mia"))
    (tmp_path / "humans" / "mira.yaml").write_bytes(b"display_name: Mira\nidentity: \xff\n")
    (tmp_path / "documents" / "plan.pdf").write_bytes(b"%PDF \xff\n")

    with pytest.raises(InvalidPack) as caught:
        folder.read_folder(tmp_path)

    binding, document, human = caught.value.problems
    assert (binding.file, binding.line) == ("bindings/front.yaml", 2)
    assert "the file name must be" in document.message
    assert (human.file, human.line, human.message) == ("humans/mira.yaml", 2, "is not UTF-8 text")


def test_there_must_be_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest):
        folder.read_folder(tmp_path / "missing")


@pytest.mark.parametrize("path", ["../outside.yaml", "/tmp/outside.yaml", "humans/../../outside.yaml"])
def test_nothing_is_written_when_a_path_leads_out(tmp_path: Path, path: str) -> None:
    with pytest.raises(InvalidRequest):
        folder.write_folder(tmp_path / "pack", {"tenant.yaml": "x", path: "x"})

    assert not (tmp_path / "pack").exists()


def test_a_folder_of_packs_is_refused_with_the_packs_in_it(tmp_path: Path) -> None:
    folder.write_folder(tmp_path / "acme", SMALL_PACK)

    with pytest.raises(InvalidRequest, match=r"contains no tenant.yaml; did you mean .*/acme\?"):
        folder.read_folder(tmp_path)
    with pytest.raises(InvalidRequest, match="give the folder of a pack"):
        folder.read_folder(tmp_path / "acme" / "humans")


def test_a_pack_that_is_too_large_is_one_mistake_and_is_not_read(tmp_path: Path) -> None:
    folder.write_folder(tmp_path, {**SMALL_PACK, **{f"documents/{n}.md": "x" * 1_000_000 for n in range(7)}})

    with pytest.raises(InvalidPack) as caught:
        folder.read_folder(tmp_path)

    (problem,) = caught.value.problems
    assert "a pack has at most 5,242,880 bytes; this one has 7,00" in problem.message


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="cannot write /proc/x: "):
        folder.write_folder(Path("/proc/x"), SMALL_PACK)
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidRequest, match="is not empty"):
        folder.check_target(tmp_path / "file")
