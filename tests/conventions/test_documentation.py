"""What the pages for readers say about themselves: their links lead somewhere, their command blocks can be checked."""

import re
from pathlib import Path

import pytest

from local.readme_check import FIRST_PAGE, NOT_RUN, find_blocks, list_pages

PAGES = [FIRST_PAGE, "CONTRIBUTING.md", *map(str, sorted(Path("docs").rglob("*.md")))]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"(?<![\w./-])((?:docs|examples|packs|events|tests|bench|local|console)/[\w./-]*\w)")


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", _CODE.sub("", page.read_text("utf-8")), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def link_problem(page: Path, link: str) -> str:
    """Return why a link of a page leads nowhere, or nothing."""
    if "://" in link:
        return ""
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    if not target.exists():
        return f"{link}: no such file"
    if anchor and anchor not in anchors(target):
        return f"{link}: no such heading"
    return ""


@pytest.mark.parametrize("name", PAGES)
def test_every_link_of_a_page_leads_somewhere(name: str) -> None:
    page = Path(name)
    links = _LINK.findall(_CODE.sub("", page.read_text("utf-8")))
    assert [problem for link in links if (problem := link_problem(page, link))] == []


@pytest.mark.parametrize("name", list_pages(Path()))
def test_every_path_in_a_command_exists(name: str) -> None:
    paths = [path for block in find_blocks(name, Path(name).read_text("utf-8")) for path in _PATH.findall(block.text)]
    assert [path for path in paths if not Path(path).exists()] == []


@pytest.mark.parametrize("name", list_pages(Path()))
def test_every_mark_of_a_command_block_has_a_reason(name: str) -> None:
    marks = {block.mark for block in find_blocks(name, Path(name).read_text("utf-8"))}
    assert marks <= {"", *NOT_RUN}


def test_readme_has_less_than_250_lines() -> None:
    assert len(Path(FIRST_PAGE).read_text("utf-8").splitlines()) < 250


def test_blocks_are_found_also_in_lists_and_starts_of_stacks_are_recognised() -> None:
    text = "```sh\ngit clone x\nmake run\n```\n1. Do:\n\n   ```sh aws\n   make deploy\n   ```\n```yaml\na: 1\n```\n"
    first, second = find_blocks("page", text)
    assert (first.line, first.mark, first.starts_stack) == (2, "", True)
    assert (second.line, second.mark, second.text, second.starts_stack) == (8, "aws", "make deploy\n", False)
