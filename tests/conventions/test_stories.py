"""The stories know the product from outside only, so that they say what stayed while everything inside is moved."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

STORIES = sorted(Path("tests/stories").glob("*.py"))

#: What a story may not import, be it through a module that it imports.
INSIDE = {"parlour", "functions", "shared", "local", "bench", "layers"}


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted names that a file imports, anywhere in it; those of `from x import y` as x and as x.y."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{path}: a relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def reached(path: Path, seen: set[Path]) -> set[str]:
    """Return the first names of all that a file imports, by way of our own test modules as well."""
    names = set(imported(path))
    modules = {Path(*name.split(".")).with_suffix(".py") for name in names if name.startswith("tests.")}
    new = {module for module in modules if module.is_file()} - seen
    seen |= new
    return {name.split(".")[0] for name in names}.union(*(reached(module, seen) for module in new))


@pytest.mark.parametrize("path", STORIES, ids=str)
def test_story_imports_nothing_of_the_product(path: Path) -> None:
    assert reached(path, {path}) & INSIDE == set()


def test_stories_are_told_from_outside() -> None:
    assert sum(path.read_text("utf-8").count("\ndef test_") for path in STORIES) >= 40
